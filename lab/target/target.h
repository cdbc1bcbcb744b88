/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An emulated QCA9984 with 10.4 firmware, as the ath10k core sees it.
 *
 *	target.c	bus, power, HTC, interrupts, knobs
 *	wmi.c		commands and events: interfaces, peers, scans, statistics
 *	htt.c		frames, their completions, rate reports
 *	air.c		what happens to the frames
 *
 * "Host" is the ath10k core, "target" what is emulated. One lock, air_lock,
 * guards all targets and the air.
 */
#ifndef ATH10K_EMU_TARGET_H
#define ATH10K_EMU_TARGET_H

#include <linux/hrtimer.h>
#include <linux/pci.h>

#include "core.h"
#include "htc.h"
#include "htt.h"
#include "wmi.h"
#include "hif.h"
#include "debug.h"

#include "air.h"

#define EMU_MAX_RADIOS	32 /* devices on a PCI bus */
#define EMU_VDEVS	TARGET_10_4_NUM_VDEVS
#define EMU_PEERS	128 /* peer ids */
#define EMU_BEACON_US	102400

struct emu_vdev {
	bool exists, started, up;
	u32 type; /* enum wmi_vdev_type */
	u8 addr[ETH_ALEN];
	u8 bssid[ETH_ALEN];
	u32 freq; /* MHz */
	u8 group_key; /* index */
};

struct emu_peer {
	struct list_head list;
	struct air_link link; /* data to it */
	u8 addr[ETH_ALEN];
	u16 id;
	u8 vdev_id;
	bool assoc, qos;
	u16 seq;
	u32 rx_duration_us;
};

/* A frame that is through, whose host does not know yet. */
struct emu_done {
	u16 msdu_id;
	u8 status; /* enum htt_data_tx_status */
};

struct emu_scan {
	bool running, on_channel;
	struct hrtimer timer;
	u32 id, req_id, vdev_id, flags;
	u32 dwell_active_ms, dwell_passive_ms;
	u16 freqs[64];
	unsigned int n, i;
	struct wmi_ssid ssid;
	unsigned int n_ssids;
	u8 ie[512];
	unsigned int ie_len;
};

struct emu_target {
	unsigned int index;
	u8 addr[ETH_ALEN];
	struct air_node node;
	struct air_link basic; /* management, group and unknown receivers */
	struct dentry *dir;

	/* The host's driver, while there is one. */
	struct ath10k *ar;

	/* From here on: lost when the firmware stops. */
	bool running; /* between start and stop of the HIF */
	bool crashed, crash_seen; /* crash_seen: by the host */
	struct sk_buff_head to_host; /* HTC frames */
	struct sk_buff_head taken; /* from the host, transfer completed */
	u8 next_eid, wmi_eid, htt_eid;

	struct emu_vdev vdev[EMU_VDEVS];
	struct list_head peers;
	DECLARE_BITMAP(peer_ids, EMU_PEERS);
	u32 freq; /* of the interfaces; node.freq differs in a scan, MHz */
	struct hrtimer beacon;
	struct emu_scan scan;
	u64 pn; /* of the last frame that was "encrypted" */
	unsigned int stats_sent; /* peers in the parts so far */

	/* HTT. */
	struct htt_msdu_ext_desc *descs;
	__le32 *rx_ring;
	__le32 *rx_filled; /* index the host has filled up to */
	u16 rx_size, rx_index;
	unsigned int rx_mpdus; /* of the PPDU being received */
	struct emu_done done[4096]; /* a ring */
	unsigned int done_head, done_tail;
	struct sk_buff_head reports; /* leave with the completions */
	struct hrtimer service;
	struct htt_q_state *queues; /* of the host, which the target may look at */
	struct hrtimer pull_timer;
	bool pulling; /* the host has been told */
	bool fetching; /* and asked for frames */
	u16 fetch_seq;

	/* Knobs and counters: they stay. */
	u32 svc_us; /* the host serves completions this often, 0: at once */
	u32 leak; /* completions to be forgotten */
	bool blind; /* no rate reports */
	bool pull; /* fetch frames, if the host's firmware file allows it */
	u64 rx_dropped, tx_frames, tx_done;
};

/* target.c */
struct sk_buff *emu_alloc(unsigned int len);
void emu_to_host(struct emu_target *t, u8 eid, struct sk_buff *skb);
void emu_queue(struct sk_buff_head *list, u8 eid, struct sk_buff *skb);
void emu_interrupt(struct emu_target *t);
void emu_crash(struct emu_target *t);
struct emu_peer *emu_peer_find(struct emu_target *t, const u8 *addr, int vdev_id);
void emu_set_freq(struct emu_target *t, u32 freq);

/* wmi.c */
void emu_wmi_service_ready(struct emu_target *t);
void emu_wmi_command(struct emu_target *t, void *data, unsigned int len);
void emu_wmi_mgmt_rx(struct emu_target *t, struct sk_buff *skb);
void emu_wmi_init(struct emu_target *t);
void emu_wmi_stop(struct emu_target *t);

/* htt.c */
extern const struct air_node_ops emu_node_ops;
void emu_htt_message(struct emu_target *t, void *data, unsigned int len);
void emu_htt_peer_map(struct emu_target *t, struct emu_peer *p, bool map);
void emu_htt_sec_ind(struct emu_target *t, struct emu_peer *p, u32 cipher, bool pairwise);
void emu_htt_set_pull(struct emu_target *t);
void emu_htt_init(struct emu_target *t);
void emu_htt_stop(struct emu_target *t);
bool emu_send_mgmt(struct emu_target *t, const void *frame, unsigned int len, u32 cookie);

/* No one waits for this frame's fate. */
#define EMU_NO_COOKIE	0xffff

#endif

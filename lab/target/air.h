/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The air: one medium that radios take turns on.
 *
 * Stations contend with EDCA's back-off; who wins sends one PPDU to one
 * receiver, which it acknowledges. Nothing here knows of ath10k: a node queues
 * 802.11 frames and hears of their fate, and of the frames sent to it.
 *
 * All functions are called with air_lock held, and so are the operations of a
 * node. Those may run in hard interrupt context.
 */
#ifndef ATH10K_EMU_AIR_H
#define ATH10K_EMU_AIR_H

#include <linux/skbuff.h>
#include <linux/if_ether.h>
#include <linux/ieee80211.h>

struct air_node;

extern spinlock_t air_lock;

/* As mac80211 numbers them: the highest priority first. */
enum air_ac { AIR_VO, AIR_VI, AIR_BE, AIR_BK, AIR_ACS };

/* A rate of VHT, or of OFDM ("legacy") if nss is 0. */
struct air_rate {
	u32 kbps;
	u8 nss, mcs;
	u8 bw; /* 0, 1, 2: 20, 40, 80 MHz */
	bool sgi;
};

/* What a node keeps in the control block of a frame that it queues. */
struct air_cb {
	u32 cookie; /* comes back with the frame's fate */
	u16 len; /* on the air, with FCS */
	u8 tid;
	u8 tries;
	bool qos; /* may be part of an aggregate */
	bool done; /* acknowledged or given up, but others before it are not */
	bool acked;
};

static inline struct air_cb *air_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct air_cb) > sizeof(skb->cb));
	return (struct air_cb *)skb->cb;
}

/* The frames of one access category for one receiver. */
struct air_queue {
	struct sk_buff_head fifo;
	/*
	 * Sent at least once and not yet handed over in order: what a block
	 * ack window holds. Its first frame is never done.
	 */
	struct sk_buff_head window;
	struct list_head ready; /* in air_node.ready while there are frames */
};

struct air_counters {
	u64 ppdus, mpdus, retries, failed, bytes, airtime_ns;
};

/* From a node to one receiver. */
struct air_link {
	struct list_head list;
	struct air_node *node;
	u8 addr[ETH_ALEN];
	/*
	 * For frames that are not data to a known peer: any receiver, at the
	 * lowest rate, one at a time, group frames unacknowledged.
	 */
	bool basic;
	struct air_queue queue[AIR_ACS];
	struct air_counters tx;
	u64 rx_airtime_ns; /* the owner's to count */
};

/* What became of a PPDU. */
struct air_report {
	struct air_link *link;
	struct air_rate rate;
	u8 tid;
	u16 acked, retried, failed; /* MPDUs */
	u32 acked_bytes, retried_bytes, failed_bytes;
	u32 duration_us; /* without acknowledgment and contention */
};

struct air_node_ops {
	/* Is this one of your addresses? */
	bool (*is_mine)(struct air_node *node, const u8 *addr);
	/*
	 * A frame came in, the first or last of its PPDU perhaps. The frame
	 * stays the caller's.
	 */
	void (*receive)(struct air_node *node, struct sk_buff *skb,
			const struct air_rate *rate, u32 duration_us,
			bool first, bool last);
	/* A frame of yours is through. */
	void (*sent)(struct air_node *node, u32 cookie, bool acked);
	/* A PPDU of data of yours is through, after sent() for its frames. */
	void (*report)(struct air_node *node, const struct air_report *report);
	/* That was all for now. */
	void (*settled)(struct air_node *node);
};

struct air_edca {
	bool active;
	u16 slots, cw;
	ktime_t since; /* has wanted the medium */
};

struct air_node {
	const struct air_node_ops *ops;
	struct list_head list;
	struct list_head links;
	struct list_head ready[AIR_ACS];
	struct air_edca edca[AIR_ACS];
	struct air_counters tx;
	u64 rx_airtime_ns;

	u32 freq; /* MHz, 0: deaf */
	u8 max_mpdus; /* in an aggregate */
	/* Those of a link are the worse of its two ends. */
	u32 kbps;
	u32 loss; /* MPDUs in a million */
	bool stalled; /* sleeps: frames to it wait where they are */
};

/* Aggregates last no longer than this. */
extern unsigned int air_max_ppdu_us;

void air_node_add(struct air_node *node, const struct air_node_ops *ops);
void air_node_remove(struct air_node *node);
void air_link_add(struct air_link *link, struct air_node *node, const u8 *addr);
/* Frames that are queued are reported as not acknowledged. */
void air_link_flush(struct air_link *link, u32 tids);
void air_link_remove(struct air_link *link);
/* Takes the frame. */
void air_send(struct air_link *link, enum air_ac ac, struct sk_buff *skb);
/* Something changed that may let a frame go. */
void air_kick(void);
/* Time that the medium has been busy since boot. */
u64 air_busy_ns(void);
/* The rate of VHT that is closest. */
struct air_rate air_rate_vht(u32 kbps);
struct air_rate air_link_rate(struct air_link *link);
unsigned int air_link_frames(struct air_link *link, enum air_ac ac);

#endif

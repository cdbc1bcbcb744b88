// SPDX-License-Identifier: GPL-2.0-only
/*
 * WMI of 10.4 firmware: commands from the host and events to it.
 *
 * Commands that change nothing here are taken and forgotten.
 */
#include "target.h"

#define NOISE_FLOOR	-95
#define RSSI		45 /* dB above it: everyone is near */
#define CLOCK_MHZ	150 /* of cycle counters; struct ath10k_hw_params.channel_counters_freq_hz */

static void *event(u32 id, unsigned int len, struct sk_buff **skb)
{
	struct wmi_cmd_hdr *hdr;

	*skb = emu_alloc(sizeof(*hdr) + len);
	if (!*skb)
		return NULL;
	hdr = (void *)(*skb)->data;
	hdr->cmd_id = cpu_to_le32(id);
	return hdr + 1;
}

static void send_event(struct emu_target *t, struct sk_buff *skb)
{
	emu_to_host(t, t->wmi_eid, skb);
	emu_interrupt(t);
}

static void set_service(struct wmi_service_ready_event *ev, enum wmi_10_4_service id)
{
	ev->wmi_service_bitmap[id / 4] |= cpu_to_le32(BIT(id % 4));
}

void emu_wmi_service_ready(struct emu_target *t)
{
	/* No adaptive CCA: 11. */
	static const enum wmi_10_4_service services[] = {
		WMI_10_4_SERVICE_SCAN_OFFLOAD,
		WMI_10_4_SERVICE_STA_PWRSAVE,
		WMI_10_4_SERVICE_AP_UAPSD,
		WMI_10_4_SERVICE_11AC,
		WMI_10_4_SERVICE_BLOCKACK,
		WMI_10_4_SERVICE_PHYERR,
		WMI_10_4_SERVICE_RATECTRL,
		WMI_10_4_SERVICE_FORCE_FW_HANG,
		WMI_10_4_SERVICE_TX_ENCAP,
		WMI_10_4_SERVICE_BSS_CHANNEL_INFO_64,
		WMI_10_4_SERVICE_EXT_RES_CFG_SUPPORT,
		WMI_10_4_SERVICE_MESH_11S,
		WMI_10_4_SERVICE_RESTRT_CHNL_SUPPORT,
		WMI_10_4_SERVICE_PEER_STATS,
		WMI_10_4_SERVICE_TX_MODE_PUSH_ONLY,
	};
	struct wmi_service_ready_event *ev;
	struct sk_buff *skb;
	int i;

	ev = event(WMI_10_4_SERVICE_READY_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	for (i = 0; i < ARRAY_SIZE(services); i++)
		set_service(ev, services[i]);
	ev->sw_version = cpu_to_le32(0x0a040000);
	ev->phy_capability = cpu_to_le32(WHAL_WLAN_11AG_CAPABILITY);
	ev->max_frag_entry = cpu_to_le32(2);
	ev->num_rf_chains = cpu_to_le32(4);
	ev->ht_cap_info = cpu_to_le32(WMI_HT_CAP_ENABLED | WMI_HT_CAP_HT20_SGI |
				      WMI_HT_CAP_HT40_SGI | WMI_HT_CAP_LDPC);
	ev->vht_cap_info = cpu_to_le32(WMI_VHT_CAP_MAX_MPDU_LEN_11454 |
				       WMI_VHT_CAP_RX_LDPC | WMI_VHT_CAP_SGI_80MHZ |
				       WMI_VHT_CAP_MAX_AMPDU_LEN_EXP);
	ev->hw_min_tx_power = cpu_to_le32(0);
	ev->hw_max_tx_power = cpu_to_le32(63);
	/* The world's; see set_regdomain(). */
	ev->hal_reg_capabilities.eeprom_rd = cpu_to_le32(0x6a);
	ev->hal_reg_capabilities.low_2ghz_chan = cpu_to_le32(2312);
	ev->hal_reg_capabilities.high_2ghz_chan = cpu_to_le32(2732);
	ev->hal_reg_capabilities.low_5ghz_chan = cpu_to_le32(4920);
	ev->hal_reg_capabilities.high_5ghz_chan = cpu_to_le32(6100);
	send_event(t, skb);
}

static void ready(struct emu_target *t)
{
	struct wmi_ready_event *ev;
	struct sk_buff *skb;

	ev = event(WMI_10_4_READY_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ether_addr_copy(ev->mac_addr.addr, t->addr);
	send_event(t, skb);
}

static void echo(struct emu_target *t, const struct wmi_echo_cmd *cmd)
{
	struct wmi_echo_event *ev;
	struct sk_buff *skb;

	ev = event(WMI_10_4_ECHO_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->value = cmd->value;
	send_event(t, skb);
}

/* The message comes over HTC's control endpoint, not as an event. */
static void suspended(struct emu_target *t)
{
	struct sk_buff *skb = emu_alloc(sizeof(struct ath10k_htc_msg));

	if (!skb)
		return;
	((struct ath10k_htc_msg *)skb->data)->hdr.message_id =
		cpu_to_le16(ATH10K_HTC_MSG_SEND_SUSPEND_COMPLETE);
	emu_to_host(t, ATH10K_HTC_EP_0, skb);
	emu_interrupt(t);
}

/* Interfaces. */

static struct emu_vdev *vdev_of(struct emu_target *t, __le32 id)
{
	u32 i = le32_to_cpu(id);

	return i < EMU_VDEVS ? &t->vdev[i] : NULL;
}

/* Where the interfaces are; a radio is on one channel. */
static void tune(struct emu_target *t)
{
	int i;

	t->freq = 0;
	for (i = 0; i < EMU_VDEVS; i++)
		if (t->vdev[i].started)
			t->freq = t->vdev[i].freq;
	/* What has no channel to go out on never will. */
	if (!t->freq)
		air_link_flush(&t->basic, ~0);
	if (!t->scan.on_channel)
		emu_set_freq(t, t->freq);
}

static void vdev_start(struct emu_target *t, const struct wmi_vdev_start_request_cmd *cmd,
		       bool restart)
{
	struct emu_vdev *v = vdev_of(t, cmd->vdev_id);
	struct wmi_vdev_start_response_event *ev;
	struct sk_buff *skb;

	if (!v)
		return;
	v->started = true;
	v->freq = le32_to_cpu(cmd->chan.mhz);
	tune(t);
	ev = event(WMI_10_4_VDEV_START_RESP_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->vdev_id = cmd->vdev_id;
	ev->req_id = cmd->requestor_id;
	ev->resp_type = cpu_to_le32(restart);
	send_event(t, skb);
}

static void vdev_stop(struct emu_target *t, __le32 id)
{
	struct wmi_vdev_stopped_event *ev;
	struct emu_vdev *v = vdev_of(t, id);
	struct sk_buff *skb;

	if (!v)
		return;
	v->started = v->up = false;
	tune(t);
	ev = event(WMI_10_4_VDEV_STOPPED_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->vdev_id = id;
	send_event(t, skb);
}

static void vdev_up(struct emu_target *t, const struct wmi_vdev_up_cmd *cmd)
{
	struct emu_vdev *v = vdev_of(t, cmd->vdev_id);

	if (!v)
		return;
	v->up = true;
	ether_addr_copy(v->bssid, cmd->vdev_bssid.addr);
	if (v->type == WMI_VDEV_TYPE_AP && !hrtimer_active(&t->beacon))
		hrtimer_start(&t->beacon, ns_to_ktime(EMU_BEACON_US * NSEC_PER_USEC), HRTIMER_MODE_REL);
}

/* Time for beacons: the host makes and sends them. */
static enum hrtimer_restart beacon_timer(struct hrtimer *timer)
{
	struct emu_target *t = container_of(timer, struct emu_target, beacon);
	struct wmi_10_4_host_swba_event *ev;
	struct sk_buff *skb;
	unsigned long flags;
	u32 map = 0;
	int i;

	spin_lock_irqsave(&air_lock, flags);
	for (i = 0; i < EMU_VDEVS; i++)
		if (t->vdev[i].up && t->vdev[i].type == WMI_VDEV_TYPE_AP)
			map |= BIT(i);
	if (map && t->running && !t->scan.on_channel) {
		ev = event(WMI_10_4_HOST_SWBA_EVENTID,
			   sizeof(*ev) + hweight32(map) * sizeof(ev->bcn_info[0]), &skb);
		if (ev) {
			ev->vdev_map = cpu_to_le32(map);
			send_event(t, skb);
		}
	}
	spin_unlock_irqrestore(&air_lock, flags);
	if (!map)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(EMU_BEACON_US * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void send_beacon(struct emu_target *t, const struct wmi_bcn_tx_ref_cmd *cmd)
{
	emu_send_mgmt(t, phys_to_virt(le32_to_cpu(cmd->data_ptr)),
		      le32_to_cpu(cmd->data_len), EMU_NO_COOKIE);
}

/* Peers. */

static void peer_free(struct emu_target *t, struct emu_peer *p)
{
	air_link_remove(&p->link);
	clear_bit(p->id, t->peer_ids);
	list_del(&p->list);
	kfree(p);
}

static void peer_create(struct emu_target *t, const struct wmi_peer_create_cmd *cmd)
{
	struct emu_peer *p;
	unsigned long id = find_next_zero_bit(t->peer_ids, EMU_PEERS, 1);

	if (id >= EMU_PEERS ||
	    emu_peer_find(t, cmd->peer_macaddr.addr, le32_to_cpu(cmd->vdev_id)))
		return;
	p = kzalloc(sizeof(*p), GFP_ATOMIC);
	if (!p)
		return;
	set_bit(id, t->peer_ids);
	p->id = id;
	p->vdev_id = le32_to_cpu(cmd->vdev_id);
	ether_addr_copy(p->addr, cmd->peer_macaddr.addr);
	air_link_add(&p->link, &t->node, p->addr);
	list_add_tail(&p->list, &t->peers);
	emu_htt_peer_map(t, p, true);
}

static void peer_delete(struct emu_target *t, const struct wmi_peer_delete_cmd *cmd)
{
	struct emu_peer *p = emu_peer_find(t, cmd->peer_macaddr.addr,
					   le32_to_cpu(cmd->vdev_id));

	if (!p)
		return;
	emu_htt_peer_map(t, p, false);
	peer_free(t, p);
}

static void peer_assoc(struct emu_target *t,
		       const struct wmi_common_peer_assoc_complete_cmd *cmd)
{
	struct emu_peer *p = emu_peer_find(t, cmd->peer_macaddr.addr,
					   le32_to_cpu(cmd->vdev_id));

	if (!p)
		return;
	p->assoc = true;
	p->qos = le32_to_cpu(cmd->peer_flags) & WMI_10_2_PEER_QOS;
}

static void install_key(struct emu_target *t, const struct wmi_vdev_install_key_cmd *cmd)
{
	struct emu_vdev *v = vdev_of(t, cmd->vdev_id);
	bool pairwise = !(le32_to_cpu(cmd->key_flags) & WMI_KEY_GROUP);
	u32 cipher = le32_to_cpu(cmd->key_cipher);
	struct emu_peer *p = emu_peer_find(t, cmd->peer_macaddr.addr,
					   le32_to_cpu(cmd->vdev_id));

	if (!v) {
		emu_crash(t);
		return;
	}
	if (!pairwise)
		v->group_key = le32_to_cpu(cmd->key_idx);
	emu_htt_sec_ind(t, p, cipher, pairwise);
}

/* Scans. */

static void scan_event(struct emu_target *t, u32 type, u32 reason, u32 freq)
{
	struct wmi_scan_event *ev;
	struct sk_buff *skb;

	ev = event(WMI_10_4_SCAN_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->event_type = cpu_to_le32(type);
	ev->reason = cpu_to_le32(reason);
	ev->channel_freq = cpu_to_le32(freq);
	ev->scan_req_id = cpu_to_le32(t->scan.req_id);
	ev->scan_id = cpu_to_le32(t->scan.id);
	ev->vdev_id = cpu_to_le32(t->scan.vdev_id);
	send_event(t, skb);
}

static void probe_request(struct emu_target *t)
{
	struct emu_scan *s = &t->scan;
	struct ieee80211_mgmt *mgmt;
	u8 frame[sizeof(*mgmt) + 2 + 32 + sizeof(s->ie)] = {};
	u8 *end;

	mgmt = (void *)frame;
	mgmt->frame_control = cpu_to_le16(IEEE80211_FTYPE_MGMT | IEEE80211_STYPE_PROBE_REQ);
	eth_broadcast_addr(mgmt->da);
	eth_broadcast_addr(mgmt->bssid);
	ether_addr_copy(mgmt->sa, t->vdev[s->vdev_id].addr);
	end = mgmt->u.probe_req.variable;
	*end++ = WLAN_EID_SSID;
	*end++ = min(le32_to_cpu(s->ssid.ssid_len), 32u);
	memcpy(end, s->ssid.ssid, end[-1]);
	end += end[-1];
	memcpy(end, s->ie, s->ie_len);
	end += s->ie_len;
	emu_send_mgmt(t, frame, end - frame, EMU_NO_COOKIE);
}

static void scan_end(struct emu_target *t, u32 reason)
{
	struct emu_scan *s = &t->scan;

	s->running = s->on_channel = false;
	hrtimer_try_to_cancel(&s->timer);
	emu_set_freq(t, t->freq);
	scan_event(t, WMI_SCAN_EVENT_BSS_CHANNEL, 0, 0);
	scan_event(t, WMI_SCAN_EVENT_COMPLETED, reason, 0);
}

/* The next channel, or the end. */
static void scan_next(struct emu_target *t)
{
	struct emu_scan *s = &t->scan;
	bool passive = s->flags & WMI_SCAN_FLAG_PASSIVE;

	if (s->i >= s->n) {
		scan_end(t, WMI_SCAN_REASON_COMPLETED);
		return;
	}
	s->on_channel = true;
	emu_set_freq(t, s->freqs[s->i]);
	scan_event(t, WMI_SCAN_EVENT_FOREIGN_CHANNEL, 0, s->freqs[s->i]);
	s->i++;
	if (!passive && s->n_ssids)
		probe_request(t);
	hrtimer_start(&s->timer,
		      ms_to_ktime(passive ? s->dwell_passive_ms : s->dwell_active_ms),
		      HRTIMER_MODE_REL);
}

static enum hrtimer_restart scan_timer(struct hrtimer *timer)
{
	struct emu_target *t = container_of(timer, struct emu_target, scan.timer);
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	if (t->scan.running)
		scan_next(t);
	spin_unlock_irqrestore(&air_lock, flags);
	return HRTIMER_NORESTART;
}

static void scan_start(struct emu_target *t, const struct wmi_start_scan_cmd *cmd,
		       unsigned int len)
{
	struct emu_scan *s = &t->scan;
	const void *tlv = (void *)cmd + offsetof(struct wmi_start_scan_cmd, tlvs);
	const void *end = (void *)cmd + len;
	unsigned int n, i;

	s->running = true;
	s->on_channel = false;
	s->id = le32_to_cpu(cmd->common.scan_id);
	s->req_id = le32_to_cpu(cmd->common.scan_req_id);
	s->vdev_id = le32_to_cpu(cmd->common.vdev_id) % EMU_VDEVS;
	s->flags = le32_to_cpu(cmd->common.scan_ctrl_flags);
	s->dwell_active_ms = le32_to_cpu(cmd->common.dwell_time_active);
	s->dwell_passive_ms = le32_to_cpu(cmd->common.dwell_time_passive);
	s->n = s->i = s->n_ssids = s->ie_len = 0;
	while (tlv + 8 <= end) {
		n = le32_to_cpup(tlv + 4);
		switch (le32_to_cpup(tlv)) {
		case WMI_CHAN_LIST_TAG:
			for (i = 0; i < n && s->n < ARRAY_SIZE(s->freqs); i++)
				s->freqs[s->n++] = le16_to_cpu(
					((struct wmi_chan_list *)tlv)->channel_list[i].freq);
			tlv += 8 + 4 * n;
			break;
		case WMI_SSID_LIST_TAG:
			if (n)
				s->ssid = ((struct wmi_ssid_list *)tlv)->ssids[0];
			s->n_ssids = n;
			tlv += 8 + n * sizeof(struct wmi_ssid);
			break;
		case WMI_BSSID_LIST_TAG:
			tlv += 8 + n * sizeof(struct wmi_mac_addr);
			break;
		case WMI_IE_TAG:
			s->ie_len = min_t(u32, n, sizeof(s->ie));
			memcpy(s->ie, ((struct wmi_ie_data *)tlv)->ie_data, s->ie_len);
			tlv += 8 + roundup(n, 4);
			break;
		default:
			tlv = end;
		}
	}
	scan_event(t, WMI_SCAN_EVENT_STARTED, 0, 0);
	scan_next(t);
}

/* Frames. */

void emu_wmi_mgmt_rx(struct emu_target *t, struct sk_buff *frame)
{
	struct wmi_10_4_mgmt_rx_event *ev;
	struct sk_buff *skb;
	u32 freq = t->node.freq;
	int channel = ieee80211_frequency_to_channel(freq);

	ev = event(WMI_10_4_MGMT_RX_EVENTID, sizeof(*ev) + roundup(frame->len, 4), &skb);
	if (!ev)
		return;
	ev->hdr.channel = cpu_to_le32(channel);
	ev->hdr.snr = cpu_to_le32(RSSI);
	ev->hdr.rate = cpu_to_le32(6000);
	ev->hdr.phy_mode = cpu_to_le32(freq > 5000 ? MODE_11A : MODE_11G);
	ev->hdr.buf_len = cpu_to_le32(frame->len);
	skb_copy_bits(frame, 0, ev->buf, frame->len);
	send_event(t, skb);
}

/* Statistics. */

static u32 cycles(u64 ns)
{
	return div_u64(ns * CLOCK_MHZ, 1000);
}

static void put_pdev_stats(struct emu_target *t, struct wmi_10_4_pdev_stats *s)
{
	s->base.chan_nf = cpu_to_le32(NOISE_FLOOR);
	s->base.tx_frame_count = cpu_to_le32(cycles(t->node.tx.airtime_ns));
	s->base.rx_frame_count = cpu_to_le32(cycles(t->node.rx_airtime_ns));
	s->base.rx_clear_count = cpu_to_le32(cycles(air_busy_ns()));
	s->base.cycle_count = cpu_to_le32(cycles(ktime_get_ns()));
	s->base.chan_tx_pwr = cpu_to_le32(46);
	s->tx.comp_queued = cpu_to_le32(t->tx_frames);
	s->tx.comp_delivered = cpu_to_le32(t->tx_done);
	s->tx.msdu_enqued = cpu_to_le32(t->tx_frames);
	s->tx.mpdu_enqued = cpu_to_le32(t->tx_frames);
	s->tx.hw_queued = cpu_to_le32(t->node.tx.ppdus);
	s->tx.hw_reaped = cpu_to_le32(t->node.tx.ppdus);
	s->tx.mpdus_requeued = cpu_to_le32(t->node.tx.retries);
	s->tx.tx_ko = cpu_to_le32(t->node.tx.failed);
	s->tx.mpdus_ack_failed = cpu_to_le32(t->node.tx.retries + t->node.tx.failed);
}

static void put_peer_stats(struct emu_peer *p, struct wmi_10_4_peer_stats *s)
{
	ether_addr_copy(s->peer_macaddr.addr, p->addr);
	s->peer_rssi = cpu_to_le32(RSSI);
	s->peer_tx_rate = cpu_to_le32(air_link_rate(&p->link).kbps);
	s->peer_rx_rate = s->peer_tx_rate;
	s->retries = cpu_to_le32(p->link.tx.retries);
	s->tx_bytes = cpu_to_le32(p->link.tx.bytes);
	s->total_sub_frames = cpu_to_le32(p->link.tx.mpdus);
}

/*
 * Statistics of all peers do not fit into one message. Each request is
 * answered by the next part; that with the radio's own is the first.
 */
static void request_stats(struct emu_target *t, const struct wmi_request_stats_cmd *cmd)
{
	u32 id = le32_to_cpu(cmd->stats_id) & (WMI_10_4_STAT_PEER | WMI_10_4_STAT_PEER_EXTD);
	bool first = !t->stats_sent, more = false;
	bool extended = id & WMI_10_4_STAT_PEER_EXTD;
	struct emu_peer *p, *part[12];
	unsigned int n = 0, i = 0, len;
	struct wmi_10_2_stats_event *ev;
	struct sk_buff *skb;
	void *at;

	list_for_each_entry(p, &t->peers, list) {
		if (!id || !p->assoc || i++ < t->stats_sent)
			continue;
		if (n == ARRAY_SIZE(part)) {
			more = true;
			break;
		}
		part[n++] = p;
	}
	t->stats_sent = more ? t->stats_sent + n : 0;
	len = sizeof(*ev) + first * sizeof(struct wmi_10_4_pdev_stats) +
		n * sizeof(struct wmi_10_4_peer_stats) +
		n * extended * sizeof(struct wmi_10_4_peer_extd_stats);
	ev = event(WMI_10_4_UPDATE_STATS_EVENTID, len, &skb);
	if (!ev)
		return;
	ev->stats_id = cpu_to_le32(id);
	ev->num_pdev_stats = cpu_to_le32(first);
	ev->num_peer_stats = cpu_to_le32(n);
	at = ev->data;
	if (first) {
		put_pdev_stats(t, at);
		at += sizeof(struct wmi_10_4_pdev_stats);
	}
	for (i = 0; i < n; i++) {
		put_peer_stats(part[i], at);
		at += sizeof(struct wmi_10_4_peer_stats);
	}
	for (i = 0; i < n && extended; i++) {
		struct wmi_10_4_peer_extd_stats *s = at;

		ether_addr_copy(s->peer_macaddr.addr, part[i]->addr);
		/* The host adds them up. */
		s->rx_duration = cpu_to_le32(part[i]->rx_duration_us);
		part[i]->rx_duration_us = 0;
		at = s + 1;
	}
	send_event(t, skb);
}

static void bss_channel_info(struct emu_target *t)
{
	struct wmi_pdev_bss_chan_info_event *ev;
	struct sk_buff *skb;

	ev = event(WMI_10_4_PDEV_BSS_CHAN_INFO_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->freq = cpu_to_le32(t->freq);
	ev->noise_floor = cpu_to_le32(NOISE_FLOOR);
	ev->cycle_busy = cpu_to_le64(div_u64(air_busy_ns() * CLOCK_MHZ, 1000));
	ev->cycle_total = cpu_to_le64(div_u64(ktime_get_ns() * CLOCK_MHZ, 1000));
	ev->cycle_tx = cpu_to_le64(div_u64(t->node.tx.airtime_ns * CLOCK_MHZ, 1000));
	ev->cycle_rx = cpu_to_le64(div_u64(t->node.rx_airtime_ns * CLOCK_MHZ, 1000));
	ev->cycle_rx_bss = ev->cycle_rx;
	send_event(t, skb);
}

static void temperature(struct emu_target *t)
{
	struct wmi_pdev_temperature_event *ev;
	struct sk_buff *skb;

	ev = event(WMI_10_4_PDEV_TEMPERATURE_EVENTID, sizeof(*ev), &skb);
	if (!ev)
		return;
	ev->temperature = cpu_to_le32(45);
	send_event(t, skb);
}

void emu_wmi_command(struct emu_target *t, void *data, unsigned int len)
{
	struct wmi_cmd_hdr *hdr = data;
	void *cmd = hdr + 1;
	struct emu_vdev *v;

	switch (le32_to_cpu(hdr->cmd_id) & WMI_CMD_HDR_CMD_ID_MASK) {
	case WMI_10_4_INIT_CMDID:
		ready(t);
		break;
	case WMI_10_4_ECHO_CMDID:
		echo(t, cmd);
		break;
	case WMI_10_4_PDEV_SUSPEND_CMDID:
		suspended(t);
		break;
	case WMI_10_4_VDEV_CREATE_CMDID: {
		struct wmi_vdev_create_cmd *c = cmd;

		v = vdev_of(t, c->vdev_id);
		if (!v)
			break;
		memset(v, 0, sizeof(*v));
		v->exists = true;
		v->type = le32_to_cpu(c->vdev_type);
		ether_addr_copy(v->addr, c->vdev_macaddr.addr);
		break;
	}
	case WMI_10_4_VDEV_DELETE_CMDID:
		v = vdev_of(t, ((struct wmi_vdev_delete_cmd *)cmd)->vdev_id);
		if (v)
			memset(v, 0, sizeof(*v));
		tune(t);
		break;
	case WMI_10_4_VDEV_START_REQUEST_CMDID:
		vdev_start(t, cmd, false);
		break;
	case WMI_10_4_VDEV_RESTART_REQUEST_CMDID:
		vdev_start(t, cmd, true);
		break;
	case WMI_10_4_VDEV_STOP_CMDID:
		vdev_stop(t, *(__le32 *)cmd);
		break;
	case WMI_10_4_VDEV_UP_CMDID:
		vdev_up(t, cmd);
		break;
	case WMI_10_4_VDEV_DOWN_CMDID:
		v = vdev_of(t, *(__le32 *)cmd);
		if (v)
			v->up = false;
		break;
	case WMI_10_4_VDEV_SET_PARAM_CMDID:
		/* That is how the host asks for a crash: debug.c. */
		if (!vdev_of(t, ((struct wmi_vdev_set_param_cmd *)cmd)->vdev_id))
			emu_crash(t);
		break;
	case WMI_10_4_FORCE_FW_HANG_CMDID:
		emu_crash(t);
		break;
	case WMI_10_4_VDEV_INSTALL_KEY_CMDID:
		install_key(t, cmd);
		break;
	case WMI_10_4_PEER_CREATE_CMDID:
		peer_create(t, cmd);
		break;
	case WMI_10_4_PEER_DELETE_CMDID:
		peer_delete(t, cmd);
		break;
	case WMI_10_4_PEER_ASSOC_CMDID:
		peer_assoc(t, cmd);
		break;
	case WMI_10_4_PEER_FLUSH_TIDS_CMDID: {
		struct wmi_peer_flush_tids_cmd *c = cmd;
		struct emu_peer *p = emu_peer_find(t, c->peer_macaddr.addr,
						   le32_to_cpu(c->vdev_id));

		if (p)
			air_link_flush(&p->link, le32_to_cpu(c->peer_tid_bitmap));
		break;
	}
	case WMI_10_4_PDEV_SEND_BCN_CMDID:
		send_beacon(t, cmd);
		break;
	case WMI_10_4_START_SCAN_CMDID:
		scan_start(t, cmd, len - sizeof(*hdr));
		break;
	case WMI_10_4_STOP_SCAN_CMDID:
		if (t->scan.running)
			scan_end(t, WMI_SCAN_REASON_CANCELLED);
		break;
	case WMI_10_4_REQUEST_STATS_CMDID:
		request_stats(t, cmd);
		break;
	case WMI_10_4_PDEV_BSS_CHAN_INFO_REQUEST_CMDID:
		bss_channel_info(t);
		break;
	case WMI_10_4_PDEV_GET_TEMPERATURE_CMDID:
		temperature(t);
		break;
	}
}

void emu_wmi_init(struct emu_target *t)
{
	hrtimer_init(&t->beacon, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	t->beacon.function = beacon_timer;
	hrtimer_init(&t->scan.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	t->scan.timer.function = scan_timer;
}

void emu_wmi_stop(struct emu_target *t)
{
	struct emu_peer *p, *tmp;

	list_for_each_entry_safe(p, tmp, &t->peers, list)
		peer_free(t, p);
	bitmap_zero(t->peer_ids, EMU_PEERS);
	memset(t->vdev, 0, sizeof(t->vdev));
	t->scan.running = t->scan.on_channel = false;
	t->stats_sent = 0;
	t->freq = 0;
	emu_set_freq(t, 0);
	air_link_flush(&t->basic, ~0);
}

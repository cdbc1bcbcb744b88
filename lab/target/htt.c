// SPDX-License-Identifier: GPL-2.0-only
/*
 * HTT 3.0 of 10.4 firmware: frames to and from the host, completions, rates.
 *
 * The host hands frames over by reference. They are made what would be on the
 * air: with QoS control, and with room for encryption, which itself is left
 * out. On reception they are given to the host "raw", decrypted in hardware.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip6_checksum.h>
#include <net/checksum.h>

#include "target.h"

#define RSSI		45
#define IV_LEN		IEEE80211_CCMP_HDR_LEN
#define MIC_LEN		IEEE80211_CCMP_MIC_LEN
#define COMPLETIONS	64 /* in one message */

static struct emu_target *target_of(struct air_node *node)
{
	return container_of(node, struct emu_target, node);
}

static struct htt_resp *response(u8 type, unsigned int len, struct sk_buff **skb)
{
	struct htt_resp *r;

	*skb = emu_alloc(sizeof(r->hdr) + len);
	if (!*skb)
		return NULL;
	r = (void *)(*skb)->data;
	r->hdr.msg_type = type;
	return r;
}

static void send_response(struct emu_target *t, struct sk_buff *skb)
{
	emu_to_host(t, t->htt_eid, skb);
	emu_interrupt(t);
}

/* Peers. */

void emu_htt_peer_map(struct emu_target *t, struct emu_peer *p, bool map)
{
	struct htt_resp *r;
	struct sk_buff *skb;

	r = response(map ? HTT_10_4_T2H_MSG_TYPE_PEER_MAP : HTT_10_4_T2H_MSG_TYPE_PEER_UNMAP,
		     sizeof(r->peer_map), &skb);
	if (!r)
		return;
	if (map) {
		r->peer_map.vdev_id = p->vdev_id;
		r->peer_map.peer_id = cpu_to_le16(p->id);
		ether_addr_copy(r->peer_map.addr, p->addr);
	} else {
		r->peer_unmap.peer_id = cpu_to_le16(p->id);
	}
	send_response(t, skb);
}

void emu_htt_sec_ind(struct emu_target *t, struct emu_peer *p, u32 cipher, bool pairwise)
{
	struct htt_resp *r;
	struct sk_buff *skb;

	r = response(HTT_10_4_T2H_MSG_TYPE_SEC_IND, sizeof(r->security_indication), &skb);
	if (!r)
		return;
	r->security_indication.flags =
		(cipher == WMI_CIPHER_AES_CCM ? HTT_SECURITY_AES_CCMP : HTT_SECURITY_NONE) |
		(pairwise ? HTT_SECURITY_IS_UNICAST : 0);
	r->security_indication.peer_id = cpu_to_le16(p ? p->id : HTT_INVALID_PEERID);
	send_response(t, skb);
}

/*
 * Pull mode, of firmware with peer flow control: the host keeps its frames and
 * shows how many there are; the target asks for some when it has few left.
 */
#define PULL_FRAMES	128 /* per station and TID */
#define PULL_RECORDS	32
#define PULL_NS		250000 /* between looks at the host's queues */
/*
 * From an answer to the next question. Answers are often empty: each question
 * gives a station only one quantum of airtime (ieee80211_txq_may_transmit).
 */
#define PULL_AGAIN_NS	50000

static const enum air_ac acs[] = { AIR_BE, AIR_BK, AIR_BK, AIR_BE,
				   AIR_VI, AIR_VI, AIR_VO, AIR_VO };

static void pull(struct emu_target *t)
{
	struct htt_tx_fetch_ind *ind;
	unsigned int n = 0, have;
	struct emu_peer *p;
	struct htt_resp *r;
	struct sk_buff *skb;
	int tid;

	if (!t->pulling || t->fetching || !t->queues)
		return;
	r = response(HTT_10_4_T2H_MSG_TYPE_TX_FETCH_IND,
		     sizeof(*ind) + PULL_RECORDS * sizeof(ind->records[0]), &skb);
	if (!r)
		return;
	ind = &r->tx_fetch_ind;
	list_for_each_entry(p, &t->peers, list)
		for (tid = 0; tid < ARRAY_SIZE(acs); tid++) {
			if (n == PULL_RECORDS || !t->queues->count[tid][p->id])
				continue;
			have = air_link_frames(&p->link, acs[tid]);
			if (have >= PULL_FRAMES)
				continue;
			ind->records[n].info = cpu_to_le16(
				SM(p->id, HTT_TX_FETCH_RECORD_INFO_PEER_ID) |
				SM(tid, HTT_TX_FETCH_RECORD_INFO_TID));
			ind->records[n].num_msdus = cpu_to_le16(PULL_FRAMES - have);
			ind->records[n].num_bytes = cpu_to_le32(U32_MAX);
			n++;
		}
	if (!n) {
		kfree_skb(skb);
		return;
	}
	ind->num_records = cpu_to_le16(n);
	ind->fetch_seq_num = cpu_to_le16(t->fetch_seq++);
	t->fetching = true;
	send_response(t, skb);
}

static enum hrtimer_restart pull_timer(struct hrtimer *timer)
{
	struct emu_target *t = container_of(timer, struct emu_target, pull_timer);
	unsigned long flags;
	bool again;

	spin_lock_irqsave(&air_lock, flags);
	again = t->pulling && t->running && !t->crashed;
	if (again)
		pull(t);
	spin_unlock_irqrestore(&air_lock, flags);
	if (!again)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(PULL_NS));
	return HRTIMER_RESTART;
}

/* Tells the host which mode the knob says. */
void emu_htt_set_pull(struct emu_target *t)
{
	struct htt_resp *r;
	struct sk_buff *skb;

	if (!t->running || !t->queues || t->pulling == t->pull)
		return;
	r = response(HTT_10_4_T2H_MSG_TYPE_TX_MODE_SWITCH_IND, sizeof(r->tx_mode_switch_ind), &skb);
	if (!r)
		return;
	t->pulling = t->pull;
	r->tx_mode_switch_ind.info0 = cpu_to_le16(HTT_TX_MODE_SWITCH_IND_INFO0_ENABLE);
	r->tx_mode_switch_ind.info1 = cpu_to_le16(
		SM(t->pull ? HTT_TX_MODE_SWITCH_PUSH_PULL : HTT_TX_MODE_SWITCH_PUSH,
		   HTT_TX_MODE_SWITCH_IND_INFO1_MODE));
	send_response(t, skb);
	if (t->pulling)
		hrtimer_start(&t->pull_timer, ns_to_ktime(PULL_NS), HRTIMER_MODE_REL);
}

/* Completions. */

static void completions(struct emu_target *t)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&t->reports)))
		emu_to_host(t, t->htt_eid, skb);
	while (t->done_head != t->done_tail) {
		struct htt_resp *r;
		u8 status = t->done[t->done_head].status;
		unsigned int n = 0;

		/* One message has frames of one status. */
		r = response(HTT_10_4_T2H_MSG_TYPE_TX_COMPL_IND,
			     sizeof(r->data_tx_completion) + 2 * COMPLETIONS, &skb);
		if (!r)
			break;
		r->data_tx_completion.flags = status | HTT_DATA_TX_TID_INVALID;
		while (t->done_head != t->done_tail && n < COMPLETIONS &&
		       t->done[t->done_head].status == status) {
			r->data_tx_completion.msdus[n++] =
				cpu_to_le16(t->done[t->done_head].msdu_id);
			t->done_head = (t->done_head + 1) % ARRAY_SIZE(t->done);
		}
		r->data_tx_completion.num_msdus = n;
		emu_to_host(t, t->htt_eid, skb);
	}
	emu_interrupt(t);
}

static enum hrtimer_restart service_timer(struct hrtimer *timer)
{
	struct emu_target *t = container_of(timer, struct emu_target, service);
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	if (t->running && !t->crashed)
		completions(t);
	spin_unlock_irqrestore(&air_lock, flags);
	return HRTIMER_NORESTART;
}

/* The host hears of what is done: at once, or when it next serves completions. */
static void serve(struct emu_target *t)
{
	u64 now, ns = (u64)READ_ONCE(t->svc_us) * 1000, rest;

	if (!t->running || t->crashed || hrtimer_active(&t->service))
		return;
	if (!ns) {
		completions(t);
		return;
	}
	now = ktime_get_ns();
	div64_u64_rem(now, ns, &rest);
	hrtimer_start(&t->service, ns_to_ktime(now - rest + ns), HRTIMER_MODE_ABS);
}

static void complete_frame(struct emu_target *t, u32 cookie, u8 status)
{
	unsigned int next = (t->done_tail + 1) % ARRAY_SIZE(t->done);

	if (cookie == EMU_NO_COOKIE)
		return;
	if (t->leak) {
		t->leak--;
		return;
	}
	t->tx_done++;
	if (WARN_ON_ONCE(next == t->done_head))
		return;
	t->done[t->done_tail] = (struct emu_done){ cookie, status };
	t->done_tail = next;
}

static void node_sent(struct air_node *node, u32 cookie, bool acked)
{
	complete_frame(target_of(node), cookie,
		       acked ? HTT_DATA_TX_STATUS_OK : HTT_DATA_TX_STATUS_NO_ACK);
}

static void node_settled(struct air_node *node)
{
	struct emu_target *t = target_of(node);

	pull(t);
	if (t->done_head != t->done_tail || !skb_queue_empty(&t->reports))
		serve(t);
}

static void node_report(struct air_node *node, const struct air_report *rep)
{
	struct emu_target *t = target_of(node);
	struct emu_peer *p = container_of(rep->link, struct emu_peer, link);
	struct htt_per_peer_tx_stats_ind *s;
	struct htt_resp *r;
	struct sk_buff *skb;

	if (t->blind || !p->assoc || !t->running)
		return;
	r = response(HTT_10_4_T2H_MSG_TYPE_PEER_STATS, sizeof(r->peer_tx_stats) + sizeof(*s), &skb);
	if (!r)
		return;
	r->peer_tx_stats.num_ppdu = 1;
	r->peer_tx_stats.ppdu_len = sizeof(*s) / 4;
	s = (void *)r->peer_tx_stats.payload;
	s->succ_bytes = cpu_to_le32(rep->acked_bytes);
	s->retry_bytes = cpu_to_le32(rep->retried_bytes);
	s->failed_bytes = cpu_to_le32(rep->failed_bytes);
	s->ratecode = ATH10K_HW_RATECODE(rep->rate.mcs, rep->rate.nss - 1, WMI_RATE_PREAMBLE_VHT);
	s->flags = 1 /* A-MPDU */ | rep->rate.bw << 3 | rep->rate.sgi << 5;
	s->peer_id = cpu_to_le16(p->id);
	s->succ_pkts = cpu_to_le16(rep->acked);
	s->retry_pkts = cpu_to_le16(rep->retried);
	s->failed_pkts = cpu_to_le16(rep->failed);
	s->tx_duration = cpu_to_le16(rep->duration_us);
	skb_queue_tail(&t->reports, skb);
}

/* Frames from the host. */

static void put_header(struct sk_buff *skb, const struct ieee80211_hdr *from, bool qos, u8 tid)
{
	unsigned int len = ieee80211_hdrlen(from->frame_control);
	struct ieee80211_hdr *hdr = skb_put(skb, len);

	memcpy(hdr, from, len);
	if (qos) {
		hdr->frame_control |= cpu_to_le16(IEEE80211_STYPE_QOS_DATA);
		*(__le16 *)skb_put(skb, IEEE80211_QOS_CTL_LEN) = cpu_to_le16(tid);
	}
}

/* What the host left to the hardware. The payload begins with LLC. */
static void fill_checksum(u8 *llc, unsigned int len)
{
	u8 *l3 = llc + 8, *l4;
	__sum16 *sum;
	unsigned int l4_len, offset;
	u8 proto;

	if (len < 8 + sizeof(struct iphdr))
		return;
	if (llc[6] == 0x08 && llc[7] == 0x00) {
		struct iphdr *ip = (void *)l3;

		proto = ip->protocol;
		l4 = l3 + ip->ihl * 4;
		l4_len = ntohs(ip->tot_len) - ip->ihl * 4;
	} else if (llc[6] == 0x86 && llc[7] == 0xdd) {
		proto = ((struct ipv6hdr *)l3)->nexthdr;
		l4 = l3 + sizeof(struct ipv6hdr);
		l4_len = ntohs(((struct ipv6hdr *)l3)->payload_len);
	} else {
		return;
	}
	if (proto == IPPROTO_TCP)
		offset = offsetof(struct tcphdr, check);
	else if (proto == IPPROTO_UDP)
		offset = offsetof(struct udphdr, check);
	else
		return;
	if (l4 + l4_len > llc + len || l4_len < offset + 2)
		return;
	/* It holds the sum of the pseudo header. */
	sum = (void *)(l4 + offset);
	*sum = csum_fold(csum_partial(l4, l4_len, 0));
	if (proto == IPPROTO_UDP && !*sum)
		*sum = CSUM_MANGLED_0;
}

static void put_iv(struct emu_target *t, struct sk_buff *skb, u8 key)
{
	u8 *iv = skb_put_zero(skb, IV_LEN);
	u64 pn = ++t->pn;

	iv[0] = pn;
	iv[1] = pn >> 8;
	iv[3] = 0x20 | key << 6; /* extended IV */
	iv[4] = pn >> 16;
	iv[5] = pn >> 24;
	iv[6] = pn >> 32;
	iv[7] = pn >> 40;
}

bool emu_send_mgmt(struct emu_target *t, const void *frame, unsigned int len, u32 cookie)
{
	struct sk_buff *skb = alloc_skb(len, GFP_ATOMIC);

	if (!skb)
		return false;
	skb_put_data(skb, frame, len);
	memset(skb->cb, 0, sizeof(skb->cb));
	air_cb(skb)->cookie = cookie;
	air_cb(skb)->len = len + FCS_LEN;
	air_cb(skb)->tid = HTT_DATA_TX_EXT_TID_MGMT;
	air_send(&t->basic, AIR_VO, skb);
	return true;
}

static bool send_data(struct emu_target *t, u8 vdev_id, u8 tid, bool checksum,
		      const u8 *frame, unsigned int len, u32 cookie)
{
	const struct ieee80211_hdr *from = (void *)frame;
	unsigned int hdrlen = ieee80211_hdrlen(from->frame_control);
	bool group = is_multicast_ether_addr(from->addr1);
	bool protected = ieee80211_has_protected(from->frame_control), qos, basic;
	struct emu_peer *p = NULL;
	struct ieee80211_hdr *hdr;
	struct sk_buff *skb;
	u8 *payload;

	if (len < hdrlen || vdev_id >= EMU_VDEVS)
		return false;
	if (!group)
		p = emu_peer_find(t, from->addr1, vdev_id);
	if (!p && !group)
		return false;
	qos = p && p->qos && tid < 8;
	basic = !p || !qos;
	skb = alloc_skb(len + IEEE80211_QOS_CTL_LEN + IV_LEN + MIC_LEN, GFP_ATOMIC);
	if (!skb)
		return false;
	put_header(skb, from, qos, tid);
	hdr = (void *)skb->data;
	if (protected)
		put_iv(t, skb, group ? t->vdev[vdev_id].group_key : 0);
	payload = skb_put_data(skb, frame + hdrlen, len - hdrlen);
	if (checksum)
		fill_checksum(payload, len - hdrlen);
	if (protected)
		skb_put_zero(skb, MIC_LEN);
	if (p)
		hdr->seq_ctrl = cpu_to_le16((p->seq++ << 4) & IEEE80211_SCTL_SEQ);
	memset(skb->cb, 0, sizeof(skb->cb));
	air_cb(skb)->cookie = cookie;
	air_cb(skb)->len = skb->len + FCS_LEN;
	air_cb(skb)->tid = tid;
	air_cb(skb)->qos = qos;
	air_send(basic ? &t->basic : &p->link, tid < 8 ? acs[tid] : AIR_BE, skb);
	return true;
}

static void tx_frame(struct emu_target *t, const struct htt_data_tx_desc *d)
{
	u16 flags1 = le16_to_cpu(d->flags1);
	u8 type = MS(d->flags0, HTT_DATA_TX_DESC_FLAGS0_PKT_TYPE);
	u8 tid = MS(flags1, HTT_DATA_TX_DESC_FLAGS1_EXT_TID);
	u8 vdev_id = MS(flags1, HTT_DATA_TX_DESC_FLAGS1_VDEV_ID);
	u16 id = le16_to_cpu(d->id), len = le16_to_cpu(d->len);
	u32 paddr = le32_to_cpu(d->frags_paddr);
	bool ok;

	t->tx_frames++;
	if (type == ATH10K_HW_TXRX_MGMT) {
		ok = emu_send_mgmt(t, phys_to_virt(paddr), len, id);
	} else {
		struct htt_msdu_ext_desc *ext = phys_to_virt(paddr);

		ok = type == ATH10K_HW_TXRX_NATIVE_WIFI &&
			send_data(t, vdev_id, tid, ext->flags & HTT_MSDU_CHECKSUM_ENABLE,
				  phys_to_virt(le32_to_cpu(ext->frags[0].tword_addr.paddr_lo)),
				  le16_to_cpu(ext->frags[0].tword_addr.len_16), id);
	}
	if (!ok) {
		complete_frame(t, id, HTT_DATA_TX_STATUS_DISCARD);
		serve(t);
	}
}

void emu_htt_message(struct emu_target *t, void *data, unsigned int len)
{
	struct htt_cmd *cmd = data;
	struct htt_rx_ring_setup_ring32 *ring;
	struct htt_resp *r;
	struct sk_buff *skb;

	switch (cmd->hdr.msg_type) {
	case HTT_H2T_MSG_TYPE_VERSION_REQ:
		r = response(HTT_10_4_T2H_MSG_TYPE_VERSION_CONF, sizeof(r->ver_resp), &skb);
		if (!r)
			break;
		r->ver_resp.major = 3;
		send_response(t, skb);
		break;
	case HTT_H2T_MSG_TYPE_RX_RING_CFG:
		ring = &cmd->rx_setup_32.rings[0];
		t->rx_ring = phys_to_virt(le32_to_cpu(ring->rx_ring_base_paddr));
		t->rx_filled = phys_to_virt(le32_to_cpu(ring->fw_idx_shadow_reg_paddr));
		t->rx_size = le16_to_cpu(ring->rx_ring_len);
		t->rx_index = 0;
		break;
	case HTT_H2T_MSG_TYPE_FRAG_DESC_BANK_CFG:
		if (cmd->frag_desc_bank_cfg32.info & HTT_FRAG_DESC_BANK_CFG_INFO_Q_STATE_VALID)
			t->queues = phys_to_virt(le32_to_cpu(
				cmd->frag_desc_bank_cfg32.q_state.paddr));
		emu_htt_set_pull(t);
		break;
	case HTT_H2T_MSG_TYPE_TX_FETCH_RESP:
		t->fetching = false;
		if (t->pulling)
			hrtimer_start(&t->pull_timer, ns_to_ktime(PULL_AGAIN_NS),
				      HRTIMER_MODE_REL);
		break;
	case HTT_H2T_MSG_TYPE_AGGR_CFG:
		t->node.max_mpdus = clamp_t(u8, cmd->aggr_conf.max_num_ampdu_subframes, 1, 64);
		break;
	case HTT_H2T_MSG_TYPE_TX_FRM:
		tx_frame(t, &cmd->data_tx);
		break;
	}
}

/* Frames for the host. */

static bool node_is_mine(struct air_node *node, const u8 *addr)
{
	struct emu_target *t = target_of(node);
	int i;

	for (i = 0; i < EMU_VDEVS; i++)
		if (t->vdev[i].exists && ether_addr_equal(t->vdev[i].addr, addr))
			return true;
	return false;
}

/* Puts a frame into the next buffer of the ring. */
static bool fill_buffer(struct emu_target *t, struct sk_buff *frame, struct emu_peer *p,
			const struct air_rate *rate, bool first, bool last)
{
	struct ieee80211_hdr *hdr = (void *)frame->data;
	struct htt_rx_desc_v1 *d;
	unsigned int len = frame->len + FCS_LEN;
	u32 flags = RX_ATTENTION_FLAGS_MSDU_DONE;

	if (!t->rx_ring || t->rx_index == le32_to_cpu(READ_ONCE(*t->rx_filled)) ||
	    sizeof(*d) + len > HTT_RX_BUF_SIZE) {
		t->rx_dropped++;
		return false;
	}
	d = phys_to_virt(le32_to_cpu(t->rx_ring[t->rx_index]));
	t->rx_index = (t->rx_index + 1) % t->rx_size;

	memset(d, 0, sizeof(*d));
	if (first)
		flags |= RX_ATTENTION_FLAGS_FIRST_MPDU;
	if (last)
		flags |= RX_ATTENTION_FLAGS_LAST_MPDU;
	if (is_multicast_ether_addr(hdr->addr1))
		flags |= RX_ATTENTION_FLAGS_MCAST_BCAST;
	d->attention.flags = cpu_to_le32(flags);
	d->mpdu_start.info0 = cpu_to_le32(
		SM(ieee80211_has_protected(hdr->frame_control) ?
		   HTT_RX_MPDU_ENCRYPT_AES_CCM_WPA2 : HTT_RX_MPDU_ENCRYPT_NONE,
		   RX_MPDU_START_INFO0_ENCRYPT_TYPE) |
		SM(p->id, RX_MPDU_START_INFO0_PEER_IDX));
	d->msdu_start.common.info0 = cpu_to_le32(SM(len, RX_MSDU_START_INFO0_MSDU_LENGTH));
	d->msdu_start.common.info1 = cpu_to_le32(
		SM(RX_MSDU_DECAP_RAW, RX_MSDU_START_INFO1_DECAP_FORMAT));
	d->msdu_end.common.info0 = cpu_to_le32(RX_MSDU_END_INFO0_FIRST_MSDU |
					       RX_MSDU_END_INFO0_LAST_MSDU);
	d->ppdu_start.rssi_comb = RSSI;
	d->ppdu_start.rssi_chains[0].pri20_mhz = RSSI;
	if (rate->nss) {
		d->ppdu_start.info1 = cpu_to_le32(SM(HTT_RX_VHT, RX_PPDU_START_INFO1_PREAMBLE_TYPE));
		d->ppdu_start.info2 = cpu_to_le32(rate->bw | (rate->nss - 1) << 10);
		d->ppdu_start.info3 = cpu_to_le32(rate->sgi | rate->mcs << 4);
	} else {
		d->ppdu_start.info1 = cpu_to_le32(SM(HTT_RX_LEGACY, RX_PPDU_START_INFO1_PREAMBLE_TYPE) |
						  0xb /* 6 Mb/s */);
	}
	d->ppdu_end.common.tsf_timestamp = cpu_to_le32(ktime_to_us(ktime_get()));
	memcpy(d->rx_hdr_status, frame->data, min_t(u32, frame->len, RX_HTT_HDR_STATUS_LEN));
	memcpy(d->msdu_payload, frame->data, frame->len);
	memset(d->msdu_payload + frame->len, 0, FCS_LEN);
	t->rx_mpdus++;
	return true;
}

static void rx_ind(struct emu_target *t, struct emu_peer *p, u8 tid)
{
	struct htt_rx_indication *ind;
	struct htt_rx_indication_mpdu_range *range;
	struct htt_resp *r;
	struct sk_buff *skb;

	if (!t->rx_mpdus)
		return;
	r = response(HTT_10_4_T2H_MSG_TYPE_RX_IND, sizeof(*ind) + 8 + sizeof(*range), &skb);
	if (!r)
		return;
	ind = &r->rx_ind;
	ind->hdr.info0 = tid;
	ind->hdr.peer_id = cpu_to_le16(p->id);
	ind->hdr.info1 = cpu_to_le32(SM(1, HTT_RX_INDICATION_INFO1_NUM_MPDU_RANGES));
	ind->prefix.fw_rx_desc_bytes = cpu_to_le16(0);
	range = htt_rx_ind_get_mpdu_ranges(ind);
	range->mpdu_count = t->rx_mpdus;
	range->mpdu_range_status = HTT_RX_IND_MPDU_STATUS_OK;
	t->rx_mpdus = 0;
	send_response(t, skb);
}

static bool for_me(struct emu_target *t, struct ieee80211_hdr *hdr)
{
	return is_multicast_ether_addr(hdr->addr1) || node_is_mine(&t->node, hdr->addr1);
}

static void node_receive(struct air_node *node, struct sk_buff *skb,
			 const struct air_rate *rate, u32 duration_us, bool first, bool last)
{
	struct emu_target *t = target_of(node);
	struct ieee80211_hdr *hdr = (void *)skb->data;
	struct emu_peer *p;
	u8 tid = ATH10K_TXRX_NON_QOS_TID;

	if (!t->running || t->crashed || !for_me(t, hdr))
		return;
	if (ieee80211_is_mgmt(hdr->frame_control)) {
		emu_wmi_mgmt_rx(t, skb);
		return;
	}
	p = emu_peer_find(t, hdr->addr2, -1);
	if (!p)
		return;
	if (first)
		p->rx_duration_us += duration_us;
	fill_buffer(t, skb, p, rate, first, last);
	if (ieee80211_is_data_qos(hdr->frame_control))
		tid = ieee80211_get_qos_ctl(hdr)[0] & IEEE80211_QOS_CTL_TID_MASK;
	if (last)
		rx_ind(t, p, tid);
}

const struct air_node_ops emu_node_ops = {
	.is_mine = node_is_mine,
	.receive = node_receive,
	.sent = node_sent,
	.report = node_report,
	.settled = node_settled,
};

void emu_htt_init(struct emu_target *t)
{
	hrtimer_init(&t->service, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	t->service.function = service_timer;
	hrtimer_init(&t->pull_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	t->pull_timer.function = pull_timer;
}

void emu_htt_stop(struct emu_target *t)
{
	t->rx_ring = NULL;
	t->rx_filled = NULL;
	t->queues = NULL;
	t->pulling = t->fetching = false;
	t->rx_mpdus = 0;
	t->done_head = t->done_tail = 0;
	skb_queue_purge(&t->reports);
}

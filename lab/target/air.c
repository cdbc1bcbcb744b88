// SPDX-License-Identifier: GPL-2.0-only
/*
 * The air: contention, aggregation, loss. See air.h.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include "air.h"

/* 802.11-2020, 5 GHz OFDM. */
#define SLOT_NS		9000
#define SIFS_NS		16000
/* A block ack at 24 Mb/s, an ack at 6 Mb/s. */
#define BLOCK_ACK_NS	32000
#define ACK_NS		44000
#define OFDM_PREAMBLE_NS 20000
#define VHT_PREAMBLE_NS	36000 /* and one 4 us training symbol per stream */

#define BLOCK_ACK_WINDOW 64
#define MAX_TRIES	15
#define BASIC_TRIES	7
#define DELIMITER	4

DEFINE_SPINLOCK(air_lock);

unsigned int air_max_ppdu_us = 4000;
module_param_named(max_ppdu_us, air_max_ppdu_us, uint, 0644);
MODULE_PARM_DESC(max_ppdu_us, "longest aggregate, us");

static unsigned int rts_us = 1000;
module_param(rts_us, uint, 0644);
MODULE_PARM_DESC(rts_us, "PPDUs longer than this are preceded by RTS and CTS, us; 0: all");

static unsigned int seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of back-off and loss");

static const struct {
	u8 aifsn;
	u16 cw_min, cw_max;
} edca_params[AIR_ACS] = {
	[AIR_VO] = { 2, 3, 7 },
	[AIR_VI] = { 2, 7, 15 },
	[AIR_BE] = { 3, 15, 1023 },
	[AIR_BK] = { 7, 15, 1023 },
};

struct ppdu {
	struct list_head list;
	struct air_link *link;
	struct air_node *to; /* NULL: none hears it */
	enum air_ac ac;
	struct air_rate rate;
	u64 duration_ns;
	unsigned int frames; /* of the window, those not done */
	bool group;
	bool collided;
};

static struct {
	struct list_head nodes;
	struct hrtimer timer;
	struct rnd_state rnd;
	ktime_t idle_since;
	ktime_t busy_since;
	u64 busy_ns;
	bool busy, waiting;
	/* On the air: more than one have collided. */
	struct ppdu ppdus[32];
	unsigned int n;
} air;

/* Rates of VHT in units of 100 kb/s at a guard interval of 800 ns, one stream. */
static const u16 vht_rates[3][10] = {
	{ 65, 130, 195, 260, 390, 520, 585, 650, 780, 0 },
	{ 135, 270, 405, 540, 810, 1080, 1215, 1350, 1620, 1800 },
	{ 293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900 },
};

struct air_rate air_rate_vht(u32 kbps)
{
	struct air_rate best = {};
	u32 distance = U32_MAX;
	u8 bw, nss, mcs, sgi;

	for (bw = 0; bw < 3; bw++)
		for (nss = 1; nss <= 4; nss++)
			for (mcs = 0; mcs < 10; mcs++)
				for (sgi = 0; sgi < 2; sgi++) {
					u32 r = vht_rates[bw][mcs] * 100 * nss;
					u32 d;

					if (!r || (bw == 2 && mcs == 6 && nss == 3))
						continue;
					if (sgi)
						r = r * 10 / 9;
					d = r > kbps ? r - kbps : kbps - r;
					if (d >= distance)
						continue;
					distance = d;
					best = (struct air_rate){ r, nss, mcs, bw, sgi };
				}
	return best;
}

static const struct air_rate basic_rate = { .kbps = 6000 };

static struct air_node *find_receiver(struct air_node *from, const u8 *addr)
{
	struct air_node *node;

	list_for_each_entry(node, &air.nodes, list)
		if (node != from && node->ops->is_mine(node, addr))
			return node;
	return NULL;
}

struct air_rate air_link_rate(struct air_link *link)
{
	struct air_node *to;
	u32 kbps = link->node->kbps;

	if (link->basic)
		return basic_rate;
	to = find_receiver(link->node, link->addr);
	if (to)
		kbps = min(kbps, to->kbps);
	return air_rate_vht(kbps);
}

unsigned int air_link_frames(struct air_link *link, enum air_ac ac)
{
	struct air_queue *q = &link->queue[ac];

	return skb_queue_len(&q->fifo) + skb_queue_len(&q->window);
}

static bool queue_empty(struct air_queue *q)
{
	return skb_queue_empty(&q->fifo) && skb_queue_empty(&q->window);
}

/* Frames wait for a receiver that sleeps or is away on another channel. */
static bool must_wait(struct air_link *link, struct air_node *to)
{
	if (!link->node->freq)
		return true;
	if (link->basic)
		return false;
	return to && (to->stalled || to->freq != link->node->freq);
}

static struct air_link *next_link(struct air_node *node, enum air_ac ac)
{
	struct air_queue *q;

	list_for_each_entry(q, &node->ready[ac], ready) {
		struct air_link *link = container_of(q - ac, struct air_link, queue[0]);

		if (!must_wait(link, link->basic ? NULL : find_receiver(node, link->addr)))
			return link;
	}
	return NULL;
}

static u64 bits_ns(u32 bytes, u32 kbps)
{
	return div_u64((u64)bytes * 8 * 1000000, kbps);
}

/* Moves what is to be sent into the window, and says how long it takes. */
static void build(struct ppdu *p, struct air_node *node, enum air_ac ac)
{
	struct air_link *link = p->link;
	struct air_queue *q = &link->queue[ac];
	struct sk_buff *skb;
	u64 max_ns = (u64)air_max_ppdu_us * 1000;
	u32 bytes = 0;
	bool single = link->basic;

	p->ac = ac;
	p->frames = 0;
	p->collided = false;
	p->rate = air_link_rate(link);
	p->duration_ns = p->rate.nss ?
		VHT_PREAMBLE_NS + p->rate.nss * 4000 : OFDM_PREAMBLE_NS;

	for (;;) {
		bool fresh = false;
		u32 len;

		/* First again what was lost, then what is new. */
		if (!p->frames)
			skb = skb_peek(&q->window);
		else
			skb = skb_queue_is_last(&q->window, skb) ?
				NULL : skb_queue_next(&q->window, skb);
		while (skb && air_cb(skb)->done)
			skb = skb_queue_is_last(&q->window, skb) ?
				NULL : skb_queue_next(&q->window, skb);
		if (!skb) {
			if (skb_queue_len(&q->window) >= BLOCK_ACK_WINDOW)
				break;
			skb = skb_peek(&q->fifo);
			if (!skb)
				break;
			fresh = true;
		}
		if (!air_cb(skb)->qos) {
			if (p->frames)
				break;
			single = true;
		}
		len = air_cb(skb)->len;
		if (!link->basic)
			len = ALIGN(len + DELIMITER, 4);
		if (p->frames && p->duration_ns +
		    bits_ns(bytes + len, p->rate.kbps) > max_ns)
			break;
		if (fresh) {
			__skb_unlink(skb, &q->fifo);
			__skb_queue_tail(&q->window, skb);
		}
		bytes += len;
		p->frames++;
		if (single || p->frames >= node->max_mpdus)
			break;
	}
	skb = skb_peek(&q->window);
	p->group = skb && link->basic &&
		is_multicast_ether_addr(((struct ieee80211_hdr *)skb->data)->addr1);
	p->to = NULL;
	if (skb && !p->group) {
		p->to = find_receiver(node, link->basic ?
			((struct ieee80211_hdr *)skb->data)->addr1 : link->addr);
		if (p->to && p->to->freq != node->freq)
			p->to = NULL;
	}
	p->duration_ns += bits_ns(bytes, p->rate.kbps);
}

static void count(struct air_counters *c, u64 ppdus, u64 mpdus, u64 retries,
		  u64 failed, u64 bytes, u64 ns)
{
	c->ppdus += ppdus;
	c->mpdus += mpdus;
	c->retries += retries;
	c->failed += failed;
	c->bytes += bytes;
	c->airtime_ns += ns;
}

static bool lost(struct ppdu *p)
{
	u32 loss;

	if (p->collided || !p->to)
		return true;
	if (p->link->basic)
		return false;
	loss = max(p->link->node->loss, p->to->loss);
	return loss && prandom_u32_state(&air.rnd) % 1000000 < loss;
}

/* Hands over what is in order, and reports what each frame's fate is. */
static void settle(struct ppdu *p)
{
	struct air_link *link = p->link;
	struct air_node *node = link->node, *to;
	struct air_queue *q = &link->queue[p->ac];
	struct air_edca *e = &node->edca[p->ac];
	u32 us = div_u64(p->duration_ns, 1000);
	struct air_report r = { .link = link, .rate = p->rate, .duration_us = us };
	struct sk_buff *skb, *next;
	unsigned int i = 0;
	bool first = true;

	skb_queue_walk(&q->window, skb) {
		struct air_cb *cb = air_cb(skb);

		if (cb->done)
			continue;
		if (i++ == p->frames)
			break;
		r.tid = cb->tid;
		cb->tries++;
		if (p->group || !lost(p)) {
			cb->done = cb->acked = true;
			r.acked++;
			r.acked_bytes += cb->len;
		} else if (cb->tries >= (link->basic ? BASIC_TRIES : MAX_TRIES)) {
			cb->done = true;
			r.failed++;
			r.failed_bytes += cb->len;
		} else {
			r.retried++;
			r.retried_bytes += cb->len;
			continue;
		}
		node->ops->sent(node, cb->cookie, cb->acked);
	}

	if (r.acked)
		e->cw = edca_params[p->ac].cw_min;
	else
		e->cw = min_t(u16, 2 * e->cw + 1, edca_params[p->ac].cw_max);
	count(&link->tx, 1, r.acked, r.retried, r.failed, r.acked_bytes, p->duration_ns);
	count(&node->tx, 1, r.acked, r.retried, r.failed, r.acked_bytes, p->duration_ns);
	if (!link->basic)
		node->ops->report(node, &r);
	node->ops->settled(node);

	for (skb = skb_peek(&q->window); skb && air_cb(skb)->done; skb = next) {
		__skb_unlink(skb, &q->window);
		next = skb_peek(&q->window);
		if (air_cb(skb)->acked) {
			bool last = !next || !air_cb(next)->done;

			if (p->group) {
				list_for_each_entry(to, &air.nodes, list)
					if (to != node && to->freq == node->freq &&
					    !p->collided)
						to->ops->receive(to, skb, &p->rate,
								 us, first, last);
			} else if (p->to) {
				if (first)
					p->to->rx_airtime_ns += p->duration_ns;
				p->to->ops->receive(p->to, skb, &p->rate, us,
						    first, last);
			}
			first = false;
		}
		dev_kfree_skb_any(skb);
	}

	/* The next turn is another receiver's. */
	list_del_init(&q->ready);
	if (!queue_empty(q))
		list_add_tail(&q->ready, &node->ready[p->ac]);
}

static void draw(struct air_edca *e)
{
	e->slots = prandom_u32_state(&air.rnd) % (e->cw + 1);
}

static ktime_t base(struct air_edca *e, enum air_ac ac)
{
	ktime_t t = ktime_compare(e->since, air.idle_since) > 0 ?
		e->since : air.idle_since;

	return ktime_add_ns(t, SIFS_NS + edca_params[ac].aifsn * SLOT_NS);
}

/* Finds who is next, and wakes up then. */
static void contend(void)
{
	ktime_t best = KTIME_MAX, now = ktime_get();
	struct air_node *node;
	int ac;

	if (air.busy)
		return;
	list_for_each_entry(node, &air.nodes, list)
		for (ac = 0; ac < AIR_ACS; ac++) {
			struct air_edca *e = &node->edca[ac];
			ktime_t t;

			if (!next_link(node, ac)) {
				e->active = false;
				continue;
			}
			if (!e->active) {
				e->active = true;
				e->since = now;
				draw(e);
			}
			t = ktime_add_ns(base(e, ac), e->slots * SLOT_NS);
			if (ktime_compare(t, best) < 0)
				best = t;
		}
	air.waiting = best != KTIME_MAX;
	if (air.waiting)
		hrtimer_start(&air.timer, best, HRTIMER_MODE_ABS);
	else
		hrtimer_try_to_cancel(&air.timer);
}

/* The winners send; for the others the slots that passed are gone. */
static void transmit(ktime_t now)
{
	struct air_node *node;
	u64 longest = 0, tail = 0;
	unsigned int i;
	int ac;

	air.n = 0;
	list_for_each_entry(node, &air.nodes, list) {
		bool sends = false;

		for (ac = 0; ac < AIR_ACS; ac++) {
			struct air_edca *e = &node->edca[ac];
			struct air_link *link;
			s64 left, ns;

			if (!e->active)
				continue;
			ns = ktime_to_ns(ktime_sub(now, base(e, ac)));
			left = e->slots;
			if (ns >= 0)
				left -= div_s64(ns, SLOT_NS);
			if (ns < 0 || left > 0) {
				e->slots = max_t(s64, left, 0);
				continue;
			}
			if (sends || air.n == ARRAY_SIZE(air.ppdus)) {
				/* An internal collision. */
				draw(e);
				continue;
			}
			link = next_link(node, ac);
			e->active = false;
			if (!link)
				continue;
			air.ppdus[air.n].link = link;
			build(&air.ppdus[air.n], node, ac);
			if (air.ppdus[air.n].frames) {
				air.n++;
				sends = true;
			}
		}
	}
	if (!air.n)
		return;
	for (i = 0; i < air.n; i++) {
		struct ppdu *p = &air.ppdus[i];
		u64 ns = p->duration_ns, end = 0;
		bool rts = !p->group && ns > (u64)rts_us * 1000;

		p->collided = air.n > 1;
		/* RTS and CTS at 6 Mb/s; if the RTS collides, that is all. */
		if (rts && p->collided)
			ns = 52000 + SIFS_NS;
		else if (rts)
			ns += 52000 + SIFS_NS + ACK_NS + SIFS_NS;
		if (!p->group)
			end = SIFS_NS + (p->link->basic ? ACK_NS : BLOCK_ACK_NS);
		longest = max(longest, ns);
		tail = max(tail, end);
	}
	air.busy = true;
	air.busy_since = now;
	hrtimer_start(&air.timer, ktime_add_ns(now, longest + tail), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart air_timer(struct hrtimer *timer)
{
	ktime_t now = ktime_get();
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&air_lock, flags);
	if (air.busy) {
		air.busy = false;
		air.busy_ns += ktime_to_ns(ktime_sub(now, air.busy_since));
		air.idle_since = now;
		for (i = 0; i < air.n; i++)
			if (air.ppdus[i].link)
				settle(&air.ppdus[i]);
		air.n = 0;
		contend();
	} else if (air.waiting) {
		transmit(now);
		if (!air.busy)
			contend();
	}
	spin_unlock_irqrestore(&air_lock, flags);
	return HRTIMER_NORESTART;
}

void air_kick(void)
{
	contend();
}

u64 air_busy_ns(void)
{
	return air.busy_ns;
}

void air_send(struct air_link *link, enum air_ac ac, struct sk_buff *skb)
{
	struct air_queue *q = &link->queue[ac];
	bool first = queue_empty(q);

	air_cb(skb)->tries = 0;
	air_cb(skb)->done = air_cb(skb)->acked = false;
	__skb_queue_tail(&q->fifo, skb);
	if (first) {
		list_add_tail(&q->ready, &link->node->ready[ac]);
		contend();
	}
}

void air_link_add(struct air_link *link, struct air_node *node, const u8 *addr)
{
	int ac;

	memset(link, 0, sizeof(*link));
	link->node = node;
	link->basic = !addr;
	if (addr)
		ether_addr_copy(link->addr, addr);
	for (ac = 0; ac < AIR_ACS; ac++) {
		__skb_queue_head_init(&link->queue[ac].fifo);
		__skb_queue_head_init(&link->queue[ac].window);
		INIT_LIST_HEAD(&link->queue[ac].ready);
	}
	list_add_tail(&link->list, &node->links);
}

static void flush_queue(struct air_link *link, struct sk_buff_head *list, u32 tids)
{
	struct sk_buff *skb, *tmp;

	skb_queue_walk_safe(list, skb, tmp) {
		struct air_cb *cb = air_cb(skb);

		if (!cb->done && !(tids & BIT(min_t(u8, cb->tid, 31))))
			continue;
		__skb_unlink(skb, list);
		if (!cb->done)
			link->node->ops->sent(link->node, cb->cookie, false);
		dev_kfree_skb_any(skb);
	}
}

void air_link_flush(struct air_link *link, u32 tids)
{
	unsigned int i;
	int ac;

	/* What is on the air is lost with it. */
	for (i = 0; i < air.n; i++)
		if (air.ppdus[i].link == link)
			air.ppdus[i].link = NULL;
	for (ac = 0; ac < AIR_ACS; ac++) {
		struct air_queue *q = &link->queue[ac];

		flush_queue(link, &q->window, tids);
		flush_queue(link, &q->fifo, tids);
		if (queue_empty(q))
			list_del_init(&q->ready);
	}
	link->node->ops->settled(link->node);
}

void air_link_remove(struct air_link *link)
{
	air_link_flush(link, ~0);
	list_del(&link->list);
}

void air_node_add(struct air_node *node, const struct air_node_ops *ops)
{
	static bool ready;
	int ac;

	if (!ready) {
		INIT_LIST_HEAD(&air.nodes);
		hrtimer_init(&air.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
		air.timer.function = air_timer;
		prandom_seed_state(&air.rnd, seed);
		ready = true;
	}
	node->ops = ops;
	INIT_LIST_HEAD(&node->links);
	for (ac = 0; ac < AIR_ACS; ac++) {
		INIT_LIST_HEAD(&node->ready[ac]);
		node->edca[ac].active = false;
		node->edca[ac].cw = edca_params[ac].cw_min;
	}
	list_add_tail(&node->list, &air.nodes);
}

void air_node_remove(struct air_node *node)
{
	list_del(&node->list);
	contend();
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* Whose turn it is. A QP that may send now stands in the list of its priority; one that may send
 * later, because of its rate, in a heap. The order within a list is that of becoming ready, and at
 * one instant that of the heap: none of it depends on when the world asks. */

void hca_sched_heaps_changed(struct hca_device *dev)
{
	ps_t paced_at = hca_heap_first_at(&dev->paced);
	ps_t timer_at = hca_heap_first_at(&dev->timers);

	dev->agenda.wake_at = paced_at < timer_at ? paced_at : timer_at;
}

static inline void sched_leave(struct hca_turn *turn)
{
	struct hca_device *dev = turn->qp->dev;

	if (turn->state == HCA_TURN_PACED) {
		hca_heap_remove(&dev->paced, &turn->alarm);
		hca_sched_heaps_changed(dev);
	} else if (turn->state == HCA_TURN_READY) {
		const struct hca_list *lists = dev->ready[turn->priority];

		hca_list_remove(&turn->node);
		if (hca_list_is_empty(&lists[0]) && hca_list_is_empty(&lists[1]))
			dev->agenda.ready &= ~(1u << turn->priority);
	}
	turn->state = HCA_TURN_IDLE;
}

static void sched_join(struct hca_turn *turn)
{
	hca_list_add_tail(turn->list, &turn->node);
	turn->qp->dev->agenda.ready |= 1u << turn->priority;
	turn->state = HCA_TURN_READY;
}

void hca_sched_move(struct hca_turn *turn, ps_t at, ps_t now)
{
	struct hca_device *dev = turn->qp->dev;

	/* From one place in the heap to another it goes without leaving it. */
	if (turn->state == HCA_TURN_READY || at <= now || at == PS_NEVER)
		sched_leave(turn);
	if (at <= now) {
		sched_join(turn);
	} else if (at != PS_NEVER) {
		if (turn->state != HCA_TURN_PACED)
			turn->alarm = (struct hca_alarm){.qpn = turn->qp->qpn};
		turn->state = HCA_TURN_PACED;
		hca_heap_set(&dev->paced, &turn->alarm, at);
		hca_sched_heaps_changed(dev);
	}
}

/* Behind the others of its list. */
static void rotate(struct hca_list *list, struct hca_turn *turn)
{
	if (list->prev == &turn->node)
		return;
	hca_list_remove(&turn->node);
	hca_list_add_tail(list, &turn->node);
}

__attribute__((cold)) void hca_sched_measure(struct hca_device *dev, const struct wire_pkt *pkt)
{
	const struct hca_framing *framing = &dev->profile.framing;

	if (hca_framing_is_set(framing)) /* less than nothing, perhaps: the sum wraps back */
		dev->wire_overhead =
			hca_framing_bytes(framing, pkt) - (uint32_t)wire_pkt_bytes(pkt);
}

/* The gap that follows the packet that starts now; the packet's own bytes can raise the rate only
 * for the next one. */
void hca_sched_pace(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	const struct hca_profile *profile = &qp->dev->profile;
	uint32_t bytes = (uint32_t)wire_pkt_bytes(pkt) + qp->dev->wire_overhead;

	profile->cc->advance(&qp->cc, &profile->cc_params, now);
	if (qp->gap_bytes != bytes || qp->gap_rate_bps != qp->cc.rate_bps) {
		/* At most (4 KiB + headers) * 8 * 10^12 = 4 * 10^16: no 128 bits needed. */
		qp->gap = ((uint64_t)bytes * 8 * PS_S + qp->cc.rate_bps - 1) / qp->cc.rate_bps;
		qp->gap_bytes = bytes;
		qp->gap_rate_bps = qp->cc.rate_bps;
	}
	qp->next_start = now + qp->gap;
	profile->cc->on_sent(&qp->cc, &profile->cc_params, bytes, now);
}

/* Alarms of both heaps in the order of their times; a timer goes before a start. */
void hca_sched_wake(struct hca_device *dev, ps_t now)
{
	while (dev->agenda.wake_at <= now) {
		if (hca_heap_first_at(&dev->timers) == dev->agenda.wake_at) {
			struct hca_alarm *alarm = dev->timers.entries[1].alarm;
			struct hca_qp *qp = container_of(alarm, struct hca_qp, timer);

			if (__builtin_expect(!hca_alarm_is_qp(alarm), false)) {
				hca_cq_alarm(dev, alarm, now);
				continue;
			}
			if (qp->sq.timer_at > alarm->at && qp->sq.timer_at != PS_NEVER) {
				hca_heap_set(&dev->timers, alarm, qp->sq.timer_at);
				hca_sched_heaps_changed(dev);
				continue;
			}
			hca_heap_remove(&dev->timers, alarm);
			hca_sched_heaps_changed(dev);
			if (qp->sq.timer_at != PS_NEVER)
				hca_timer_fire(qp, now);
		} else {
			struct hca_alarm *alarm = dev->paced.entries[1].alarm;
			struct hca_turn *turn = container_of(alarm, struct hca_turn, alarm);

			sched_leave(turn);
			sched_join(turn);
		}
	}
}

static inline __attribute__((always_inline)) bool
turn_output(struct hca_turn *turn, struct wire_pkt *pkt, struct hca_tx *tx, bool is_ahead, ps_t now)
{
	struct hca_qp *qp = turn->qp;

	switch ((enum hca_turn_kind)turn->kind) {
	case HCA_TURN_REQUEST:
		return is_ahead ? hca_requester_output_ahead(qp, pkt, tx, now)
				: hca_requester_output(qp, pkt, tx, now);
	case HCA_TURN_RESPONSE:
		return is_ahead ? hca_responder_output_ahead(qp, pkt, tx, now)
				: hca_responder_output(qp, pkt, tx, now);
	case HCA_TURN_CNP:
		hca_cnp_output(qp, pkt, tx);
		hca_sched_set(turn, PS_NEVER, now);
		return true;
	case HCA_TURN_UNRELIABLE:
		break;
	}
	return hca_unreliable_output(qp, pkt, tx, now);
}

/* The turn that has a packet, which is @pkt; NULL: none has. */
static inline __attribute__((always_inline)) const struct hca_turn *
next_packet(struct hca_device *dev, uint32_t priorities, struct wire_pkt *pkt,
	    struct hca_tx *ret_tx, bool is_ahead, ps_t now)
{
	uint8_t *payload = pkt->payload;
	uint32_t mask;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	while ((mask = dev->agenda.ready & priorities) != 0) {
		struct hca_list *lists = dev->ready[31 - __builtin_clz(mask)];
		struct hca_list *list = &lists[!hca_list_is_empty(&lists[1])];
		struct hca_turn *turn = container_of(list->next, struct hca_turn, node);

		rotate(list, turn);
		pkt->payload = payload;
		if (turn_output(turn, pkt, ret_tx, is_ahead, now)) {
			ret_tx->path = &turn->qp->path;
			ret_tx->priority = turn->priority;
			return turn;
		}
	}
	return NULL;
}

const struct wire_path *hca_output_path(struct hca_device *dev, uint32_t priorities,
					struct hca_qp **ret_qp, uint32_t *ret_qpn, ps_t now)
{
	const struct hca_list *lists, *list;
	struct hca_qp *qp;
	uint32_t mask;

	hca_advance(dev, now);
	mask = dev->agenda.ready & priorities;
	if (mask == 0)
		return NULL;
	lists = dev->ready[31 - __builtin_clz(mask)];
	list = &lists[!hca_list_is_empty(&lists[1])];
	qp = container_of(list->next, struct hca_turn, node)->qp;
	if (qp->type == HCA_QPT_UD || qp->type == HCA_QPT_RAW_PACKET)
		return NULL;
	*ret_qp = qp;
	*ret_qpn = qp->dest_qpn;
	return &qp->path;
}

void hca_qp_widen(struct hca_qp *qp, uint32_t packets)
{
	if (packets > qp->sq.window && !qp->dev->selective && !qp->dev->takes_rtt)
		qp->sq.window = packets;
}

bool hca_output(struct hca_device *dev, uint32_t priorities, struct wire_pkt *pkt,
		struct hca_tx *ret_tx, ps_t now)
{
	if (!next_packet(dev, priorities, pkt, ret_tx, false, now))
		return false;
	dev->counters.tx_packets++;
	dev->counters.tx_bytes += pkt->length;
	return true;
}

bool hca_dma_output(struct hca_device *dev, uint32_t priorities, struct wire_pkt *pkt,
		    struct hca_tx *ret_tx, struct hca_dma_ticket *ret_ticket, ps_t now)
{
	const struct hca_turn *turn;

	CHECK(dev->dma != NULL);
	ret_ticket->sequence = ++dev->dma_sequence;
	ret_ticket->again = ret_ticket->is_end = ret_ticket->is_timed = false;
	dev->ticket = ret_ticket;
	turn = next_packet(dev, priorities, pkt, ret_tx, true, now);
	dev->ticket = NULL;
	if (!turn)
		return false;
	ret_ticket->qp = turn->qp;
	ret_ticket->qpn = turn->qp->qpn;
	ret_ticket->length = pkt->length;
	ret_ticket->kind = turn->kind;
	return true;
}

void hca_advance(struct hca_device *dev, ps_t now)
{
	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
}

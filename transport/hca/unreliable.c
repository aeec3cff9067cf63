/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* Queue pairs without acknowledgements. Of their send queues: a packet that has been sent is done
 * with, so that the oldest PSN without an answer is always the next one, and a work request is
 * complete when its last packet is on its way. Their receive queues: uc.c, ud.c. */

/* IBTA 10.3.1.6: the send queue stops and is flushed, the receive queue goes on. */
void hca_unreliable_fail(struct hca_qp *qp, enum hca_wc_status status, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	sq->exceptions = 0;
	hca_requester_complete(qp, &sq->ring[sq->una++ & sq->mask], status, now);
	hca_qp_set_state(qp, HCA_QPS_SQE);
	hca_qp_flush_send(qp, now);
	hca_requester_update(qp, now);
}

/* A datagram that is too long is none, and is done when all before it are. */
static void retire_silent(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	while (sq->paths && sq->una != sq->next && sq->ring[sq->una & sq->mask].length > qp->mtu) {
		sq->una_psn = wire_psn_add(sq->una_psn, 1);
		hca_requester_complete(qp, &sq->ring[sq->una++ & sq->mask], HCA_WC_SUCCESS, now);
	}
}

/* With a memory side the bytes may still have to be read: what is decided now is done when it
 * starts on the wire. */
static __attribute__((cold)) void decide(struct hca_qp *qp, bool is_end, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	qp->dev->ticket->psn = sq->next_psn;
	qp->dev->ticket->is_end = is_end;
	sq->next_psn = sq->high_psn = wire_psn_add(sq->next_psn, 1);
	sq->next += is_end;
	if (is_end && sq->paths)
		hca_ud_look_at_head(qp, now);
	retire_silent(qp, now);
}

void hca_unreliable_started(struct hca_qp *qp, const struct hca_dma_ticket *ticket, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	sq->una_psn = wire_psn_add(ticket->psn, 1);
	if (ticket->is_end)
		hca_requester_complete(qp, &sq->ring[sq->una++ & sq->mask], HCA_WC_SUCCESS, now);
	retire_silent(qp, now);
	hca_requester_update(qp, now);
}

/* A PSN is done with; @is_end: and the WQE with it. */
static void unreliable_advance(struct hca_qp *qp, const struct hca_wqe *wqe, bool is_end, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (qp->dev->ticket) {
		decide(qp, is_end, now);
		return;
	}
	sq->next_psn = wire_psn_add(sq->next_psn, 1);
	sq->una_psn = sq->high_psn = sq->next_psn;
	if (!is_end)
		return;
	sq->next++;
	sq->una++;
	if (sq->paths)
		hca_ud_look_at_head(qp, now);
	hca_requester_complete(qp, wqe, HCA_WC_SUCCESS, now);
}

static bool unreliable_fill(struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done,
			    struct wire_pkt *pkt)
{
	uint32_t length;

	if (qp->sq.paths)
		return hca_ud_fill(qp, wqe, pkt);
	length = hca_requester_fill(qp, wqe, done, pkt);
	pkt->opcode |= WIRE_UC;
	return hca_gather_apart(qp, wqe, done, length, pkt);
}

bool hca_unreliable_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	const struct hca_wqe *wqe = &sq->ring[sq->next & sq->mask];
	const uint32_t done = ((sq->next_psn - wqe->first_psn) & WIRE_U24_MAX) * qp->mtu;

	CHECK(sq->next != sq->tail);
	CHECK(sq->una == sq->next || qp->dev->ticket);
	/* IBTA C10-93.1.1: no packet, and no error. */
	if (sq->paths && wqe->length > qp->mtu) {
		unreliable_advance(qp, wqe, true, now);
		hca_requester_update(qp, now);
		hca_sched_wake(qp->dev, now); /* the next one may have another priority */
		return false;
	}
	if (!unreliable_fill(qp, wqe, done, pkt)) {
		sq->exceptions = HCA_SQ_FAILED; /* when all before it is done */
		sq->failed_status = HCA_WC_LOC_PROT_ERR;
		hca_requester_update(qp, now);
		return false;
	}
	/* Datagrams go to many, and no rate is kept for each. */
	tx->ecn = WIRE_NOT_ECT;
	if (!sq->paths)
		hca_requester_paced(qp, pkt, tx, now);
	unreliable_advance(qp, wqe, wqe->length - done <= qp->mtu, now);
	hca_requester_update(qp, now);
	return true;
}

static bool unreliable_is_of(const struct hca_qp *qp, const struct wire_pkt *pkt,
			     const struct wire_op *op)
{
	const uint8_t class = pkt->opcode & 0xe0;

	if (qp->type == HCA_QPT_UC)
		return class == WIRE_UC || op->cnp;
	return qp->type == HCA_QPT_UD && class == WIRE_UD && pkt->has_rare;
}

void hca_unreliable_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			  struct hca_rx rx, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;

	if (!hca_pkt_is_sound(pkt, op) || !unreliable_is_of(qp, pkt, op)) {
		counters->rx_dropped++;
		return;
	}
	if (qp->state < HCA_QPS_RTR || qp->state == HCA_QPS_ERR) {
		counters->rx_wrong_state++;
		return;
	}
	if (qp->type == HCA_QPT_UD) {
		counters->np_ecn_marked_roce_packets += rx.ecn == WIRE_CE;
		hca_ud_input(qp, pkt, op, rx.path, now);
		return;
	}
	if (op->cnp) {
		hca_cnp_on_cnp(qp, now);
		return;
	}
	if (rx.ecn == WIRE_CE)
		hca_cnp_on_ce_apart(qp, now);
	hca_uc_input(qp, pkt, op, now);
}

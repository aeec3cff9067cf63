/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "transport/hca/run.h"

#include <string.h>

/* From the send queue to request packets. A packet is a function of its WQE and its PSN, so going
 * back is nothing but an older PSN. */

/* Rows: enum hca_wr_opcode; columns: middle, first, last, only. */
static const uint8_t opcodes[][4] = {
	[HCA_WR_RDMA_WRITE] = {WIRE_WRITE_MIDDLE, WIRE_WRITE_FIRST, WIRE_WRITE_LAST,
			       WIRE_WRITE_ONLY},
	[HCA_WR_RDMA_WRITE_WITH_IMM] = {WIRE_WRITE_MIDDLE, WIRE_WRITE_FIRST, WIRE_WRITE_LAST_IMM,
					WIRE_WRITE_ONLY_IMM},
	[HCA_WR_SEND] = {WIRE_SEND_MIDDLE, WIRE_SEND_FIRST, WIRE_SEND_LAST, WIRE_SEND_ONLY},
	[HCA_WR_SEND_WITH_IMM] = {WIRE_SEND_MIDDLE, WIRE_SEND_FIRST, WIRE_SEND_LAST_IMM,
				  WIRE_SEND_ONLY_IMM},
	[HCA_WR_SEND_WITH_INV] = {WIRE_SEND_MIDDLE, WIRE_SEND_FIRST, WIRE_SEND_LAST_INV,
				  WIRE_SEND_ONLY_INV},
};

static const enum hca_wc_opcode wc_opcodes[] = {
	[HCA_WR_RDMA_WRITE] = HCA_WC_RDMA_WRITE,
	[HCA_WR_RDMA_WRITE_WITH_IMM] = HCA_WC_RDMA_WRITE,
	[HCA_WR_SEND] = HCA_WC_SEND,
	[HCA_WR_SEND_WITH_IMM] = HCA_WC_SEND,
	[HCA_WR_RDMA_READ] = HCA_WC_RDMA_READ,
	[HCA_WR_ATOMIC_CMP_AND_SWP] = HCA_WC_COMP_SWAP,
	[HCA_WR_ATOMIC_FETCH_AND_ADD] = HCA_WC_FETCH_ADD,
	[HCA_WR_LOCAL_INV] = HCA_WC_LOCAL_INV,
	[HCA_WR_BIND_MW] = HCA_WC_BIND_MW,
	[HCA_WR_SEND_WITH_INV] = HCA_WC_SEND,
	[HCA_WR_FLUSH] = HCA_WC_FLUSH,
	[HCA_WR_ATOMIC_WRITE] = HCA_WC_ATOMIC_WRITE,
};

static struct hca_wqe *next_wqe(const struct hca_qp *qp)
{
	return &qp->sq.ring[qp->sq.next & qp->sq.mask];
}

/* Whether a WQE that has to be looked at may start. */
static bool held_may_start(const struct hca_qp *qp, const struct hca_wqe *wqe)
{
	const struct hca_sq *sq = &qp->sq;
	uint32_t outstanding = (uint32_t)wire_psn_diff(sq->next_psn, sq->una_psn);

	if (wqe->flags & HCA_SEND_FENCE && sq->rd_count > 0)
		return false;
	if (wqe->packets == 0)
		return sq->una == sq->next;
	if (!wqe->answered)
		return true;
	if (sq->rd_max == 0) /* it would wait for ever: its turn comes, and it fails */
		return true;
	/* All PSNs of the responses are outstanding at once: keep them comparable. */
	return sq->rd_count < sq->rd_max && outstanding + wqe->packets < 1u << 23;
}

/* SQD: what was begun goes on, nothing new begins. */
static bool sqd_may_send(const struct hca_qp *qp)
{
	const struct hca_sq *sq = &qp->sq;

	return sq->next_psn != next_wqe(qp)->first_psn ||
	       wire_psn_diff(sq->next_psn, sq->high_psn) < 0;
}

static inline bool may_send(const struct hca_qp *qp)
{
	const struct hca_sq *sq = &qp->sq;
	const struct hca_wqe *wqe;

	if (sq->next == sq->known || sq->rnr_wait || sq->exceptions)
		return false;
	if ((uint32_t)wire_psn_diff(sq->next_psn, sq->una_psn) >= sq->window)
		return false;
	if (qp->state != HCA_QPS_RTS && (qp->state != HCA_QPS_SQD || !sqd_may_send(qp)))
		return false;
	wqe = next_wqe(qp);
	return !wqe->held || (sq->next_psn != wqe->first_psn && !wqe->answered) ||
	       held_may_start(qp, wqe);
}

static __attribute__((noinline)) void tell(struct hca_qp *qp, const struct hca_wc *wc,
					   bool is_signaled, ps_t now)
{
	struct hca_watcher *watcher = qp->dev->watcher;

	if (watcher)
		watcher->on_end(watcher, qp->qpn, wc->status, now);
	if (is_signaled || qp->signal_all || wc->status != HCA_WC_SUCCESS)
		hca_cq_push(qp->send_cq, wc, false, now);
}

__attribute__((noinline, cold)) void hca_sent_again(struct hca_qp *qp, uint32_t psn, bool is_answer)
{
	struct hca_watcher *watcher = qp->dev->watcher;
	const struct hca_again again = {.qpn = qp->qpn,
					.psn = psn,
					.is_answer = is_answer,
					.dest_qpn = qp->dest_qpn,
					.path = &qp->path};

	qp->dev->counters.packets_retransmitted++;
	qp->sq.retransmitted++;
	if (watcher)
		watcher->on_again(watcher, &again);
}

__attribute__((noinline, cold)) void hca_count_again(struct hca_qp *qp, uint32_t psn,
						     bool is_answer)
{
	if (!qp->dev->ticket) {
		hca_sent_again(qp, psn, is_answer);
		return;
	}
	qp->dev->ticket->again = true;
	qp->dev->ticket->again_psn = psn;
}

void hca_requester_complete(struct hca_qp *qp, const struct hca_wqe *wqe, enum hca_wc_status status,
			    ps_t now)
{
	struct hca_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wc_opcodes[wqe->opcode],
		.byte_len = wqe->answered && status == HCA_WC_SUCCESS ? wqe->length : 0,
		.qpn = qp->qpn,
		.src_qpn = qp->dest_qpn,
		.ended = qp->sq.una,
	};

	if (status == HCA_WC_SUCCESS && !(wqe->flags & HCA_SEND_SIGNALED) && !qp->tells_all)
		return;
	if (status != HCA_WC_SUCCESS)
		qp->dev->counters.req_cqe_error++;
	tell(qp, &wc, wqe->flags & HCA_SEND_SIGNALED, now);
}

void hca_qp_flush_send(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	/* The counters first: whoever sees the completion sees the place free. */
	while (sq->una != sq->tail) {
		const struct hca_wqe *wqe = &sq->ring[sq->una++ & sq->mask];

		hca_requester_complete(qp, wqe, HCA_WC_WR_FLUSH_ERR, now);
	}
	sq->next = sq->known = sq->una;
	sq->next_psn = sq->una_psn = sq->high_psn = sq->end_psn;
	sq->rd_count = 0;
}

void hca_requester_fail(struct hca_qp *qp, enum hca_wc_status status, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	CHECK(sq->una != sq->tail);
	hca_loans_revoke(qp);
	hca_requester_complete(qp, &sq->ring[sq->una++ & sq->mask], status, now);
	hca_qp_fail(qp, now);
}

/* Everything from the oldest unanswered PSN is to be sent again. */
void hca_requester_go_back(struct hca_qp *qp)
{
	struct hca_sq *sq = &qp->sq;

	sq->next = sq->una;
	sq->next_psn = sq->una_psn;
	sq->rd_count = 0;
	sq->since_ack = 0;
	sq->timer_at = PS_NEVER;
	sq->exceptions = 0; /* a WQE that fails will be met again */
}

/* What a lost packet makes necessary. A message that begins anew lacks every answer. */
void hca_requester_resend(struct hca_qp *qp)
{
	struct hca_sq *sq = &qp->sq;

	if (qp->dev->restarts)
		sq->una_psn = sq->ring[sq->una & sq->mask].first_psn;
	hca_requester_go_back(qp);
}

static void fail_next(struct hca_qp *qp, enum hca_wc_status status, ps_t now)
{
	if (hca_is_reliable(qp))
		hca_requester_fail(qp, status, now);
	else
		hca_unreliable_fail(qp, status, now);
}

/* Of no packet: all before it is done. */
static void execute_here(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	const struct hca_wqe *wqe = next_wqe(qp);

	if (wqe->opcode == HCA_WR_BIND_MW && !hca_mw_bind(qp, wqe)) {
		fail_next(qp, HCA_WC_MW_BIND_ERR, now);
		return;
	}
	if (wqe->opcode == HCA_WR_LOCAL_INV && !hca_invalidate(qp, wqe->word, false)) {
		fail_next(qp, HCA_WC_LOC_QP_OP_ERR, now);
		return;
	}
	sq->next++;
	sq->una++;
	hca_requester_complete(qp, wqe, HCA_WC_SUCCESS, now);
}

static void check_drained(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (!sq->tells_drained || sq->una_psn != sq->high_psn || may_send(qp))
		return;
	sq->tells_drained = false;
	hca_qp_async(qp, HCA_EVENT_SQ_DRAINED, now);
}

static void requester_set_turn(struct hca_qp *qp, bool may, ps_t now)
{
	hca_sched_set(&qp->request_turn, may ? qp->next_start : PS_NEVER, now);
}

static __attribute__((noinline)) void update_rare(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	bool may = may_send(qp);

	while (may && next_wqe(qp)->packets == 0) {
		execute_here(qp, now);
		may = may_send(qp);
	}
	if (sq->exceptions & HCA_SQ_LOST) {
		requester_set_turn(qp, !sq->rnr_wait, now);
		return;
	}
	if (sq->exceptions && sq->una == sq->next) {
		fail_next(qp, sq->failed_status, now);
		return;
	}
	if (qp->state == HCA_QPS_SQD)
		check_drained(qp, now);
	requester_set_turn(qp, may, now);
}

void hca_requester_update(struct hca_qp *qp, ps_t now)
{
	const bool may = may_send(qp);

	if (qp->sq.exceptions || qp->state == HCA_QPS_SQD || (may && next_wqe(qp)->packets == 0))
		update_rare(qp, now);
	else
		requester_set_turn(qp, may, now);
}

static void requester_fill_read(struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t psn,
				uint32_t done, struct wire_pkt *pkt)
{
	hca_pkt_init(pkt, WIRE_READ_REQUEST, qp->dest_qpn, psn);
	pkt->va = wqe->remote_addr + done;
	pkt->rkey = wqe->rkey;
	pkt->dma_length = wqe->length - done;
	if (done)
		qp->sq.resume_psn = psn;
}

static void requester_fill_atomic(struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t psn,
				  struct wire_pkt *pkt)
{
	bool is_swap = wqe->opcode == HCA_WR_ATOMIC_CMP_AND_SWP;

	hca_pkt_init(pkt, is_swap ? WIRE_COMPARE_SWAP : WIRE_FETCH_ADD, qp->dest_qpn, psn);
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	pkt->has_rare = true;
	pkt->rare = (struct wire_rare){
		.swap_add = is_swap ? wqe->swap : wqe->compare_add,
		.compare = is_swap ? wqe->compare_add : 0,
		.pkey = WIRE_PKEY_DEFAULT,
	};
}

/* Annex A19: both are answered as a READ of nothing is. False: local memory refused. */
static __attribute__((noinline, cold)) bool fill_annex(struct hca_qp *qp, const struct hca_wqe *wqe,
						       uint32_t psn, struct wire_pkt *pkt)
{
	const bool is_flush = wqe->opcode == HCA_WR_FLUSH;

	hca_pkt_init(pkt, is_flush ? WIRE_FLUSH : WIRE_ATOMIC_WRITE, qp->dest_qpn, psn);
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	if (is_flush) {
		pkt->dma_length = (uint32_t)wqe->compare_add;
		pkt->word = (uint32_t)wqe->swap;
		return true;
	}
	pkt->dma_length = sizeof(wqe->compare_add);
	if (wqe->sge_count > 0)
		return hca_gather_apart(qp, wqe, 0, pkt->dma_length, pkt);
	pkt->length = sizeof(wqe->compare_add);
	memcpy(pkt->payload, &wqe->compare_add, sizeof(wqe->compare_add));
	return true;
}

/* The headers of a packet of a SEND or WRITE; returns the bytes of its payload. */
static inline __attribute__((always_inline)) uint32_t fill_headers(const struct hca_qp *qp,
								   const struct hca_wqe *wqe,
								   uint32_t psn, uint32_t done,
								   struct wire_pkt *pkt)
{
	uint32_t left = wqe->length - done;
	bool first = psn == wqe->first_psn, last = left <= qp->mtu;

	hca_pkt_init(pkt, opcodes[wqe->opcode][first + 2 * last], qp->dest_qpn, psn);
	if (first && wqe->opcode <= HCA_WR_RDMA_WRITE_WITH_IMM) {
		pkt->va = wqe->remote_addr;
		pkt->rkey = wqe->rkey;
		pkt->dma_length = wqe->length;
	}
	if (last) {
		pkt->word = wqe->word;
		pkt->solicited = (wqe->flags & HCA_SEND_SOLICITED) != 0;
	}
	return last ? left : qp->mtu;
}

__attribute__((cold)) uint32_t hca_requester_fill(const struct hca_qp *qp,
						  const struct hca_wqe *wqe, uint32_t done,
						  struct wire_pkt *pkt)
{
	return fill_headers(qp, wqe, qp->sq.next_psn, done, pkt);
}

/* False: local memory refused. */
static inline __attribute__((always_inline)) bool fill_data(struct hca_qp *qp,
							    const struct hca_wqe *wqe, uint32_t psn,
							    uint32_t done, struct wire_pkt *pkt,
							    bool is_ahead)
{
	const uint32_t length = fill_headers(qp, wqe, psn, done, pkt);

	return is_ahead ? hca_gather_ahead(qp, wqe, done, length, pkt)
			: hca_gather(qp, wqe, done, length, pkt);
}

/* False: local memory refused, or READs and atomics are not enabled at all. */
static inline __attribute__((always_inline)) bool fill_pkt(struct hca_qp *qp,
							   const struct hca_wqe *wqe, uint32_t psn,
							   struct wire_pkt *pkt, bool is_ahead)
{
	uint32_t done = ((psn - wqe->first_psn) & WIRE_U24_MAX) * qp->mtu;

	if (!wqe->answered)
		return fill_data(qp, wqe, psn, done, pkt, is_ahead);
	if (qp->sq.rd_max == 0)
		return false;
	if (wqe->opcode == HCA_WR_RDMA_READ)
		requester_fill_read(qp, wqe, psn, done, pkt);
	else if (__builtin_expect(wqe->opcode < HCA_WR_FLUSH, true))
		requester_fill_atomic(qp, wqe, psn, pkt);
	else
		return fill_annex(qp, wqe, psn, pkt);
	return true;
}

/* Who waits for a window must ask for an ACK, or it would wait for the timeout. */
static bool wants_ack(const struct hca_qp *qp, bool is_end)
{
	const struct hca_device *dev = qp->dev;
	const struct hca_sq *sq = &qp->sq;

	return is_end || sq->since_ack + 1 == dev->ack_every ||
	       (uint32_t)wire_psn_diff(sq->next_psn, sq->una_psn) >= sq->window;
}

static inline __attribute__((always_inline)) void
advance_next(struct hca_qp *qp, const struct hca_wqe *wqe, struct wire_pkt *pkt)
{
	struct hca_sq *sq = &qp->sq;
	uint32_t end_psn = wire_psn_add(wqe->first_psn, wqe->packets);

	if (wire_psn_diff(sq->next_psn, sq->high_psn) < 0)
		hca_count_again(qp, sq->next_psn, false);
	sq->next_psn = wqe->answered ? end_psn : wire_psn_add(sq->next_psn, 1);
	if (wire_psn_diff(sq->next_psn, sq->high_psn) > 0)
		sq->high_psn = sq->next_psn;
	pkt->ack_req = wants_ack(qp, sq->next_psn == end_psn);
	sq->since_ack = pkt->ack_req ? 0 : sq->since_ack + 1;
	if (sq->next_psn == end_psn)
		sq->next++;
}

static inline void paced(struct hca_qp *qp, const struct wire_pkt *pkt, struct hca_tx *tx, ps_t now)
{
	tx->ecn = qp->dev->request_ecn;
	if (qp->cc.active) {
		hca_sched_pace(qp, pkt, now);
		if (hca_has_responder(qp))
			hca_responder_update(qp, now); /* one pace for both */
	}
}

__attribute__((cold)) void hca_requester_paced(struct hca_qp *qp, const struct wire_pkt *pkt,
					       struct hca_tx *tx, ps_t now)
{
	hca_sched_measure(qp->dev, pkt);
	paced(qp, pkt, tx, now);
}

/* @pkt, made from @wqe, is as for RC. */
static void make_xrc(const struct hca_wqe *wqe, struct wire_pkt *pkt)
{
	pkt->opcode |= WIRE_XRC;
	if (!pkt->has_rare) {
		pkt->has_rare = true;
		pkt->rare = (struct wire_rare){.pkey = WIRE_PKEY_DEFAULT};
	}
	pkt->rare.xrc_srqn = wqe->srqn;
}

/* @pkt is on its way, and somebody wants to know. */
static __attribute__((noinline, cold)) void look_closer(struct hca_qp *qp,
							const struct hca_wqe *wqe,
							struct wire_pkt *pkt, bool is_new, ps_t now)
{
	if (qp->type == HCA_QPT_XRC_SEND)
		make_xrc(wqe, pkt);
	if (qp->dev->selective)
		hca_recover_sent(qp, wqe, pkt->psn, pkt);
	if (qp->dev->takes_rtt)
		hca_rtt_sent(qp, pkt, is_new, now);
	hca_sched_measure(qp->dev, pkt);
}

/* @is_ahead: the packet is only decided, and the timer counts from its start on the wire. */
static inline __attribute__((always_inline)) bool output(struct hca_qp *qp, struct wire_pkt *pkt,
							 struct hca_tx *tx, bool is_ahead, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	const struct hca_wqe *wqe = next_wqe(qp);
	const bool again = sq->exceptions;
	const uint32_t high_psn = sq->high_psn;
	uint32_t psn = sq->next_psn;

	if (again)
		wqe = hca_recover_next(qp, &psn);
	else
		CHECK(sq->next != sq->tail);
	if (!fill_pkt(qp, wqe, psn, pkt, is_ahead)) {
		sq->failed_status = wqe->answered && sq->rd_max == 0 ? HCA_WC_LOC_QP_OP_ERR
								     : HCA_WC_LOC_PROT_ERR;
		if (again) {
			hca_requester_fail(qp, sq->failed_status, now);
			return false;
		}
		sq->exceptions = HCA_SQ_FAILED;
		hca_requester_update(qp, now);
		return false;
	}
	if (again) {
		hca_recover_again(qp, wqe, pkt);
	} else {
		sq->rd_count += wqe->answered;
		advance_next(qp, wqe, pkt);
	}
	if (__builtin_expect(qp->dev->full_path, false))
		look_closer(qp, wqe, pkt, wire_psn_diff(psn, high_psn) >= 0, now);
	if (is_ahead) /* of one that was lost: nothing new */
		qp->dev->ticket->end_psn = again ? psn : sq->next_psn;
	paced(qp, pkt, tx, now);
	if (!is_ahead && sq->timer_at == PS_NEVER && sq->timeout != PS_NEVER)
		hca_timer_set(qp, now + sq->timeout);
	hca_requester_update(qp, now);
	return true;
}

bool hca_requester_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now)
{
	return output(qp, pkt, tx, false, now);
}

bool hca_requester_output_ahead(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx,
				ps_t now)
{
	return output(qp, pkt, tx, true, now);
}

/* Whether the packets behind @pkt, which @qp has just made, are as one would expect. */
static bool may_run(const struct hca_qp *qp, const struct wire_pkt *pkt)
{
	const struct hca_device *dev = qp->dev;
	const struct hca_sq *sq = &qp->sq;

	return hca_has_runs(pkt->opcode) && !pkt->synthetic && qp->type == HCA_QPT_RC &&
	       qp->state == HCA_QPS_RTS && !qp->cc.active && !dev->full_path && !dev->dma &&
	       !dev->restarts && !sq->exceptions && next_wqe(qp)->sge_count == 1 &&
	       !next_wqe(qp)->inline_bytes;
}

uint32_t hca_output_run(struct hca_qp *qp, struct wire_pkt *pkt, uint32_t room, ps_t now)
{
	struct hca_device *dev = qp->dev;
	struct hca_sq *sq = &qp->sq;
	uint32_t packets = 1, most = pkt->apart ? HCA_RUN_MAX : room / qp->mtu;
	uint32_t done, more;
	const struct hca_local_sge *sge;
	const struct hca_wqe *wqe;
	struct hca_mr *mr;

	if (most > HCA_RUN_MAX)
		most = HCA_RUN_MAX;
	if (most < 2 || !may_run(qp, pkt))
		return 1;
	wqe = next_wqe(qp);
	sge = wqe->sge;
	done = ((sq->next_psn - wqe->first_psn) & WIRE_U24_MAX) * qp->mtu;
	while (packets < most && done + packets * qp->mtu < wqe->length &&
	       (uint32_t)wire_psn_diff(sq->next_psn, sq->una_psn) + packets <= sq->window)
		packets++;
	more = (packets - 1) * qp->mtu;
	if (more == 0)
		return 1;
	mr = hca_mr_at(dev, sge->slot, qp->pd, sge->lkey, sge->addr + done, more,
		       HCA_ACCESS_LOCAL_READ);
	if (!mr || (!pkt->apart && !mr->ops->read(mr, sge->addr + done - mr->iova,
						  pkt->payload + pkt->length, more)))
		return 1;
	for (uint32_t i = 1; i < packets; i++) {
		const bool ack_req = pkt->ack_req;

		advance_next(qp, wqe, pkt);
		pkt->ack_req |= ack_req;
	}
	pkt->length = (uint16_t)(pkt->length + more);
	dev->counters.tx_packets += packets - 1;
	dev->counters.tx_bytes += more;
	hca_requester_update(qp, now);
	return packets;
}

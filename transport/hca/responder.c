/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "transport/hca/request.h"
#include "transport/hca/run.h"
#include "transport/hca/shared.h"

/* Requests: classified by a pure function, in the order of IBTA 9.7.4.1 (PSN, sequence of opcodes,
 * opcode, resources, length, rkey), then executed and acknowledged. */

enum verdict {
	RX_NEXT,
	RX_DUPLICATE,
	RX_GAP,
	RX_INVALID,   /* opcode, its place, its rights; more READs than agreed */
	RX_NOT_READY, /* no receive is posted */
	RX_LENGTH,    /* against the MTU or the message */
	RX_TOO_LONG,  /* for the receive */
	RX_ACCESS,    /* rkey, bounds or rights of the memory */
};

/* The place of the opcode in its message, and whether this QP executes it. */
static bool opcode_is_valid(const struct hca_qp *qp, const struct wire_pkt *pkt,
			    const struct wire_op *op)
{
	const struct hca_rq *rq = &qp->rq;
	uint32_t right = right_of(op);

	if (op->start == rq->in_message || (rq->in_message && op->send != rq->is_send))
		return false;
	if (!op->send && !right)
		return false; /* FLUSH, ATOMIC WRITE: annex_request() looks at them again */
	if ((qp->access & right) != right)
		return false;
	if (op->atomic)
		return pkt->has_rare && pkt->va % ATOMIC_BYTES == 0;
	return true;
}

/* READs and atomics: whether one more can be remembered. */
static bool resource_is_free(const struct hca_rq *rq)
{
	const struct hca_resource *oldest;

	if (rq->res_max == 0)
		return false;
	oldest = &rq->resources[(rq->res_next - rq->res_max) & rq->res_mask];
	/* The peer waits for more answers than it may; an answer given again is none of them. */
	return !oldest->pending || oldest->replay;
}

static bool starves(struct hca_device *dev)
{
	if (__builtin_expect(dev->starve_count == 0, true))
		return false;
	if (dev->starve_count & HCA_STORM)
		return true;
	if (dev->starve_after > 0) {
		dev->starve_after--;
		return false;
	}
	dev->starve_count--;
	return true;
}

static enum verdict responder_classify(const struct hca_qp *qp, const struct wire_pkt *pkt,
				       const struct wire_op *op, struct hca_mr **ret_mr)
{
	const struct hca_rq *rq = &qp->rq;
	int32_t ahead = wire_psn_diff(pkt->psn, rq->expected_psn);

	if (ahead != 0)
		return ahead > 0 ? RX_GAP : RX_DUPLICATE;
	if (!opcode_is_valid(qp, pkt, op))
		return RX_INVALID;
	if (needs_receive(rq, op) && (rq->head == rq->tail || starves(qp->dev)))
		return RX_NOT_READY;
	if ((op->read || op->atomic) && !resource_is_free(rq))
		return RX_INVALID;
	if (!length_is_valid(qp, pkt, op))
		return RX_LENGTH;
	if (op->send && !fits_receive(rq, pkt, op))
		return RX_TOO_LONG;
	if (touches_memory(pkt, op)) {
		*ret_mr = find_region(qp, pkt, op);
		if (__builtin_expect(!*ret_mr, false)) {
			*ret_mr = find_window(qp, pkt, op);
			if (!*ret_mr)
				return RX_ACCESS;
		}
	}
	return RX_NEXT;
}

void hca_responder_update(struct hca_qp *qp, ps_t now)
{
	const struct hca_rq *rq = &qp->rq;
	struct hca_turn *turn = &qp->response_turn;

	if (rq->ack_due && rq->res_pending == 0)
		hca_sched_set(turn, now, now);
	else if (rq->ack_due || rq->res_pending > 0)
		hca_sched_set(turn, hca_responder_next_at(qp), now);
	else
		hca_sched_set(turn, PS_NEVER, now);
}

/* An answer after everything that is waiting: a later one of the same kind stands for both. */
static void responder_answer(struct hca_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct hca_rq *rq = &qp->rq;

	rq->ack_due = true;
	rq->ack_syndrome = syndrome;
	rq->ack_psn = psn;
	rq->ack_msn = rq->msn;
}

static void answer_nak(struct hca_qp *qp, uint8_t syndrome)
{
	responder_answer(qp, syndrome, qp->rq.expected_psn);
	qp->rq.nak_state = true;
}

/* A sequence NAK still to be sent asks for more than the ACK of what came meanwhile tells; an RNR
 * NAK does while its message is still missing, and whoever has no timeout needs it. */
static void answer_ack(struct hca_qp *qp, uint32_t psn)
{
	const struct hca_rq *rq = &qp->rq;
	const bool is_rnr = (rq->ack_syndrome & WIRE_SYN_TYPE_MASK) == WIRE_SYN_RNR;

	if (rq->ack_due && (rq->ack_syndrome == WIRE_NAK_PSN_SEQ || (is_rnr && rq->nak_state)))
		responder_answer(qp, rq->ack_syndrome, rq->expected_psn);
	else
		responder_answer(qp, WIRE_SYN_ACK_UNLIMITED, psn);
}

void hca_responder_complete(struct hca_qp *qp, enum hca_wc_status status,
			    const struct wire_pkt *pkt, const struct wire_op *op, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	const struct hca_rwqe *wqe = &rq->ring[rq->head++ & rq->mask];
	struct hca_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = HCA_WC_RECV,
		.qpn = qp->qpn,
		.src_qpn = qp->dest_qpn,
	};

	rq->wqe_taken = false;
	if (status != HCA_WC_SUCCESS) {
		qp->dev->counters.resp_cqe_error++;
		hca_cq_push(qp->recv_cq, &wc, false, now);
		return;
	}
	if (op->write)
		wc.opcode = HCA_WC_RECV_RDMA_WITH_IMM;
	wc.byte_len = rq->placed;
	if (op->imm) {
		wc.flags = HCA_WC_WITH_IMM;
		wc.imm = hca_swap_imm(pkt->word);
	} else if (op->ieth) {
		wc.flags = HCA_WC_WITH_INV;
		wc.imm = pkt->word;
	}
	hca_cq_push(qp->recv_cq, &wc, pkt->solicited, now);
}

void hca_qp_flush_recv(struct hca_qp *qp, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	while (rq->head != rq->tail)
		hca_responder_complete(qp, HCA_WC_WR_FLUSH_ERR, NULL, NULL, now);
}

/* IBTA 11.6.3.2: what a responder without a receive at hand tells its consumer. */
static int event_of(uint8_t syndrome)
{
	if (syndrome == WIRE_NAK_REMOTE_ACCESS)
		return HCA_EVENT_QP_ACCESS_ERR;
	return syndrome == WIRE_NAK_REMOTE_OPERATION ? HCA_EVENT_QP_FATAL : HCA_EVENT_QP_REQ_ERR;
}

enum hca_wc_status hca_responder_status(const struct hca_qp *qp, uint8_t syndrome,
					enum hca_wc_status status)
{
	if (qp->dev->profile.statuses != HCA_STATUSES_RXE)
		return status;
	if (syndrome == WIRE_NAK_REMOTE_OPERATION)
		return HCA_WC_LOC_QP_OP_ERR;
	return syndrome == WIRE_NAK_REMOTE_ACCESS ? HCA_WC_REM_ACCESS_ERR : HCA_WC_REM_INV_REQ_ERR;
}

/* The request is refused for good: who asked hears it, the receive at hand fails, all else is
 * flushed. */
void hca_responder_fail(struct hca_qp *qp, uint8_t syndrome, enum hca_wc_status status, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	answer_nak(qp, syndrome);
	rq->ack_fatal = true;
	if (rq->wqe_taken)
		hca_responder_complete(qp, hca_responder_status(qp, syndrome, status), NULL, NULL,
				       now);
	else
		hca_qp_async(qp, event_of(syndrome), now);
	hca_qp_fail(qp, now);
}

static void remember(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     uint64_t original)
{
	struct hca_rq *rq = &qp->rq;
	struct hca_resource *res = &rq->resources[rq->res_next & rq->res_mask];
	struct hca_resource *oldest = &rq->resources[(rq->res_next - rq->res_max) & rq->res_mask];
	uint32_t packets = op->atomic ? 1 : packets_of(qp, pkt->dma_length);

	if (oldest->pending)
		hca_responder_answered(rq, oldest);
	*res = (struct hca_resource){
		.va = pkt->va,
		.original = original,
		.rkey = pkt->rkey,
		.slot = hca_mr_slot_of(qp->dev, pkt->rkey),
		.length = op->atomic ? 0 : pkt->dma_length,
		.first_psn = pkt->psn,
		.packets = packets,
		.msn = wire_psn_add(rq->msn, 1),
		.start_psn = pkt->psn,
		.cursor_psn = pkt->psn,
		.end_psn = wire_psn_add(pkt->psn, packets),
		.stream_end = op->atomic ? 0 : pkt->dma_length,
		.opcode = pkt->opcode,
		.is_atomic = op->atomic,
		.pending = true,
	};
	if (rq->res_pending++ == hca_repair_count(rq))
		rq->res_first = rq->res_next;
	rq->res_next++;
	rq->expected_psn = res->end_psn;
	rq->msn = res->msn;
}

/* The memory of a receive is not as it was said to be, or what was found to be right is gone. */
static __attribute__((noinline, cold)) void fail_here(struct hca_qp *qp, const struct wire_op *op,
						      ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	if (hca_loan_lost(qp->dev)) { /* as if it had not come */
		rq->wqe_taken = rq->wqe_taken && rq->in_message;
		answer_nak(qp, WIRE_NAK_PSN_SEQ);
		return;
	}
	hca_responder_fail(qp, WIRE_NAK_REMOTE_OPERATION,
			   op->send ? HCA_WC_LOC_PROT_ERR : HCA_WC_LOC_ACCESS_ERR, now);
}

static __attribute__((noinline)) void execute_atomic(struct hca_qp *qp, const struct wire_pkt *pkt,
						     const struct wire_op *op, struct hca_mr *mr,
						     ps_t now)
{
	struct hca_device *dev = qp->dev;
	uint64_t offset = pkt->va - mr->iova, original;

	dev->counters.rx_atomic_requests++;
	if (dev->dma) {
		hca_dma_read_word(qp, mr, pkt);
		remember(qp, pkt, op, 0);
		qp->rq.resources[(qp->rq.res_next - 1) & qp->rq.res_mask].awaits = true;
		return;
	}
	if (!mr->ops->atomic(mr, offset, pkt->opcode == WIRE_COMPARE_SWAP, pkt->rare.swap_add,
			     pkt->rare.compare, &original)) {
		fail_here(qp, op, now);
		return;
	}
	dev->observer->on_place(dev->world, mr, offset, ATOMIC_BYTES, true, now);
	remember(qp, pkt, op, original);
}

static bool responder_place_send(struct hca_qp *qp, const struct wire_pkt *pkt,
				 const struct wire_op *op, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	const struct hca_rwqe *wqe = &rq->ring[rq->head & rq->mask];

	rq->wqe_taken = true;
	if (!rq->is_placed &&
	    !hca_scatter(qp, hca_recv_pd(qp), wqe->sge, wqe->sge_count, rq->placed, pkt, now)) {
		fail_here(qp, op, now);
		return false;
	}
	if (op->ieth && !hca_invalidate(qp, pkt->word, true)) {
		hca_responder_fail(qp, WIRE_NAK_REMOTE_ACCESS, HCA_WC_REM_ACCESS_ERR, now);
		return false;
	}
	return true;
}

static void execute(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		    struct hca_mr *mr, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	rq->nak_state = false;
	if (op->atomic) {
		execute_atomic(qp, pkt, op, mr, now);
		return;
	}
	if (op->read) {
		qp->dev->counters.rx_read_requests++;
		remember(qp, pkt, op, 0);
		return;
	}
	if (op->start)
		rq->placed = 0;
	if (op->write) {
		if (!place_write(qp, pkt, op, mr, now)) {
			fail_here(qp, op, now);
			return;
		}
	} else if (!responder_place_send(qp, pkt, op, now)) {
		return;
	}
	rq->placed += pkt->length;
	rq->is_send = op->send;
	rq->in_message = !op->end;
	rq->expected_psn = wire_psn_add(rq->expected_psn, 1);
	if (op->end) {
		rq->msn = wire_psn_add(rq->msn, 1);
		if (rq->wqe_taken)
			hca_responder_complete(qp, HCA_WC_SUCCESS, pkt, op, now);
	}
	if (pkt->ack_req)
		answer_ack(qp, pkt->psn);
}

/* ATOMIC WRITE and FLUSH (IBTA annex A19) are of no family. */
static inline bool is_annex(const struct wire_op *op)
{
	return op->reth && !op->read && !op->write;
}

/* What is wrong with one, in the order of rxe (rxe_resp.c): 0, or the syndrome of its refusal. */
static __attribute__((cold)) uint8_t
annex_syndrome(const struct hca_qp *qp, const struct wire_pkt *pkt, struct hca_mr **ret_mr)
{
	const bool is_write = pkt->opcode == WIRE_ATOMIC_WRITE;
	const uint32_t places = is_write ? 0 : pkt->word & WIRE_FETH_PLACES;
	const bool is_range = is_write || !(pkt->word & WIRE_FETH_REGION);
	const uint32_t length = is_range ? pkt->dma_length : 0;
	const uint32_t rights =
		is_write
			? HCA_ACCESS_REMOTE_WRITE
			: (places & WIRE_FETH_GLOBAL ? HCA_ACCESS_FLUSH_GLOBAL : 0) |
				  (places & WIRE_FETH_PERSISTENT ? HCA_ACCESS_FLUSH_PERSISTENT : 0);

	if (qp->rq.in_message || qp->dev->selective || (qp->access & rights) != rights ||
	    rights == 0 || places > (WIRE_FETH_GLOBAL | WIRE_FETH_PERSISTENT))
		return WIRE_NAK_INVALID_REQUEST;
	if (!resource_is_free(&qp->rq))
		return WIRE_NAK_INVALID_REQUEST;
	if (is_write && (pkt->length != ATOMIC_BYTES || pkt->dma_length != ATOMIC_BYTES))
		return WIRE_NAK_INVALID_REQUEST;
	*ret_mr = hca_mr_find(qp->dev, qp->pd, pkt->rkey, pkt->va, length, rights);
	if (!*ret_mr)
		*ret_mr = hca_mw_at(qp, hca_mr_slot_of(qp->dev, pkt->rkey), pkt->rkey, pkt->va,
				    length, rights);
	if (!*ret_mr)
		return WIRE_NAK_REMOTE_ACCESS;
	return is_write && pkt->va % ATOMIC_BYTES != 0 ? WIRE_NAK_INVALID_REQUEST : 0;
}

/* Both are answered by a READ response of nothing, and again if they are asked for again, without
 * being done again. What was placed before is in memory, which everybody sees: nothing is left for
 * a FLUSH to do. */
static __attribute__((noinline, cold)) void
annex_request(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op, ps_t now)
{
	struct hca_mr *mr = NULL;
	const uint8_t syndrome = annex_syndrome(qp, pkt, &mr);
	struct wire_pkt nothing = *pkt;

	if (syndrome != 0) {
		qp->dev->counters.resp_remote_access_errors += syndrome == WIRE_NAK_REMOTE_ACCESS;
		hca_responder_fail(qp, syndrome, HCA_WC_REM_INV_REQ_ERR, now);
		return;
	}
	qp->rq.nak_state = false;
	if (pkt->opcode == WIRE_ATOMIC_WRITE) {
		qp->dev->counters.rx_write_requests++;
		if (!hca_place(qp, mr, pkt->va - mr->iova, pkt, 0, pkt->length, now)) {
			fail_here(qp, op, now);
			return;
		}
	}
	nothing.dma_length = 0;
	remember(qp, &nothing, op, 0);
}

static void responder_refuse(struct hca_qp *qp, const struct wire_pkt *pkt,
			     const struct wire_op *op, enum verdict verdict, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	if (verdict == RX_INVALID && is_annex(op)) {
		annex_request(qp, pkt, op, now);
		return;
	}
	/* The receive that it would have used fails with it, once it has been found. */
	if (verdict != RX_INVALID && needs_receive(rq, op))
		rq->wqe_taken = true;
	/* IBTA 11.6.2: what the receive says is what was wrong at this end. */
	if (verdict == RX_ACCESS) {
		qp->dev->counters.resp_remote_access_errors++;
		hca_responder_fail(qp, WIRE_NAK_REMOTE_ACCESS, HCA_WC_LOC_ACCESS_ERR, now);
	} else if (verdict == RX_TOO_LONG) {
		qp->dev->counters.resp_local_length_error++;
		hca_responder_fail(qp, WIRE_NAK_INVALID_REQUEST, HCA_WC_LOC_LEN_ERR, now);
	} else {
		hca_responder_fail(qp, WIRE_NAK_INVALID_REQUEST, HCA_WC_REM_INV_REQ_ERR, now);
	}
}

/* The profile says so: what there is of the message at hand is forgotten, its receive is free. */
static __attribute__((cold)) void forget_message(struct hca_qp *qp)
{
	struct hca_rq *rq = &qp->rq;

	if (!rq->in_message)
		return;
	rq->expected_psn = wire_psn_add(rq->expected_psn, -(rq->placed / qp->mtu));
	rq->in_message = rq->wqe_taken = false;
	rq->placed = 0;
}

/* The NAK says which packet is missing, and which came. One that waits for a receive goes first. */
static __attribute__((cold)) void on_ooo(struct hca_qp *qp, const struct wire_pkt *pkt,
					 const struct wire_op *op, ps_t now)
{
	const struct hca_rq *rq = &qp->rq;

	if (!hca_ooo_input(qp, pkt, op, now))
		qp->dev->counters.rx_dropped++;
	else if (!rq->ack_due || (rq->ack_syndrome & WIRE_SYN_TYPE_MASK) != WIRE_SYN_RNR)
		responder_answer(qp, WIRE_NAK_PSN_SEQ, rq->expected_psn);
}

static __attribute__((noinline, cold)) void on_gap(struct hca_qp *qp, const struct wire_pkt *pkt,
						   const struct wire_op *op, ps_t now)
{
	qp->dev->counters.out_of_sequence++;
	if (!qp->rq.nak_state || qp->rq.ooo)
		hca_cnp_on_gap(qp, now);
	if (qp->rq.ooo) {
		on_ooo(qp, pkt, op, now);
		return;
	}
	if (qp->rq.nak_state)
		return;
	if (qp->dev->restarts)
		forget_message(qp);
	answer_nak(qp, WIRE_NAK_PSN_SEQ);
}

static void responder_act(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			  enum verdict verdict, struct hca_mr *mr, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;

	switch (verdict) {
	case RX_NEXT:
		execute(qp, pkt, op, mr, now);
		break;
	case RX_DUPLICATE:
		counters->duplicate_request++;
		if (op->read || op->atomic || is_annex(op))
			hca_responder_replay(qp, pkt, op);
		else
			answer_ack(qp, wire_psn_add(qp->rq.expected_psn, WIRE_U24_MAX));
		break;
	case RX_GAP:
		on_gap(qp, pkt, op, now);
		break;
	case RX_NOT_READY:
		counters->out_of_buffer++;
		answer_nak(qp, WIRE_SYN_RNR | qp->min_rnr_timer);
		break;
	case RX_INVALID:
	case RX_LENGTH:
	case RX_TOO_LONG:
	case RX_ACCESS:
		responder_refuse(qp, pkt, op, verdict, now);
		break;
	}
}

/* After *@pkt: the next one that came before its turn and has it now, into @room; false: none. What
 * is still missing shall be heard of at once. */
static __attribute__((cold)) bool next_ooo(struct hca_qp *qp, const struct wire_pkt **pkt,
					   struct wire_pkt *room)
{
	struct hca_rq *rq = &qp->rq;
	const bool came_ooo = *pkt == room;

	rq->is_placed = false;
	hca_ooo_had_its_turn(qp, (*pkt)->psn);
	if (qp->state == HCA_QPS_ERR)
		return false;
	if (hca_ooo_take(qp, room)) {
		*pkt = room;
		return true;
	}
	if (rq->ooo->count == 0)
		hca_ooo_rest(qp);
	if (rq->nak_state)
		return false;
	if (hca_ooo_was_refused(qp) || (came_ooo && rq->ooo->count > 0))
		responder_answer(qp, WIRE_NAK_PSN_SEQ, rq->expected_psn);
	else if (came_ooo)
		answer_ack(qp, wire_psn_add(rq->expected_psn, WIRE_U24_MAX));
	return false;
}

void hca_responder_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			 ps_t now)
{
	const bool selective = qp->dev->selective;
	struct wire_pkt room;

	if (__builtin_expect(qp->dev->takes_rtt, false))
		hca_rtt_take_hops(qp, pkt);
	if (qp->state == HCA_QPS_RTR && !qp->rq.is_established) {
		qp->rq.is_established = true;
		hca_qp_async(qp, HCA_EVENT_COMM_EST, now);
	}
	for (;; op = wire_op_find(pkt->opcode)) {
		struct hca_mr *mr = NULL;
		enum verdict verdict;

		do
			verdict = responder_classify(qp, pkt, op, &mr);
		while (__builtin_expect(verdict == RX_NOT_READY, false) && hca_srq_take(qp, now));
		responder_act(qp, pkt, op, verdict, mr, now);
		if (__builtin_expect(!selective, true) || !next_ooo(qp, &pkt, &room))
			break;
	}
	hca_responder_update(qp, now);
}

/* ---- runs ---- */

/* Whether nothing but the next thing happens with each packet of @pkt, which is longer than one.
 * Where they write, *ret_mr is where. */
static bool is_plain_run(const struct hca_qp *qp, const struct wire_pkt *pkt,
			 const struct wire_op *op, struct hca_mr **ret_mr)
{
	const struct hca_device *dev = qp->dev;
	const struct hca_rq *rq = &qp->rq;

	if (dev->selective || dev->restarts || dev->takes_rtt || dev->dma || rq->is_placed ||
	    !(qp->hears & HCA_HEARS_REQUESTS) ||
	    (qp->state == HCA_QPS_RTR && !rq->is_established) || pkt->psn != rq->expected_psn ||
	    !opcode_is_valid(qp, pkt, op))
		return false;
	if (op->send)
		return fits_receive(rq, pkt, op);
	*ret_mr = rq->write_length - rq->placed > pkt->length ? find_region(qp, pkt, op) : NULL;
	return *ret_mr != NULL;
}

static void execute_run(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			uint32_t packets, struct hca_mr *mr, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	rq->nak_state = false;
	if (op->send ? !responder_place_send(qp, pkt, op, now)
		     : !place_write(qp, pkt, op, mr, now)) {
		if (op->write)
			fail_here(qp, op, now);
		return;
	}
	rq->placed += pkt->length;
	rq->expected_psn = wire_psn_add(rq->expected_psn, packets);
	if (pkt->ack_req)
		answer_ack(qp, wire_psn_add(pkt->psn, packets - 1));
}

bool hca_responder_take_run(struct hca_qp *qp, const struct wire_pkt *pkt, uint32_t packets,
			    ps_t now)
{
	const struct wire_op *op = wire_op_find(pkt->opcode);
	struct hca_mr *mr = NULL;

	if (!is_plain_run(qp, pkt, op, &mr))
		return false;
	qp->dev->counters.rx_packets += packets;
	qp->dev->counters.rx_bytes += pkt->length;
	execute_run(qp, pkt, op, packets, mr, now);
	hca_responder_update(qp, now);
	return true;
}

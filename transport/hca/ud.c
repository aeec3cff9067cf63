/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/shared.h"
#include "transport/wire/frame.h"

/* Datagrams: each message one packet, to whom its work request says; in front of what is received
 * the global route header of its packet (IBTA 9.8.3). */

#define QKEY_OF_SENDER (1u << 31)

/* What waits at the head of the queue decides which priority the QP waits for. The turn that has it
 * now may be the one that sends: it changes afterwards, before anybody else has a turn. */
void hca_ud_look_at_head(struct hca_qp *qp, ps_t now)
{
	const struct hca_sq *sq = &qp->sq;

	if (sq->next != sq->tail && sq->paths[sq->next & sq->mask].priority != qp->priority)
		hca_timer_set(qp, now);
}

void hca_ud_take_priority(struct hca_qp *qp, ps_t now)
{
	const struct hca_sq *sq = &qp->sq;

	hca_qp_set_priority(qp, sq->paths[sq->next & sq->mask].priority, now);
	hca_requester_update(qp, now);
}

void hca_ud_posted(struct hca_qp *qp, struct hca_wqe *wqe, const struct hca_send_wr *wr, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	struct wire_path *path = &sq->paths[sq->tail & sq->mask];

	*path = *wr->path;
	wqe->packets = 1;
	wqe->remote_addr = wr->dest_qpn;
	wqe->rkey = wr->qkey & QKEY_OF_SENDER ? qp->qkey : wr->qkey;
	if (sq->next == sq->tail && path->priority != qp->priority)
		hca_qp_set_priority(qp, path->priority, now);
}

bool hca_ud_fill(struct hca_qp *qp, const struct hca_wqe *wqe, struct wire_pkt *pkt)
{
	const bool has_imm = wqe->opcode == HCA_WR_SEND_WITH_IMM;

	qp->path = qp->sq.paths[qp->sq.next & qp->sq.mask];
	if (qp->type == HCA_QPT_RAW_PACKET) {
		hca_pkt_init(pkt, WIRE_RAW_FRAME, 0, qp->sq.next_psn);
		return hca_gather_apart(qp, wqe, 0, wqe->length, pkt);
	}
	hca_pkt_init(pkt, WIRE_UD | (has_imm ? WIRE_SEND_ONLY_IMM : WIRE_SEND_ONLY),
		     (uint32_t)wqe->remote_addr, qp->sq.next_psn);
	pkt->word = wqe->word;
	pkt->solicited = (wqe->flags & HCA_SEND_SOLICITED) != 0;
	pkt->has_rare = true;
	pkt->rare = (struct wire_rare){
		.qkey = wqe->rkey, .src_qpn = qp->qpn, .pkey = WIRE_PKEY_DEFAULT};
	return hca_gather_apart(qp, wqe, 0, wqe->length, pkt);
}

/* The receive at hand, if there is one and the datagram fits; its header counts, too. */
static const struct hca_rwqe *receive_for(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	const struct hca_rq *rq = &qp->rq;
	const struct hca_rwqe *wqe = &rq->ring[rq->head & rq->mask];

	if (qp->srq ? !(wqe = hca_srq_first(qp->srq)) : rq->head == rq->tail) {
		qp->dev->counters.out_of_buffer++;
		return NULL;
	}
	if (pkt->length > qp->mtu || pkt->length + (uint32_t)WIRE_GRH_BYTES > wqe->length) {
		qp->dev->counters.resp_local_length_error++;
		return NULL;
	}
	return wqe;
}

static bool ud_place(struct hca_qp *qp, const struct hca_rwqe *wqe, const struct wire_pkt *pkt,
		     const struct wire_path *path, ps_t now)
{
	uint8_t bytes[WIRE_GRH_BYTES] = {0};
	const struct wire_pkt grh = {
		.opcode = pkt->opcode, .length = WIRE_GRH_BYTES, .payload = bytes};

	if (path)
		wire_frame_grh(path, wire_pkt_bytes(pkt), bytes);
	return hca_scatter(qp, hca_recv_pd(qp), wqe->sge, wqe->sge_count, 0, &grh, now) &&
	       hca_scatter(qp, hca_recv_pd(qp), wqe->sge, wqe->sge_count, WIRE_GRH_BYTES, pkt, now);
}

void hca_ud_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		  const struct wire_path *path, ps_t now)
{
	const struct hca_rwqe *wqe;
	enum hca_wc_status status;
	struct hca_wc wc;

	if (pkt->rare.qkey != qp->qkey) {
		qp->dev->counters.qkey_violations++;
		return;
	}
	wqe = receive_for(qp, pkt);
	if (!wqe) {
		qp->dev->counters.rx_dropped++;
		return;
	}
	if (qp->srq) {
		CHECK(hca_srq_take(qp, now));
		wqe = &qp->rq.ring[qp->rq.head & qp->rq.mask];
	}
	if (!ud_place(qp, wqe, pkt, path, now)) {
		status = hca_responder_status(qp, WIRE_NAK_REMOTE_OPERATION, HCA_WC_LOC_PROT_ERR);
		hca_responder_complete(qp, status, NULL, NULL, now);
		hca_qp_fail(qp, now);
		return;
	}
	wc = (struct hca_wc){
		.wr_id = wqe->wr_id,
		.opcode = HCA_WC_RECV,
		.byte_len = pkt->length + (uint32_t)WIRE_GRH_BYTES,
		.imm = op->imm ? hca_swap_imm(pkt->word) : 0,
		.qpn = qp->qpn,
		.src_qpn = pkt->rare.src_qpn,
		.flags = HCA_WC_GRH | (op->imm ? HCA_WC_WITH_IMM : 0),
	};
	if (path && wire_path_is_ipv4(path))
		wc.flags |= HCA_WC_IPV4;
	qp->rq.head++;
	hca_cq_push(qp->recv_cq, &wc, pkt->solicited, now);
}

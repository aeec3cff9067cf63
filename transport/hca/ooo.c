/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* The responder of HCA_SELECTIVE: packets before their turn. Their payload is placed at once; all
 * else that they do waits for what is missing. What cannot be taken early is as if it were lost,
 * and judged when it comes at its turn. */

/* One piece: packets, which are written before they are read, bits, the bytes of one. */
int hca_ooo_allocate(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const size_t count = ooo->here.mask + (size_t)1, words = count / 64;

	if (ooo->pkts || ooo->packets == HCA_REQUESTS_NONE)
		return 0;
	ooo->pkts = util_alloc(count * sizeof(*ooo->pkts) + 2 * words * sizeof(uint64_t) +
			       qp->dev->profile.mtu_max);
	if (!ooo->pkts)
		return -ENOMEM;
	ooo->here.words = (uint64_t *)(void *)(ooo->pkts + count);
	ooo->refused.words = ooo->here.words + words;
	ooo->kept_bytes = (uint8_t *)(ooo->refused.words + words);
	memset(ooo->here.words, 0, 2 * words * sizeof(uint64_t));
	return 0;
}
_Static_assert(sizeof(struct wire_pkt) % sizeof(uint64_t) == 0, "words follow packets");

int hca_ooo_create(struct hca_qp *qp, uint32_t request_packets)
{
	const uint32_t window = qp->dev->psn_window;
	const uint32_t most =
		request_packets > 0 && request_packets < window ? request_packets : window;
	const uint32_t count = most < 64 ? 64 : hca_pow2(most);
	struct hca_ooo *ooo = util_calloc(1, sizeof(*ooo));

	qp->rq.ooo = ooo;
	if (!ooo)
		return -ENOMEM;
	ooo->here.mask = ooo->refused.mask = count - 1;
	ooo->packets = request_packets;
	return 0;
}

static void ooo_give_back(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	if (!ooo->pkts)
		return;
	memcpy(ooo->pkts, &qp->dev->given_back, sizeof(qp->dev->given_back));
	qp->dev->given_back = ooo->pkts;
	ooo->pkts = NULL;
	ooo->here.words = ooo->refused.words = NULL;
	ooo->kept_bytes = NULL;
}

void hca_ooo_free_given_back(struct hca_device *dev)
{
	while (dev->given_back) {
		void *piece = dev->given_back;

		memcpy(&dev->given_back, piece, sizeof(dev->given_back));
		util_free(piece);
	}
}

void hca_ooo_destroy(struct hca_qp *qp)
{
	if (!qp->rq.ooo)
		return;
	util_free(qp->rq.ooo->pkts);
	util_free(qp->rq.ooo);
}

void hca_ooo_start(struct hca_qp *qp)
{
	qp->rq.ooo->end_psn = wire_psn_add(qp->rq.expected_psn, qp->rq.ooo->packets);
}

void hca_ooo_end(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	/* More than half the numbers: the end could not be told from what is past. */
	if (ooo->packets > 0 && ooo->packets < 1u << 23 && qp->rq.expected_psn == ooo->end_psn)
		ooo_give_back(qp);
}

void hca_ooo_reset(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	if (ooo->pkts)
		memset(ooo->here.words, 0, 2 * (ooo->here.mask + (size_t)1) / 8);
	*ooo = (struct hca_ooo){.here = ooo->here,
				.refused = ooo->refused,
				.pkts = ooo->pkts,
				.packets = ooo->packets,
				.kept_bytes = ooo->kept_bytes};
}

/* Whether everything of the message before its end @psn is here. */
static bool is_message_here(const struct hca_qp *qp, uint32_t psn)
{
	const struct hca_ooo *ooo = qp->rq.ooo;

	for (;;) {
		psn = wire_psn_add(psn, WIRE_U24_MAX);
		if (wire_psn_diff(psn, qp->rq.expected_psn) < 0)
			return true;
		if (!hca_psn_set_has(&ooo->here, psn))
			return false;
		if (wire_op_find(ooo->pkts[psn & ooo->here.mask].opcode)->start)
			return true;
	}
}

static bool ooo_place_send(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	const uint32_t ahead = (pkt->rkey - rq->head) & WIRE_U24_MAX;
	const struct hca_rwqe *wqe = &rq->ring[(rq->head + ahead) & rq->mask];

	if (ahead >= rq->tail - rq->head) {
		qp->dev->counters.out_of_buffer++;
		return false;
	}
	return pkt->va <= wqe->length && pkt->length <= wqe->length - pkt->va &&
	       hca_scatter(qp, wqe->sge, wqe->sge_count, (uint32_t)pkt->va, pkt, now);
}

static bool place_write(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	struct hca_mr *mr;

	if (!(qp->access & HCA_ACCESS_REMOTE_WRITE) || pkt->dma_length < pkt->length)
		return false;
	if (pkt->length == 0)
		return true;
	mr = hca_mr_find(qp->dev, qp->pd, pkt->rkey, pkt->va, pkt->dma_length,
			 HCA_ACCESS_REMOTE_WRITE);
	return mr && hca_place(qp, mr, pkt->va - mr->iova, pkt, 0, pkt->length, now);
}

/* The last bytes of a message are placed last. */
static bool ooo_keep(struct hca_ooo *ooo, const struct wire_pkt *pkt)
{
	if (ooo->is_kept)
		return false;
	ooo->is_kept = true;
	ooo->kept = *pkt;
	if (!pkt->synthetic) {
		ooo->kept.payload = ooo->kept_bytes;
		memcpy(ooo->kept_bytes, pkt->payload, pkt->length);
	}
	return true;
}

static bool ooo_take(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     ps_t now)
{
	if (op->read || op->atomic)
		return true;
	if ((!op->send && !op->write) || !(op->seth || (op->reth && pkt->opcode >= WIRE_IRN)) ||
	    (op->end ? pkt->length > qp->mtu : pkt->length != qp->mtu))
		return false;
	if (op->end && !op->start && !is_message_here(qp, pkt->psn))
		return ooo_keep(qp->rq.ooo, pkt);
	return op->send ? ooo_place_send(qp, pkt, now) : place_write(qp, pkt, now);
}

bool hca_ooo_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		   ps_t now)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const uint32_t ahead = (uint32_t)wire_psn_diff(pkt->psn, qp->rq.expected_psn);

	if (ahead > ooo->here.mask || !ooo->pkts)
		return false;
	if (hca_psn_set_has(&ooo->here, pkt->psn)) {
		qp->dev->counters.duplicate_request++;
	} else if (ooo_take(qp, pkt, op, now)) {
		hca_psn_set_put(&ooo->here, pkt->psn, true);
		hca_psn_set_put(&ooo->refused, pkt->psn, false);
		ooo->pkts[pkt->psn & ooo->here.mask] = *pkt;
		ooo->count++;
	} else {
		hca_psn_set_put(&ooo->refused, pkt->psn, true);
		return false;
	}
	ooo->sack_psn = pkt->psn;
	return true;
}

bool hca_ooo_take(struct hca_qp *qp, struct wire_pkt *ret_pkt)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const uint32_t psn = qp->rq.expected_psn;

	if (ooo->count == 0 || !hca_psn_set_has(&ooo->here, psn))
		return false;
	hca_psn_set_put(&ooo->here, psn, false);
	ooo->count--;
	*ret_pkt = ooo->pkts[psn & ooo->here.mask];
	if (ret_pkt->psn != psn) /* a peer that counted on */
		return false;
	qp->rq.is_placed = true;
	if (ooo->is_kept && ooo->kept.psn == psn) {
		*ret_pkt = ooo->kept;
		ooo->is_kept = false;
		qp->rq.is_placed = false;
	}
	return true;
}

bool hca_ooo_was_refused(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	bool was;

	if (!ooo->pkts)
		return false;
	was = hca_psn_set_has(&ooo->refused, qp->rq.expected_psn);
	hca_psn_set_put(&ooo->refused, qp->rq.expected_psn, false);
	if (was)
		ooo->sack_psn = qp->rq.expected_psn;
	return was;
}

/* What came last may have had its turn meanwhile; something behind the gap says the same. The
 * packet that is missing itself came in vain. */
static uint32_t last_here(const struct hca_ooo *ooo, uint32_t expected_psn)
{
	uint32_t psn = ooo->sack_psn;

	if (wire_psn_diff(psn, expected_psn) >= 0 || ooo->count == 0)
		return psn;
	for (psn = wire_psn_add(expected_psn, ooo->here.mask);
	     !hca_psn_set_has(&ooo->here, psn) && psn != expected_psn;)
		psn = wire_psn_add(psn, WIRE_U24_MAX);
	return psn;
}

void hca_ooo_fill_nak(const struct hca_qp *qp, struct wire_pkt *pkt)
{
	const struct hca_ooo *ooo = qp->rq.ooo;

	const uint32_t last_psn = last_here(ooo, qp->rq.expected_psn);

	pkt->opcode |= WIRE_IRN;
	pkt->rkey = last_psn;
	if (!ooo->pkts)
		return;
	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t psn = wire_psn_add(last_psn, -1u - i);

		if (wire_psn_diff(psn, qp->rq.expected_psn) <= 0)
			break;
		if (hca_psn_set_has(&ooo->here, psn))
			pkt->dma_length |= 1u << i;
	}
}

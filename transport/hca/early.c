/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* The responder of HCA_SELECTIVE: packets before their turn. Their payload is placed at once; all
 * else that they do waits for what is missing. What cannot be taken early is as if it were lost,
 * and judged when it comes at its turn. */

/* One piece: packets, which are written before they are read, bits, the bytes of one. */
int hca_early_allocate(struct hca_qp *qp)
{
	struct hca_early *early = qp->rq.early;
	const size_t count = early->here.mask + (size_t)1, words = count / 64;

	if (early->pkts || early->packets == HCA_REQUESTS_NONE)
		return 0;
	early->pkts = util_alloc(count * sizeof(*early->pkts) + 2 * words * sizeof(uint64_t) +
				 qp->dev->profile.mtu_max);
	if (!early->pkts)
		return -ENOMEM;
	early->here.words = (uint64_t *)(void *)(early->pkts + count);
	early->refused.words = early->here.words + words;
	early->kept_bytes = (uint8_t *)(early->refused.words + words);
	memset(early->here.words, 0, 2 * words * sizeof(uint64_t));
	return 0;
}
_Static_assert(sizeof(struct wire_pkt) % sizeof(uint64_t) == 0, "words follow packets");

int hca_early_create(struct hca_qp *qp, uint32_t request_packets)
{
	const uint32_t window = qp->dev->psn_window;
	const uint32_t most =
		request_packets > 0 && request_packets < window ? request_packets : window;
	const uint32_t count = most < 64 ? 64 : hca_pow2(most);
	struct hca_early *early = util_calloc(1, sizeof(*early));

	qp->rq.early = early;
	if (!early)
		return -ENOMEM;
	early->here.mask = early->refused.mask = count - 1;
	early->packets = request_packets;
	return 0;
}

static void give_back(struct hca_qp *qp)
{
	struct hca_early *early = qp->rq.early;

	if (!early->pkts)
		return;
	memcpy(early->pkts, &qp->dev->given_back, sizeof(qp->dev->given_back));
	qp->dev->given_back = early->pkts;
	early->pkts = NULL;
	early->here.words = early->refused.words = NULL;
	early->kept_bytes = NULL;
}

void hca_early_free_given_back(struct hca_device *dev)
{
	while (dev->given_back) {
		void *piece = dev->given_back;

		memcpy(&dev->given_back, piece, sizeof(dev->given_back));
		util_free(piece);
	}
}

void hca_early_destroy(struct hca_qp *qp)
{
	if (!qp->rq.early)
		return;
	util_free(qp->rq.early->pkts);
	util_free(qp->rq.early);
}

void hca_early_start(struct hca_qp *qp)
{
	qp->rq.early->end_psn = wire_psn_add(qp->rq.expected_psn, qp->rq.early->packets);
}

void hca_early_end(struct hca_qp *qp)
{
	struct hca_early *early = qp->rq.early;

	/* More than half the numbers: the end could not be told from what is past. */
	if (early->packets > 0 && early->packets < 1u << 23 &&
	    qp->rq.expected_psn == early->end_psn)
		give_back(qp);
}

void hca_early_reset(struct hca_qp *qp)
{
	struct hca_early *early = qp->rq.early;

	if (early->pkts)
		memset(early->here.words, 0, 2 * (early->here.mask + (size_t)1) / 8);
	*early = (struct hca_early){.here = early->here,
				    .refused = early->refused,
				    .pkts = early->pkts,
				    .packets = early->packets,
				    .kept_bytes = early->kept_bytes};
}

/* Whether everything of the message before its end @psn is here. */
static bool is_message_here(const struct hca_qp *qp, uint32_t psn)
{
	const struct hca_early *early = qp->rq.early;

	for (;;) {
		psn = wire_psn_add(psn, WIRE_U24_MAX);
		if (wire_psn_diff(psn, qp->rq.expected_psn) < 0)
			return true;
		if (!hca_psn_set_has(&early->here, psn))
			return false;
		if (wire_op_find(early->pkts[psn & early->here.mask].opcode)->start)
			return true;
	}
}

static bool place_send(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
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
static bool keep(struct hca_early *early, const struct wire_pkt *pkt)
{
	if (early->is_kept)
		return false;
	early->is_kept = true;
	early->kept = *pkt;
	if (!pkt->synthetic) {
		early->kept.payload = early->kept_bytes;
		memcpy(early->kept_bytes, pkt->payload, pkt->length);
	}
	return true;
}

static bool take(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op, ps_t now)
{
	if (op->read || op->atomic)
		return true;
	if ((!op->send && !op->write) || !(op->seth || (op->reth && pkt->opcode >= WIRE_IRN)) ||
	    (op->end ? pkt->length > qp->mtu : pkt->length != qp->mtu))
		return false;
	if (op->end && !op->start && !is_message_here(qp, pkt->psn))
		return keep(qp->rq.early, pkt);
	return op->send ? place_send(qp, pkt, now) : place_write(qp, pkt, now);
}

bool hca_early_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     ps_t now)
{
	struct hca_early *early = qp->rq.early;
	const uint32_t ahead = (uint32_t)wire_psn_diff(pkt->psn, qp->rq.expected_psn);

	if (ahead > early->here.mask || !early->pkts)
		return false;
	if (hca_psn_set_has(&early->here, pkt->psn)) {
		qp->dev->counters.duplicate_request++;
	} else if (take(qp, pkt, op, now)) {
		hca_psn_set_put(&early->here, pkt->psn, true);
		hca_psn_set_put(&early->refused, pkt->psn, false);
		early->pkts[pkt->psn & early->here.mask] = *pkt;
		early->count++;
	} else {
		hca_psn_set_put(&early->refused, pkt->psn, true);
		return false;
	}
	early->sack_psn = pkt->psn;
	return true;
}

bool hca_early_take(struct hca_qp *qp, struct wire_pkt *ret_pkt)
{
	struct hca_early *early = qp->rq.early;
	const uint32_t psn = qp->rq.expected_psn;

	if (early->count == 0 || !hca_psn_set_has(&early->here, psn))
		return false;
	hca_psn_set_put(&early->here, psn, false);
	early->count--;
	*ret_pkt = early->pkts[psn & early->here.mask];
	if (ret_pkt->psn != psn) /* a peer that counted on */
		return false;
	qp->rq.is_placed = true;
	if (early->is_kept && early->kept.psn == psn) {
		*ret_pkt = early->kept;
		early->is_kept = false;
		qp->rq.is_placed = false;
	}
	return true;
}

bool hca_early_was_refused(struct hca_qp *qp)
{
	struct hca_early *early = qp->rq.early;
	bool was;

	if (!early->pkts)
		return false;
	was = hca_psn_set_has(&early->refused, qp->rq.expected_psn);
	hca_psn_set_put(&early->refused, qp->rq.expected_psn, false);
	if (was)
		early->sack_psn = qp->rq.expected_psn;
	return was;
}

/* What came last may have had its turn meanwhile; something behind the gap says the same. The
 * packet that is missing itself came in vain. */
static uint32_t last_here(const struct hca_early *early, uint32_t expected_psn)
{
	uint32_t psn = early->sack_psn;

	if (wire_psn_diff(psn, expected_psn) >= 0 || early->count == 0)
		return psn;
	for (psn = wire_psn_add(expected_psn, early->here.mask);
	     !hca_psn_set_has(&early->here, psn) && psn != expected_psn;)
		psn = wire_psn_add(psn, WIRE_U24_MAX);
	return psn;
}

void hca_early_fill_nak(const struct hca_qp *qp, struct wire_pkt *pkt)
{
	const struct hca_early *early = qp->rq.early;

	const uint32_t last_psn = last_here(early, qp->rq.expected_psn);

	pkt->opcode |= WIRE_IRN;
	pkt->rkey = last_psn;
	if (!early->pkts)
		return;
	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t psn = wire_psn_add(last_psn, -1u - i);

		if (wire_psn_diff(psn, qp->rq.expected_psn) <= 0)
			break;
		if (hca_psn_set_has(&early->here, psn))
			pkt->dma_length |= 1u << i;
	}
}

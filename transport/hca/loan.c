/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/loan.h"

#include "transport/hca/internal.h"

/* Both ends of a payload that is lent. Devices without a lender never get here. */

/* The packet at hand was sent before, or its like: the bytes may not have been to be had. */
static bool loan_was_made(const struct hca_qp *qp, const struct wire_pkt *pkt)
{
	const struct hca_rq *rq = &qp->rq;
	const struct hca_resource *res;

	if (!wire_ops[pkt->opcode].response)
		return wire_psn_diff(pkt->psn, qp->sq.high_psn) < 0;
	res = &rq->resources[rq->res_first & rq->res_mask];
	return res->replay || res->start_psn != res->first_psn;
}

bool hca_loan_make(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		   struct wire_pkt *pkt)
{
	const struct hca_device *dev = qp->dev;

	if (!dev->lender->lends || pkt->length < HCA_LOAN_LEAST || qp->type != HCA_QPT_RC ||
	    dev->selective || dev->restarts || loan_was_made(qp, pkt))
		return false;
	pkt->apart = true;
	pkt->address = mr->address + offset;
	return true;
}

/* Of a packet, into memory of another kind than a program's, or a short one: what is behind that is
 * read and forgotten. */
static bool place_through_here(struct hca_device *dev, struct hca_mr *mr, uint64_t offset,
			       uint64_t address, uint32_t length)
{
	struct hca_lender *lender = dev->lender;
	const uint32_t body = length < HCA_LOAN_TAIL ? 0 : length - HCA_LOAN_TAIL;
	uint8_t bytes[WIRE_MTU_MAX + HCA_LOAN_TAIL];

	dev->loan_is_lost = !lender->pull(lender, address, bytes, body, bytes + body, 0);
	return !dev->loan_is_lost && mr->ops->write(mr, offset, bytes, length);
}

bool hca_loan_place(struct hca_device *dev, struct hca_mr *mr, uint64_t offset, uint64_t address,
		    uint32_t length, uint64_t follows)
{
	struct hca_lender *lender = dev->lender;
	uint8_t *to = mr->is_lent ? hca_mem_host_at(mr->address + offset) : NULL;
	uint8_t tail[HCA_LOAN_TAIL];
	const uint8_t *here;
	uint32_t body, part;

	CHECK(lender != NULL);
	here = lender->at_hand(lender, address, length, to);
	if (here && here == to)
		return true;
	if (here)
		return mr->ops->write(mr, offset, here, length);
	if (follows > mr->length - offset - length)
		follows = mr->length - offset - length;
	body = length < HCA_LOAN_TAIL ? 0 : length - HCA_LOAN_TAIL;
	if (to && body > 0 && lender->pull(lender, address, to, body, tail, (uint32_t)follows))
		return mr->ops->write(mr, offset + body, tail, HCA_LOAN_TAIL);
	for (uint32_t at = 0; at < length; at += part) {
		part = length - at < WIRE_MTU_MAX ? length - at : WIRE_MTU_MAX;
		if (!place_through_here(dev, mr, offset + at, address + at, part))
			return false;
	}
	return true;
}

bool hca_loan_lost(struct hca_device *dev)
{
	const bool is_lost = dev->loan_is_lost;

	dev->loan_is_lost = false;
	if (is_lost)
		dev->counters.rx_dropped++;
	return is_lost;
}

void hca_loans_revoke(struct hca_qp *qp)
{
	struct hca_lender *lender = qp->dev->lender;

	if (lender)
		lender->revoke(lender, &qp->path, qp->dest_qpn);
}

void hca_loans_revoke_answers(struct hca_device *dev)
{
	if (dev->lender)
		dev->lender->revoke(dev->lender, NULL, 0);
}

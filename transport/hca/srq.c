/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/srq.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* A ring of receives and, behind it, their lists. */
static bool srq_allocate(struct hca_srq *srq, uint32_t depth)
{
	const size_t count = hca_pow2(depth);
	const size_t bytes =
		count * (sizeof(*srq->ring) + srq->sge_max * sizeof(struct hca_local_sge));
	struct hca_rwqe *ring = util_zalloc(bytes);

	if (!ring)
		return false;
	srq->ring = ring;
	srq->mask = (uint32_t)count - 1;
	srq->depth = depth;
	return true;
}

static struct hca_local_sge *srq_list(const struct hca_srq *srq, uint32_t number)
{
	struct hca_local_sge *lists = (void *)(srq->ring + srq->mask + 1);

	return lists + (size_t)(number & srq->mask) * srq->sge_max;
}

static void enter_domain(struct hca_device *dev, struct hca_srq *srq,
			 const struct hca_srq_init *init)
{
	srq->xrcd = init->xrcd;
	srq->cq = init->cq;
	srq->srqn = hca_draw_number(dev, &dev->srqs, init->identity);
	util_idmap_add(&dev->srqs, srq->srqn, srq);
	srq->xrcd->use_count++;
	srq->cq->use_count++;
}

int hca_srq_create(struct hca_device *dev, const struct hca_srq_init *init,
		   struct hca_srq **ret_srq)
{
	const struct hca_profile *profile = &dev->profile;
	struct hca_srq *srq;

	if (!init->pd || !init->xrcd != !init->cq || init->depth == 0 ||
	    init->depth > profile->wr_max || init->sge_max > profile->sge_max)
		return -EINVAL;
	if (dev->srq_count == profile->srq_max)
		return -ENOMEM;
	srq = util_calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->sge_max = init->sge_max;
	if (!srq_allocate(srq, init->depth) ||
	    (init->xrcd && util_idmap_reserve(&dev->srqs) != 0)) {
		util_free(srq->ring);
		util_free(srq);
		return -ENOMEM;
	}
	srq->pd = init->pd;
	srq->owner = init->owner;
	hca_list_add_tail(&dev->srq_list, &srq->node);
	dev->srq_count++;
	srq->pd->use_count++;
	if (init->xrcd)
		enter_domain(dev, srq, init);
	*ret_srq = srq;
	return 0;
}

/* The shared queue is gone: what was taken from it, too. */
static void forget_queue(struct hca_device *dev, const struct hca_srq *srq)
{
	for (uint32_t i = 0; i <= dev->qps.mask; i++) {
		struct hca_qp *qp = dev->qps.slots ? dev->qps.slots[i].object : NULL;

		if (!qp || qp->type != HCA_QPT_XRC_RECV || qp->srq != srq)
			continue;
		qp->rq.head = qp->rq.tail;
		qp->rq.wqe_taken = false;
		qp->srq = NULL;
		qp->recv_cq = NULL;
		qp->pd = NULL;
	}
}

void hca_srq_free(struct hca_device *dev, struct hca_srq *srq)
{
	hca_list_remove(&srq->node);
	dev->srq_count--;
	srq->pd->use_count--;
	if (srq->xrcd) {
		util_idmap_remove(&dev->srqs, srq->srqn);
		srq->xrcd->use_count--;
		srq->cq->use_count--;
		forget_queue(dev, srq);
	}
	util_free(srq->ring);
	util_free(srq);
}

int hca_srq_destroy(struct hca_device *dev, struct hca_srq *srq)
{
	if (srq->use_count)
		return -EBUSY;
	hca_srq_free(dev, srq);
	return 0;
}

uint32_t hca_srq_number(const struct hca_srq *srq)
{
	return srq->srqn;
}

/* Into a ring of another size; 0 or -ENOMEM. */
static int resize(struct hca_srq *srq, uint32_t depth)
{
	const struct hca_srq from = *srq;

	if (hca_pow2(depth) - 1 == from.mask) {
		srq->depth = depth;
		return 0;
	}
	if (!srq_allocate(srq, depth))
		return -ENOMEM;
	for (uint32_t i = from.head; i != from.tail; i++) {
		const struct hca_rwqe *old = &from.ring[i & from.mask];
		struct hca_rwqe *wqe = &srq->ring[i & srq->mask];

		*wqe = *old;
		wqe->sge = srq_list(srq, i);
		memcpy(wqe->sge, old->sge, old->sge_count * sizeof(*wqe->sge));
	}
	util_free(from.ring);
	return 0;
}

int hca_srq_modify(struct hca_device *dev, struct hca_srq *srq, const struct hca_srq_attr *attr,
		   uint32_t mask)
{
	const uint32_t depth = mask & HCA_SRQ_MAX_WR ? attr->depth : srq->depth;
	const uint32_t limit = mask & HCA_SRQ_LIMIT ? attr->limit : srq->limit;

	if (mask & ~(uint32_t)(HCA_SRQ_MAX_WR | HCA_SRQ_LIMIT) || depth == 0 ||
	    depth > dev->profile.wr_max || depth < srq->tail - srq->head || limit > depth)
		return -EINVAL;
	if (resize(srq, depth) != 0)
		return -ENOMEM;
	srq->limit = limit;
	return 0;
}

void hca_srq_query(const struct hca_srq *srq, struct hca_srq_attr *ret_attr)
{
	*ret_attr = (struct hca_srq_attr){
		.depth = srq->depth, .sge_max = srq->sge_max, .limit = srq->limit};
}

int hca_srq_post_recv(struct hca_device *dev, struct hca_srq *srq, const struct hca_recv_wr *wr)
{
	struct hca_rwqe *wqe = &srq->ring[srq->tail & srq->mask];

	if (wr->sge_count > srq->sge_max)
		return -EINVAL;
	if (hca_list_bytes(wr->sge, wr->sge_count) > HCA_MESSAGE_MAX)
		return -EINVAL;
	if (srq->tail - srq->head == srq->depth)
		return -ENOMEM;
	hca_receive_fill(dev, wqe, srq_list(srq, srq->tail), wr);
	srq->tail++;
	return 0;
}

const struct hca_rwqe *hca_srq_first(const struct hca_srq *srq)
{
	return srq->head == srq->tail ? NULL : &srq->ring[srq->head & srq->mask];
}

bool hca_srq_take(struct hca_qp *qp, ps_t now)
{
	struct hca_srq *srq = qp->srq;
	struct hca_rq *rq = &qp->rq;
	struct hca_rwqe *to = &rq->ring[rq->tail & rq->mask];
	const struct hca_rwqe *from = srq ? hca_srq_first(srq) : NULL;

	if (!from || rq->tail - rq->head > rq->mask)
		return false;
	*to = *from;
	to->sge = hca_rq_list(qp, rq->tail);
	memcpy(to->sge, from->sge, from->sge_count * sizeof(*to->sge));
	rq->tail++;
	srq->head++;
	if (srq->tail - srq->head < srq->limit) {
		srq->limit = 0;
		qp->dev->observer->on_async(qp->dev->world, srq->owner, HCA_EVENT_SRQ_LIMIT, now);
	}
	return true;
}

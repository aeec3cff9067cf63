/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/mw.h"

#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>

/* A window that shows something stands among the regions, as a region of its own: its memory is a
 * part of that of the region behind it, without any right to be used by work requests here. A
 * window of type 2 has no protection domain there, so that nobody finds it who does not ask for it
 * with the queue pair. */
struct hca_mw {
	struct hca_mr mr;
	struct hca_list node;
	struct hca_pd *pd;
	struct hca_mr *region; /* NULL: it shows nothing */
	uint32_t qpn;	       /* type 2: of the queue pair that it belongs to */
	enum hca_mw_type type;
};

enum { TAG_MASK = 0xff };

int hca_mw_create(struct hca_device *dev, struct hca_pd *pd, enum hca_mw_type type,
		  struct hca_mw **ret_mw)
{
	struct hca_mw *mw;

	if (type != HCA_MW_TYPE_1 && type != HCA_MW_TYPE_2)
		return -EINVAL;
	if (dev->mw_count == dev->profile.mr_max)
		return -ENOMEM;
	mw = util_calloc(1, sizeof(*mw));
	if (!mw || hca_mr_slot_take(dev, &mw->mr) != 0) {
		util_free(mw);
		return -ENOMEM;
	}
	mw->pd = pd;
	mw->type = type;
	pd->use_count++;
	dev->mw_count++;
	hca_list_add_tail(&dev->mw_list, &mw->node);
	*ret_mw = mw;
	return 0;
}

static void unbind(struct hca_device *dev, struct hca_mw *mw)
{
	if (!mw->region)
		return;
	if (dev->dma)
		dev->dma->release(dev->world, mw->mr.number);
	mw->region->window_count--;
	mw->region = NULL;
	dev->mrs[hca_mr_slot_of(dev, mw->mr.rkey)].mr = NULL;
}

void hca_mw_destroy(struct hca_device *dev, struct hca_mw *mw)
{
	unbind(dev, mw);
	hca_mr_slot_give_back(dev, &mw->mr);
	hca_list_remove(&mw->node);
	dev->mw_count--;
	mw->pd->use_count--;
	util_free(mw);
}

uint32_t hca_mw_rkey(const struct hca_mw *mw)
{
	return mw->mr.rkey;
}

void hca_mw_destroy_all(struct hca_device *dev)
{
	while (!hca_list_is_empty(&dev->mw_list))
		hca_mw_destroy(dev, container_of(dev->mw_list.next, struct hca_mw, node));
}

void hca_mw_leave(struct hca_qp *qp)
{
	struct hca_device *dev = qp->dev;

	for (struct hca_list *n = dev->mw_list.next; n != &dev->mw_list; n = n->next) {
		struct hca_mw *mw = container_of(n, struct hca_mw, node);

		if (mw->type == HCA_MW_TYPE_2 && mw->qpn == qp->qpn)
			unbind(dev, mw);
	}
}

__attribute__((noinline, cold)) struct hca_mr *hca_mw_at(const struct hca_qp *qp, uint32_t slot,
							 uint32_t key, uint64_t va, uint64_t length,
							 uint32_t access)
{
	struct hca_mr *mr = slot < qp->dev->mr_slots ? qp->dev->mrs[slot].mr : NULL;
	const struct hca_mw *mw;

	if (!mr || mr->pd)
		return NULL;
	mw = container_of(mr, struct hca_mw, mr);
	if (mw->qpn != qp->qpn || (!qp->dev->profile.mw_is_2a && mw->pd != qp->pd))
		return NULL;
	return hca_mr_at(qp->dev, slot, NULL, key, va, length, access);
}

bool hca_invalidate(struct hca_qp *qp, uint32_t key, bool remote)
{
	struct hca_mr *mr;

	if (hca_mr_invalidate(qp->dev, qp->pd, key, remote))
		return true;
	mr = hca_mw_at(qp, hca_mr_slot_of(qp->dev, key), key, 0, 0, 0);
	if (!mr)
		return false;
	unbind(qp->dev, container_of(mr, struct hca_mw, mr));
	return true;
}

/* Bound or not: it has its slot. */
static struct hca_mw *find_window(const struct hca_qp *qp, uint32_t key)
{
	for (struct hca_list *n = qp->dev->mw_list.next; n != &qp->dev->mw_list; n = n->next) {
		struct hca_mw *mw = container_of(n, struct hca_mw, node);

		if (mw->mr.rkey == key)
			return mw->pd == qp->pd ? mw : NULL;
	}
	return NULL;
}

/* What it is to show; NULL: it may not. */
static struct hca_mr *find_region(const struct hca_qp *qp, const struct hca_wqe *wqe)
{
	const uint32_t writing = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;
	const uint32_t known = writing | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_LOCAL_WRITE;
	const uint32_t rights = (uint32_t)(wqe->swap >> 32);
	const uint32_t needs = HCA_ACCESS_LOCAL_READ | HCA_ACCESS_MW_BIND |
			       (rights & writing ? HCA_ACCESS_LOCAL_WRITE : 0);
	struct hca_mr *mr;

	if (rights & ~known)
		return NULL;
	mr = hca_mr_find(qp->dev, qp->pd, (uint32_t)wqe->swap, wqe->remote_addr, wqe->compare_add,
			 needs);
	if (!mr || mr->ops == &hca_mem_synthetic || mr->ops == &hca_mem_null ||
	    mr->ops == &hca_mem_device)
		return NULL;
	return mr;
}

bool hca_mw_bind(struct hca_qp *qp, const struct hca_wqe *wqe)
{
	struct hca_device *dev = qp->dev;
	struct hca_mw *mw = find_window(qp, wqe->word);
	struct hca_mr *region = NULL;

	if (!mw || (mw->mr.rkey ^ wqe->rkey) & ~(uint32_t)TAG_MASK)
		return false;
	if (mw->type == HCA_MW_TYPE_2 && (mw->region || wqe->compare_add == 0))
		return false;
	if (wqe->compare_add > 0) {
		region = find_region(qp, wqe);
		if (!region)
			return false;
	}
	unbind(dev, mw);
	mw->mr = (struct hca_mr){.lkey = wqe->rkey, .rkey = wqe->rkey, .number = mw->mr.number};
	if (!region)
		return true;
	mw->region = region;
	region->window_count++;
	mw->qpn = qp->qpn;
	mw->mr.ops = region->ops;
	mw->mr.pd = mw->type == HCA_MW_TYPE_2 ? NULL : mw->pd;
	mw->mr.iova = wqe->remote_addr;
	mw->mr.length = wqe->compare_add;
	mw->mr.access = (uint32_t)(wqe->swap >> 32) & ~(uint32_t)HCA_ACCESS_LOCAL_WRITE;
	mw->mr.address = region->address + (wqe->remote_addr - region->iova);
	dev->mrs[hca_mr_slot_of(dev, wqe->rkey)].mr = &mw->mr;
	return true;
}

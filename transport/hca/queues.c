/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* The memory of a queue pair's rings: made at once, and again where the send queue grows. */

_Static_assert(sizeof(struct hca_wqe) % 8 == 0 && sizeof(struct hca_local_sge) % 8 == 0 &&
		       sizeof(struct hca_rwqe) % 8 == 0,
	       "parts of one piece of memory");

/* One piece of memory, cut up: the first part is for util_free(). Sizes are rounded up to words. */
static bool queues_allocate_parts(const size_t *sizes, size_t count, void **ret_parts)
{
	size_t bytes = 0;
	uint8_t *at;

	for (size_t i = 0; i < count; i++)
		bytes += (sizes[i] + 7) / 8 * 8;
	at = bytes ? util_zalloc(bytes) : NULL;
	if (bytes && !at)
		return false;
	for (size_t i = 0; i < count; i++) {
		ret_parts[i] = at;
		at = at ? at + (sizes[i] + 7) / 8 * 8 : NULL;
	}
	return true;
}

/* Of a queue of nothing there is nothing. */
static uint32_t places(uint32_t depth)
{
	return depth ? hca_pow2(depth) : 0;
}

static uint32_t mask_of(uint32_t depth)
{
	return hca_pow2(depth) - 1;
}

int hca_queues_create(struct hca_qp *qp, uint32_t send_depth, uint32_t recv_depth)
{
	const size_t send = places(send_depth), recv = places(recv_depth);
	const bool sends = hca_has_requester(qp), receives = hca_has_responder(qp);
	const bool is_ud = qp->type == HCA_QPT_UD || qp->type == HCA_QPT_RAW_PACKET;
	const size_t sizes[] = {
		send * sizeof(struct hca_wqe),
		sends ? send * qp->send_sge_max * sizeof(struct hca_local_sge) : 0,
		is_ud ? hca_pow2(send_depth) * sizeof(struct wire_path) : 0,
		sends ? send * qp->inline_max : 0,
		recv * sizeof(struct hca_rwqe),
		receives ? recv * qp->recv_sge_max * sizeof(struct hca_local_sge) : 0,
	};
	void *parts[sizeof(sizes) / sizeof(sizes[0])];

	if (!queues_allocate_parts(sizes, sizeof(sizes) / sizeof(sizes[0]), parts))
		return -ENOMEM;
	if (sends) {
		qp->sq.ring = parts[0];
		qp->sq.paths = is_ud ? parts[2] : NULL;
		qp->sq.mask = mask_of(send_depth);
		qp->sq.depth = send_depth;
	}
	if (receives) {
		qp->rq.ring = parts[4];
		qp->rq.mask = mask_of(recv_depth);
		qp->rq.depth = recv_depth;
	}
	return 0;
}

struct hca_local_sge *hca_sq_list(const struct hca_qp *qp, uint32_t number)
{
	struct hca_local_sge *lists = (void *)(qp->sq.ring + places(qp->sq.depth));

	return lists + (size_t)(number & qp->sq.mask) * qp->send_sge_max;
}

uint8_t *hca_sq_inline(const struct hca_qp *qp, uint32_t number)
{
	void *lists_end = (struct hca_local_sge *)(void *)(qp->sq.ring + places(qp->sq.depth)) +
			  (size_t)places(qp->sq.depth) * qp->send_sge_max;
	uint8_t *bytes = lists_end;

	if (qp->sq.paths)
		bytes += (places(qp->sq.depth) * sizeof(struct wire_path) + 7) / 8 * 8;
	return bytes + (size_t)(number & qp->sq.mask) * qp->inline_max;
}

struct hca_local_sge *hca_rq_list(const struct hca_qp *qp, uint32_t number)
{
	struct hca_local_sge *lists = (void *)(qp->rq.ring + places(qp->rq.depth));

	return lists + (size_t)(number & qp->rq.mask) * qp->recv_sge_max;
}

uint64_t hca_list_bytes(const struct hca_sge *sge, uint32_t sge_count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < sge_count; i++)
		bytes += sge[i].length;
	return bytes;
}

void hca_list_copy(const struct hca_device *dev, struct hca_local_sge *to,
		   const struct hca_sge *from, uint32_t sge_count)
{
	for (uint32_t i = 0; i < sge_count; i++)
		to[i] = (struct hca_local_sge){from[i].addr, from[i].length, from[i].lkey,
					       hca_mr_slot_of(dev, from[i].lkey)};
}

void hca_receive_fill(const struct hca_device *dev, struct hca_rwqe *wqe,
		      struct hca_local_sge *list, const struct hca_recv_wr *wr)
{
	*wqe = (struct hca_rwqe){
		.wr_id = wr->wr_id,
		.length = (uint32_t)hca_list_bytes(wr->sge, wr->sge_count),
		.sge_count = wr->sge_count,
		.sge = list,
	};
	hca_list_copy(dev, list, wr->sge, wr->sge_count);
}

int hca_resources_create(struct hca_qp *qp)
{
	struct hca_rq *rq = &qp->rq;
	const uint32_t count = hca_pow2(qp->res_most);

	if (rq->resources)
		return 0;
	rq->resources = util_calloc(count, sizeof(*rq->resources));
	if (!rq->resources)
		return -ENOMEM;
	rq->res_mask = count - 1;
	return 0;
}

void hca_queues_destroy(struct hca_qp *qp)
{
	/* The first part, and all that was made with it. */
	util_free(hca_has_requester(qp) ? (void *)qp->sq.ring : qp->rq.ring);
	if (hca_has_responder(qp))
		util_free(qp->rq.resources);
}

static void move_wqe(struct hca_qp *qp, const struct hca_sq *from, uint32_t number)
{
	const uint32_t index = number & qp->sq.mask;
	const struct hca_wqe *old = &from->ring[number & from->mask];
	struct hca_wqe *wqe = &qp->sq.ring[index];

	*wqe = *old;
	wqe->sge = hca_sq_list(qp, number);
	if (old->inline_bytes) {
		wqe->inline_bytes = hca_sq_inline(qp, number);
		memcpy(wqe->inline_bytes, old->inline_bytes, qp->inline_max);
	} else if (old->sge_count > 0) {
		memcpy(wqe->sge, old->sge, old->sge_count * sizeof(*wqe->sge));
	}
	if (from->paths)
		qp->sq.paths[index] = from->paths[number & from->mask];
}

static void move_receives(struct hca_qp *qp, const struct hca_rq *from)
{
	for (uint32_t i = 0; i < places(from->depth); i++) {
		struct hca_rwqe *wqe = &qp->rq.ring[i];

		*wqe = from->ring[i];
		wqe->sge = hca_rq_list(qp, i);
		if (wqe->sge_count > 0)
			memcpy(wqe->sge, from->ring[i].sge, wqe->sge_count * sizeof(*wqe->sge));
	}
}

int hca_qp_grow_send(struct hca_device *dev, struct hca_qp *qp, uint32_t depth)
{
	struct hca_sq sq;
	struct hca_rq rq = {.ring = NULL};

	if (!hca_has_requester(qp) || depth < qp->sq.depth || depth > dev->profile.wr_max)
		return -EINVAL;
	sq = qp->sq;
	if (hca_has_responder(qp))
		rq = qp->rq;
	if (hca_queues_create(qp, depth, rq.depth) != 0)
		return -ENOMEM;
	for (uint32_t i = sq.una; i != sq.tail; i++)
		move_wqe(qp, &sq, i);
	move_receives(qp, &rq);
	util_free(sq.ring);
	return 0;
}

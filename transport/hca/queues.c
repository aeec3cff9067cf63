/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* The memory of a queue pair's rings: made at once, and again where the send queue grows. */

_Static_assert(sizeof(struct hca_wqe) % 8 == 0 && sizeof(struct hca_local_sge) % 8 == 0 &&
		       sizeof(struct hca_rwqe) % 8 == 0,
	       "parts of one piece of memory");

/* One piece of memory, cut up: the first part is for util_free(). Sizes are multiples of 8 but for
 * that of paths: behind it come bytes. */
static bool allocate_parts(const size_t *sizes, size_t count, void **ret_parts)
{
	size_t bytes = 0;
	uint8_t *at;

	for (size_t i = 0; i < count; i++)
		bytes += sizes[i];
	at = util_calloc(1, bytes);
	if (!at)
		return false;
	for (size_t i = 0; i < count; at += sizes[i++])
		ret_parts[i] = at;
	return true;
}

int hca_queues_create(struct hca_qp *qp, uint32_t send_depth, uint32_t recv_depth)
{
	const uint32_t send = hca_pow2(send_depth), recv = hca_pow2(recv_depth);
	const bool is_ud = qp->type == HCA_QPT_UD;

	const size_t sizes[] = {
		send_depth ? send * sizeof(*qp->sq.ring) : 0,
		(size_t)send * qp->send_sge_max * sizeof(*qp->sq.sges),
		recv * sizeof(*qp->rq.ring),
		(size_t)recv * qp->recv_sge_max * sizeof(*qp->rq.sges),
		is_ud ? send * sizeof(*qp->sq.paths) : 0,
		(size_t)send * qp->inline_max,
	};
	void *parts[sizeof(sizes) / sizeof(sizes[0])];

	if (!allocate_parts(sizes, sizeof(sizes) / sizeof(sizes[0]), parts))
		return -ENOMEM;
	qp->sq.ring = parts[0];
	qp->sq.sges = parts[1];
	qp->rq.ring = parts[2];
	qp->rq.sges = parts[3];
	qp->sq.paths = is_ud ? parts[4] : NULL;
	qp->sq.inline_bytes = parts[5];
	qp->sq.mask = send - 1;
	qp->sq.depth = send_depth;
	qp->rq.mask = recv - 1;
	qp->rq.depth = recv_depth;
	return 0;
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
	util_free(qp->sq.ring); /* and all that was made with it */
	util_free(qp->rq.resources);
}

static void move_wqe(struct hca_qp *qp, const struct hca_sq *from, uint32_t number)
{
	const uint32_t index = number & qp->sq.mask;
	const struct hca_wqe *old = &from->ring[number & from->mask];
	struct hca_wqe *wqe = &qp->sq.ring[index];

	*wqe = *old;
	wqe->sge = qp->sq.sges + (size_t)index * qp->send_sge_max;
	if (old->inline_bytes) {
		wqe->inline_bytes = qp->sq.inline_bytes + (size_t)index * qp->inline_max;
		memcpy(wqe->inline_bytes, old->inline_bytes, qp->inline_max);
	} else if (old->sge_count > 0) {
		memcpy(wqe->sge, old->sge, old->sge_count * sizeof(*wqe->sge));
	}
	if (from->paths)
		qp->sq.paths[index] = from->paths[number & from->mask];
}

static void move_receives(struct hca_qp *qp, const struct hca_rq *from)
{
	const size_t sges = qp->recv_sge_max;

	for (uint32_t i = 0; i <= from->mask; i++) {
		struct hca_rwqe *wqe = &qp->rq.ring[i];

		*wqe = from->ring[i];
		wqe->sge = qp->rq.sges + i * sges;
		if (wqe->sge_count > 0)
			memcpy(wqe->sge, from->ring[i].sge, wqe->sge_count * sizeof(*wqe->sge));
	}
}

int hca_qp_grow_send(struct hca_device *dev, struct hca_qp *qp, uint32_t depth)
{
	const struct hca_sq sq = qp->sq;
	const struct hca_rq rq = qp->rq;

	if (depth < sq.depth || depth > dev->profile.wr_max)
		return -EINVAL;
	if (hca_queues_create(qp, depth, rq.depth) != 0)
		return -ENOMEM;
	for (uint32_t i = sq.una; i != sq.tail; i++)
		move_wqe(qp, &sq, i);
	move_receives(qp, &rq);
	util_free(sq.ring);
	return 0;
}

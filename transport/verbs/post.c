/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <stdlib.h>

/* A list of requests goes down as one array, so that the adapter is asked once for all of them. A
 * list may be as long as it likes, or go in a circle; no queue takes more than wr_max. */

enum { FEW = 4 }; /* lists up to here need no memory */

static uint32_t more_than_any_takes(struct ibv_context *context)
{
	return vrb_device(context)->info.wr_max + 1;
}

static struct ibv_send_wr *send_at(struct ibv_send_wr *wr, uint32_t index)
{
	while (index-- > 0)
		wr = wr->next;
	return wr;
}

static struct ibv_recv_wr *recv_at(struct ibv_recv_wr *wr, uint32_t index)
{
	while (index-- > 0)
		wr = wr->next;
	return wr;
}

/* Of the requests before the first that is none at all, those that the adapter takes. */
static int verbs_post_send(struct ibv_qp *qp, uint32_t listed, struct ibv_send_wr *wr,
			   struct hca_send_wr *hca, uint32_t *ret_done)
{
	uint32_t count = 0;
	int bad = 0, ret;

	while (count < listed) {
		bad = vrb_send_wr(&hca[count], wr, qp->qp_type);
		if (bad != 0)
			break;
		wr = wr->next;
		count++;
	}
	ret = vrb_backend(qp->context)
		      ->post_send(vrb_self(qp->context), VRB_TO(vrb_qp, ibv, qp)->handle, listed,
				  count > 0 ? hca : NULL, count, ret_done);
	if (ret == 0 && bad == 0 && wr)
		return -ENOMEM; /* more than any queue takes */
	return ret ? ret : bad;
}

int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	const uint32_t max = more_than_any_takes(qp->context);
	struct hca_send_wr few[FEW], *hca = few;
	uint32_t listed = 0, done = 0;
	int ret = -ENOMEM;

	for (const struct ibv_send_wr *w = wr; w && listed < max; w = w->next)
		listed++;
	if (listed > FEW)
		hca = malloc(listed * sizeof(*hca));
	if (hca)
		ret = verbs_post_send(qp, listed, wr, hca, &done);
	if (hca != few)
		free(hca);
	if (ret != 0)
		*bad_wr = send_at(wr, done);
	return vrb_positive(ret);
}

typedef int post_fn(void *self, uint64_t queue, uint32_t listed, const struct hca_recv_wr *wr,
		    uint32_t count, uint32_t *ret_done);

/* Where receives go to. */
struct receive_queue {
	struct ibv_context *context;
	post_fn *post;
	uint64_t handle;
};

static int verbs_post_recv(const struct receive_queue *queue, uint32_t listed,
			   struct ibv_recv_wr *wr, struct hca_recv_wr *hca, uint32_t *ret_done)
{
	uint32_t count = 0;
	int bad = 0, ret;

	while (count < listed) {
		bad = vrb_recv_wr(&hca[count], wr);
		if (bad != 0)
			break;
		wr = wr->next;
		count++;
	}
	ret = queue->post(vrb_self(queue->context), queue->handle, listed, count > 0 ? hca : NULL,
			  count, ret_done);
	if (ret == 0 && bad == 0 && wr)
		return -ENOMEM; /* more than any queue takes */
	return ret ? ret : bad;
}

static int verbs_post_receives(const struct receive_queue *queue, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr)
{
	const uint32_t max = more_than_any_takes(queue->context);
	struct hca_recv_wr few[FEW], *hca = few;
	uint32_t listed = 0, done = 0;
	int ret = -ENOMEM;

	for (const struct ibv_recv_wr *w = wr; w && listed < max; w = w->next)
		listed++;
	if (listed > FEW)
		hca = malloc(listed * sizeof(*hca));
	if (hca)
		ret = verbs_post_recv(queue, listed, wr, hca, &done);
	if (hca != few)
		free(hca);
	if (ret != 0)
		*bad_wr = recv_at(wr, done);
	return vrb_positive(ret);
}

int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	const struct receive_queue queue = {.context = qp->context,
					    .post = vrb_backend(qp->context)->post_recv,
					    .handle = VRB_TO(vrb_qp, ibv, qp)->handle};

	return verbs_post_receives(&queue, wr, bad_wr);
}

int vrb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	const struct receive_queue queue = {.context = srq->context,
					    .post = vrb_backend(srq->context)->post_srq_recv,
					    .handle = VRB_TO(vrb_srq, ibv, srq)->handle};

	return verbs_post_receives(&queue, wr, bad_wr);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives that queue pairs share. */
#include "transport/verbs/local.h"

#include <errno.h>

static int add_srq(struct vrb_local *local, const struct vrb_srq_init *init,
		   struct vrb_object **ret_object)
{
	const struct vrb_object *pd = vrb_local_find(local, init->pd, VRB_PD);
	const struct vrb_object *xrcd = vrb_local_find(local, init->xrcd, VRB_XRCD);
	const struct vrb_object *cq = vrb_local_find(local, init->cq, VRB_CQ);
	struct hca_srq_init hca = {.depth = init->depth, .sge_max = init->sge_max};
	struct vrb_object *object;
	struct hca_srq *srq;
	int ret;

	if (!pd || (init->xrcd != 0 && !xrcd) || (init->cq != 0 && !cq))
		return -EINVAL;
	ret = vrb_local_add(local, VRB_SRQ, &object);
	if (ret < 0)
		return ret;
	hca.pd = pd->hca;
	hca.owner = object;
	if (xrcd && cq) {
		hca.xrcd = xrcd->hca;
		hca.cq = cq->hca;
		hca.identity = local->world->ops->qp_identity(local->world);
	}
	ret = vrb_local_set_channels(object, 0, init->async);
	if (ret == 0)
		ret = hca_srq_create(local->world->hca, &hca, &srq);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = srq;
	*ret_object = object;
	return 0;
}

int vrb_local_create_srq(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			 uint32_t *ret_number)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *object;
	int ret;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	ret = add_srq(local, init, &object);
	if (ret == 0) {
		*ret_srq = object->handle;
		*ret_number = hca_srq_number(object->hca);
	}
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_destroy_srq(void *self, uint64_t handle)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *srq;
	int ret = -EINVAL;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	srq = vrb_local_find(local, handle, VRB_SRQ);
	if (srq)
		ret = hca_srq_destroy(world->hca, srq->hca);
	if (ret == 0)
		vrb_local_remove(srq);
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_modify_srq(void *self, uint64_t handle, const struct hca_srq_attr *attr,
			 uint32_t mask)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *srq;
	int ret = -EINVAL;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	srq = vrb_local_find(local, handle, VRB_SRQ);
	if (srq)
		ret = hca_srq_modify(world->hca, srq->hca, attr, mask);
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_query_srq(void *self, uint64_t handle, struct hca_srq_attr *ret_attr)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *srq;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	srq = vrb_local_find(local, handle, VRB_SRQ);
	if (srq)
		hca_srq_query(srq->hca, ret_attr);
	world->ops->leave(world, false);
	return srq ? 0 : -EINVAL;
}

int vrb_local_post_srq_recv(void *self, uint64_t handle, uint32_t listed,
			    const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *srq;
	uint32_t done = 0;
	int ret;

	world->ops->enter(world, VRB_CALL_POST_RECV, listed);
	srq = vrb_local_find(local, handle, VRB_SRQ);
	ret = srq ? 0 : -EINVAL;
	for (; ret == 0 && done < count; done += ret == 0) {
		if (__builtin_expect(world->faults != NULL, false))
			ret = vrb_local_fault_recv(local, NULL);
		if (ret == 0)
			ret = hca_srq_post_recv(world->hca, srq->hca, &wr[done]);
	}
	world->ops->leave(world, false);
	*ret_done = done;
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Domains of XRC, and queue pairs that are known by several handles. */
#include "transport/verbs/local.h"

#include <errno.h>

int vrb_local_open_xrcd(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *object;
	struct hca_xrcd *xrcd;
	int ret;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	ret = vrb_local_add(local, VRB_XRCD, &object);
	if (ret == 0) {
		ret = hca_xrcd_open(world->hca, init, &xrcd);
		if (ret < 0)
			vrb_local_remove(object);
	}
	if (ret == 0) {
		object->hca = xrcd;
		*ret_xrcd = object->handle;
	}
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_close_xrcd(void *self, uint64_t handle)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *xrcd;
	int ret = -EINVAL;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	xrcd = vrb_local_find(local, handle, VRB_XRCD);
	if (xrcd)
		ret = hca_xrcd_close(world->hca, xrcd->hca);
	if (ret == 0)
		vrb_local_remove(xrcd);
	world->ops->leave(world, false);
	return ret;
}

static int add_way(struct vrb_local *local, const struct vrb_qp_open *open,
		   struct vrb_object **ret_object)
{
	const struct vrb_object *xrcd = vrb_local_find(local, open->xrcd, VRB_XRCD);
	struct vrb_object *object, *last;
	struct hca_qp *qp;
	int ret;

	if (!xrcd)
		return -EINVAL;
	ret = vrb_local_add(local, VRB_QP, &object);
	if (ret < 0)
		return ret;
	ret = vrb_local_set_channels(object, 0, open->async);
	if (ret == 0)
		ret = hca_qp_open(local->world->hca, xrcd->hca, open->qpn, &qp);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = qp;
	last = hca_qp_owner(qp);
	while (last->twin)
		last = last->twin;
	last->twin = object;
	*ret_object = object;
	return 0;
}

int vrb_local_open_qp(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *object;
	int ret;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	ret = add_way(local, open, &object);
	if (ret == 0)
		*ret_qp = object->handle;
	world->ops->leave(world, false);
	return ret;
}

void vrb_local_part(struct vrb_object *qp)
{
	struct vrb_object *first = hca_qp_owner(qp->hca), **at = &first;

	while (*at != qp)
		at = &(*at)->twin;
	*at = qp->twin;
	hca_qp_set_owner(qp->hca, first);
}

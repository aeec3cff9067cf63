/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows. */
#include "transport/verbs/local.h"

#include <errno.h>

static int add_mw(struct vrb_local *local, uint64_t pd, enum hca_mw_type type,
		  struct vrb_object **ret_object)
{
	const struct vrb_object *in = vrb_local_find(local, pd, VRB_PD);
	struct vrb_object *object;
	struct hca_mw *mw;
	int ret;

	if (!in)
		return -EINVAL;
	ret = vrb_local_add(local, VRB_MW, &object);
	if (ret < 0)
		return ret;
	ret = hca_mw_create(local->world->hca, in->hca, type, &mw);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = mw;
	*ret_object = object;
	return 0;
}

int vrb_local_create_mw(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			uint32_t *ret_rkey)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *object;
	int ret;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	ret = add_mw(local, pd, type, &object);
	if (ret == 0) {
		*ret_mw = object->handle;
		*ret_rkey = hca_mw_rkey(object->hca);
	}
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_destroy_mw(void *self, uint64_t handle)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *mw;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	mw = vrb_local_find(local, handle, VRB_MW);
	if (mw) {
		hca_mw_destroy(world->hca, mw->hca);
		vrb_local_remove(mw);
	}
	world->ops->leave(world, false);
	return mw ? 0 : -EINVAL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory of an adapter in this address space (transport/verbs/local.c). */
#include "transport/verbs/local.h"

#include <errno.h>

int vrb_local_create_pd(void *self, uint64_t *ret_pd)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	struct hca_pd *pd;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = vrb_local_add(local, VRB_PD, &object);
	if (ret == 0) {
		ret = hca_pd_create(local->world->hca, &pd);
		if (ret < 0)
			vrb_local_remove(object);
	}
	if (ret == 0) {
		object->hca = pd;
		*ret_pd = object->handle;
	}
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_destroy_pd(void *self, uint64_t pd)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, pd, VRB_PD);
	if (object)
		ret = hca_pd_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	vrb_local_leave(local, false);
	return ret;
}

/* What is not at the program's addresses: 0, or -EXXX. */
static int find_place(struct vrb_world *world, const struct vrb_mr_init *init,
		      struct hca_mr_params *params)
{
	struct vrb_location location;
	int ret = 0;

	if (!world->locate || init->is_null || init->dm != 0 ||
	    !world->locate(world, init->addr, init->length, init->is_exported, &location, &ret))
		return ret;
	params->ops = world->memory;
	params->address = location.address;
	params->place = location.place;
	params->is_unreadable = location.is_unreadable;
	return 0;
}

/* What is at @place of the machine, from 1, is no region any more. */
static void leave_place(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
			uint16_t place)
{
	if (place > 0)
		world->let_go(world, address, length, exported, place);
}

/* -EINVAL: no such memory of the device; or as find_place(). */
static int to_params(const struct vrb_local *local, const struct vrb_mr_init *init,
		     struct hca_mr_params *ret_params)
{
	const struct vrb_object *dm = vrb_local_find(local, init->dm, VRB_DM);
	struct vrb_world *world = local->world;

	if (init->dm != 0 && !dm)
		return -EINVAL;
	*ret_params = (struct hca_mr_params){.ops = init->is_null	 ? &hca_mem_null
						    : init->is_on_demand ? world->doubtful
									 : world->memory,
					     .iova = init->iova,
					     .length = init->length,
					     .access = init->access,
					     .is_on_demand = init->is_on_demand,
					     .address = init->addr,
					     .dm = dm ? dm->hca : NULL};
	return find_place(world, init, ret_params);
}

static int make_mr(struct vrb_local *local, struct vrb_object *pd, const struct vrb_mr_init *init,
		   struct vrb_object **ret_object)
{
	struct hca_mr_params params;
	struct vrb_object *object;
	struct hca_mr *mr;
	int ret = to_params(local, init, &params);

	if (ret < 0)
		return ret;
	ret = vrb_local_add(local, VRB_MR, &object);
	if (ret == 0) {
		ret = hca_mr_create(local->world->hca, pd->hca, &params, &mr);
		if (ret < 0)
			vrb_local_remove(object);
	}
	if (ret < 0) {
		leave_place(local->world, params.address, params.length, init->is_exported,
			    params.place);
		return ret;
	}
	object->hca = mr;
	object->is_exported = init->is_exported;
	*ret_object = object;
	return 0;
}

int vrb_local_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			struct vrb_mr_info *ret_info)
{
	struct vrb_local *local = self;
	struct vrb_object *in, *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_REG_MR, init->length);
	in = vrb_local_find(local, pd, VRB_PD);
	if (in)
		ret = make_mr(local, in, init, &object);
	if (ret == 0) {
		const struct hca_mr *mr = object->hca;

		*ret_info = (struct vrb_mr_info){object->handle, mr->lkey, mr->rkey, mr->number};
	}
	vrb_local_leave(local, false);
	return ret;
}

/* It leaves where it was, or where it would have been. */
static int move_mr(struct vrb_world *world, struct vrb_object *object, struct hca_pd *pd,
		   const struct hca_mr_params *params, bool exported)
{
	const struct hca_mr before = *(const struct hca_mr *)object->hca;
	const int ret = hca_mr_change(world->hca, object->hca, pd, params);

	if (ret < 0) {
		leave_place(world, params->address, params->length, exported, params->place);
		return ret;
	}
	leave_place(world, before.address, before.length, object->is_exported, before.place);
	object->is_exported = exported;
	return 0;
}

int vrb_local_change_mr(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init)
{
	struct vrb_local *local = self;
	struct vrb_object *object, *in;
	struct hca_mr_params params;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_REG_MR, init->length);
	object = vrb_local_find(local, mr, VRB_MR);
	in = vrb_local_find(local, pd, VRB_PD);
	if (object && in)
		ret = to_params(local, init, &params);
	if (ret == 0)
		ret = move_mr(local->world, object, in->hca, &params, init->is_exported);
	vrb_local_leave(local, false);
	return ret;
}

static int end_mr(struct vrb_world *world, const struct vrb_object *object)
{
	const struct hca_mr before = *(const struct hca_mr *)object->hca;
	const int ret = hca_mr_destroy(world->hca, object->hca);

	if (ret == 0)
		leave_place(world, before.address, before.length, object->is_exported,
			    before.place);
	return ret;
}

int vrb_local_destroy_mr(void *self, uint64_t mr)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, mr, VRB_MR);
	if (object)
		ret = end_mr(local->world, object);
	if (ret == 0)
		vrb_local_remove(object);
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_advise_mr(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			uint32_t count)
{
	struct vrb_local *local = self;
	const struct vrb_object *in;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	in = vrb_local_find(local, pd, VRB_PD);
	ret = in ? 0 : -EINVAL;
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		ret = hca_mr_advise(local->world->hca, in->hca, sge[i].lkey, sge[i].addr,
				    sge[i].length, writes);
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_create_dm(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	struct hca_dm *dm;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = vrb_local_add(local, VRB_DM, &object);
	if (ret == 0) {
		ret = hca_dm_create(local->world->hca, length, log_align, &dm);
		if (ret < 0)
			vrb_local_remove(object);
	}
	if (ret == 0) {
		object->hca = dm;
		*ret_dm = object->handle;
	}
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_destroy_dm(void *self, uint64_t dm)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, dm, VRB_DM);
	if (object)
		ret = hca_dm_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_write_dm(void *self, uint64_t dm, uint64_t offset, const void *bytes, uint64_t length)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, dm, VRB_DM);
	if (object)
		ret = hca_dm_write(object->hca, offset, bytes, length);
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_read_dm(void *self, uint64_t dm, uint64_t offset, void *ret_bytes, uint64_t length)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, dm, VRB_DM);
	if (object)
		ret = hca_dm_read(object->hca, offset, ret_bytes, length);
	vrb_local_leave(local, false);
	return ret;
}

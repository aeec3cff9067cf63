/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

/* Memory of the device (transport/hca/mem.h). */

static int memcpy_to_dm(struct ibv_dm *ibv, uint64_t dm_offset, const void *host_addr,
			size_t length)
{
	return vrb_positive(vrb_backend(ibv->context)
				    ->write_dm(vrb_self(ibv->context),
					       VRB_TO(vrb_dm, ibv, ibv)->handle, dm_offset,
					       host_addr, length));
}

static int memcpy_from_dm(void *host_addr, struct ibv_dm *ibv, uint64_t dm_offset, size_t length)
{
	return vrb_positive(vrb_backend(ibv->context)
				    ->read_dm(vrb_self(ibv->context),
					      VRB_TO(vrb_dm, ibv, ibv)->handle, dm_offset,
					      host_addr, length));
}

struct ibv_dm *vrb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vrb_dm *dm;
	int ret;

	if (attr->comp_mask != 0)
		return vrb_null(-EINVAL);
	dm = vrb_calloc(1, sizeof(*dm));
	if (!dm)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->create_dm(vrb_self(context), attr->length, attr->log_align_req,
					      &dm->handle);
	dm->ibv = (struct ibv_dm){
		.context = context, .memcpy_to_dm = memcpy_to_dm, .memcpy_from_dm = memcpy_from_dm};
	dm->ibv.handle = (uint32_t)dm->handle & ((1u << VRB_TABLE_INDEX_BITS) - 1);
	if (ret == 0) {
		ret = vrb_note(vrb_device(context), dm->handle, dm);
		if (ret < 0)
			(void)vrb_backend(context)->destroy_dm(vrb_self(context), dm->handle);
	}
	if (ret < 0) {
		vrb_free(dm);
		return vrb_null(ret);
	}
	vrb_context_get(context);
	return &dm->ibv;
}

int vrb_free_dm(struct ibv_dm *ibv)
{
	struct vrb_dm *dm = VRB_TO(vrb_dm, ibv, ibv);
	struct ibv_context *context = ibv->context;
	int ret = vrb_backend(context)->destroy_dm(vrb_self(context), dm->handle);

	if (ret < 0)
		return vrb_positive(ret);
	vrb_drop_shared(vrb_device(context), dm->handle);
	vrb_free(dm);
	vrb_context_put(context);
	return 0;
}

/* Addresses in it begin at 0, as the kernel demands (uverbs_std_types_dm.c, IB_ZERO_BASED). */
struct ibv_mr *vrb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t dm_offset,
			     size_t length, unsigned int access)
{
	struct vrb_mr_init init = {
		.addr = dm_offset, .length = length, .dm = VRB_TO(vrb_dm, ibv, ibv)->handle};
	struct vrb_mr *mr;
	const unsigned int no_use = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;
	int ret = -EINVAL;

	if (access & IBV_ACCESS_ZERO_BASED && !(access & no_use) && pd->context == ibv->context)
		ret = vrb_access(access, &init.access);
	if (ret == 0)
		ret = vrb_mr_create(pd, NULL, &init, &mr);
	return ret < 0 ? vrb_null(ret) : &mr->ibv;
}

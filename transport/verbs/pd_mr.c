/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vrb_pd *pd = vrb_calloc(1, sizeof(*pd));
	int ret;

	if (!pd)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->create_pd(vrb_self(context), &pd->handle);
	if (ret < 0) {
		vrb_free(pd);
		return vrb_null(ret);
	}
	pd->ibv.context = context;
	vrb_context_get(context);
	return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vrb_pd *pd = VRB_TO(vrb_pd, ibv, ibv);
	struct ibv_context *context = ibv->context;
	int ret;

	if (__atomic_load_n(&pd->ah_count, __ATOMIC_ACQUIRE) != 0)
		return vrb_positive(-EBUSY);
	ret = vrb_backend(context)->destroy_pd(vrb_self(context), pd->handle);
	if (ret < 0)
		return vrb_positive(ret);
	vrb_free(pd);
	vrb_context_put(context);
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vrb_pd *pd = VRB_TO(vrb_pd, ibv, ibv);
	struct vrb_mr_init init = {
		.addr = (uint64_t)(uintptr_t)addr, .iova = iova, .length = length};
	struct vrb_mr_info info;
	struct vrb_mr *mr;
	const unsigned int writing = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	int ret = vrb_access(access, &init.access);

	if (ret < 0)
		return vrb_null(ret);
	if (init.addr + length < init.addr)
		return vrb_null(-EINVAL);
	ret = vrb_mapped_check(init.addr, length, access & writing);
	if (ret < 0)
		return vrb_null(ret);
	mr = vrb_calloc(1, sizeof(*mr));
	if (!mr)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(ibv->context)
		      ->create_mr(vrb_self(ibv->context), pd->handle, &init, &info);
	if (ret < 0) {
		vrb_free(mr);
		return vrb_null(ret);
	}
	mr->handle = info.mr;
	mr->ibv = (struct ibv_mr){.context = ibv->context,
				  .pd = ibv,
				  .addr = addr,
				  .length = length,
				  .handle = info.number,
				  .lkey = info.lkey,
				  .rkey = info.rkey};
	vrb_context_get(ibv->context);
	return &mr->ibv;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

/* Refused, and the caller's region stays valid. */
int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	(void)mr, (void)pd, (void)addr, (void)length, (void)access;
	errno = flags & ~IBV_REREG_MR_FLAGS_SUPPORTED ? EINVAL : EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_mr *mr = VRB_TO(vrb_mr, ibv, ibv);
	int ret = vrb_backend(context)->destroy_mr(vrb_self(context), mr->handle);

	if (ret < 0)
		return vrb_positive(ret);
	vrb_free(mr);
	vrb_context_put(context);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"
#include "transport/verbs/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vrb_pd *pd = vrb_calloc(1, sizeof(*pd));
	int ret;

	if (!pd)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->create_pd(vrb_self(context), &pd->handle);
	pd->ibv.context = context;
	pd->ibv.handle = (uint32_t)pd->handle & ((1u << VRB_TABLE_INDEX_BITS) - 1);
	if (ret == 0) {
		ret = vrb_note(vrb_device(context), pd->handle, pd);
		if (ret < 0)
			(void)vrb_backend(context)->destroy_pd(vrb_self(context), pd->handle);
	}
	if (ret < 0) {
		vrb_free(pd);
		return vrb_null(ret);
	}
	vrb_context_get(context);
	return &pd->ibv;
}

static int dealloc_parent_domain(struct vrb_pd *pd)
{
	if (pd->td)
		__atomic_sub_fetch(&pd->td->use_count, 1, __ATOMIC_RELEASE);
	vrb_pd_put(pd->of);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vrb_pd *pd = VRB_TO(vrb_pd, ibv, ibv);
	struct ibv_context *context = ibv->context;
	int ret;

	if (__atomic_load_n(&pd->use_count, __ATOMIC_ACQUIRE) != (uint32_t)pd->is_imported)
		return vrb_positive(-EBUSY);
	ret = pd->of ? dealloc_parent_domain(pd)
		     : vrb_backend(context)->destroy_pd(vrb_self(context), pd->handle);
	if (ret < 0)
		return vrb_positive(ret);
	if (!pd->of)
		vrb_drop_shared(vrb_device(context), pd->handle);
	vrb_free(pd);
	vrb_context_put(context);
	return 0;
}

int vrb_mr_create(struct ibv_pd *pd, void *addr, const struct vrb_mr_init *init,
		  struct vrb_mr **ret_mr)
{
	struct vrb_mr *mr = vrb_calloc(1, sizeof(*mr));
	struct vrb_mr_info info;
	int ret;

	if (!mr)
		return -ENOMEM;
	ret = vrb_backend(pd->context)
		      ->create_mr(vrb_self(pd->context), VRB_TO(vrb_pd, ibv, pd)->handle, init,
				  &info);
	if (ret < 0) {
		vrb_free(mr);
		return ret;
	}
	mr->handle = info.mr;
	mr->init = *init;
	mr->ibv = (struct ibv_mr){.context = pd->context,
				  .pd = pd,
				  .addr = addr,
				  .length = init->length,
				  .handle = info.number,
				  .lkey = info.lkey,
				  .rkey = info.rkey};
	ret = vrb_note(vrb_device(pd->context), mr->handle, mr);
	if (ret < 0) {
		(void)vrb_backend(pd->context)->destroy_mr(vrb_self(pd->context), mr->handle);
		vrb_free(mr);
		return ret;
	}
	vrb_context_get(pd->context);
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	*ret_mr = mr;
	return 0;
}

/* What the adapter knows of are the rights. ZERO_BASED is the caller's to obey. Memory of programs
 * is always mapped to the adapter; what is on demand may be there later, or never. */
static int mr_rights(unsigned int access, struct vrb_mr_init *init)
{
	if (access & HCA_ACCESS_FLUSH_PERSISTENT) /* no memory of a program's is */
		return -EINVAL;
	init->is_on_demand = access & IBV_ACCESS_ON_DEMAND;
	return vrb_access(access, &init->access);
}

/* The program can reach [init->addr, + init->length) as @access says. */
static int check_range(const struct vrb_mr_init *init, unsigned int access)
{
	const unsigned int writing = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	if (init->addr + init->length < init->addr)
		return -EINVAL;
	return init->is_on_demand || vrb_is_elsewhere(init->addr)
		       ? 0
		       : vrb_mapped_check(init->addr, init->length, access & writing);
}

/* Of addresses from 0 to the end of all: implicitly on demand. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vrb_mr_init init = {.addr = (uintptr_t)addr, .iova = iova, .length = length};
	struct vrb_mr *mr;
	int ret = mr_rights(access, &init);

	if (access & IBV_ACCESS_ZERO_BASED) {
		if (iova != init.addr && iova != 0)
			ret = -EINVAL;
		init.iova = 0;
	}
	if (ret == 0)
		ret = check_range(&init, access);
	if (ret == 0)
		ret = vrb_mr_create(pd, addr, &init, &mr);
	return ret < 0 ? vrb_null(ret) : &mr->ibv;
}

struct ibv_mr *vrb_alloc_null_mr(struct ibv_pd *pd)
{
	const struct vrb_mr_init init = {
		.length = UINT64_MAX, .access = HCA_ACCESS_LOCAL_WRITE, .is_null = true};
	struct vrb_mr *mr;
	int ret = vrb_mr_create(pd, NULL, &init, &mr);

	return ret < 0 ? vrb_null(ret) : &mr->ibv;
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

/* What rdma-core refuses before it asks a device. */
static int check_rereg(int flags, const struct ibv_pd *pd, const void *addr, size_t length,
		       int access)
{
	if (flags == 0 || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return -EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (length == 0 || !addr))
		return -EINVAL;
	if (access != 0 && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return -EINVAL;
	return flags & IBV_REREG_MR_CHANGE_PD && !pd ? -EINVAL : 0;
}

static int change(struct vrb_mr *mr, const struct vrb_mr_init *init, struct ibv_pd *pd)
{
	struct ibv_context *context = mr->ibv.context;
	int ret;

	if (pd->context != context)
		return -EINVAL;
	ret = vrb_backend(context)->change_mr(vrb_self(context), mr->handle,
					      VRB_TO(vrb_pd, ibv, pd)->handle, init);
	if (ret < 0)
		return ret;
	vrb_pd_put(VRB_TO(vrb_pd, ibv, mr->ibv.pd));
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	mr->ibv.pd = pd;
	mr->init = *init;
	return 0;
}

/* Whatever is refused, the caller's region stays as it was. */
int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct vrb_mr *mr = VRB_TO(vrb_mr, ibv, ibv);
	struct vrb_mr_init init = mr->init;
	int ret = check_rereg(flags, pd, addr, length, access);

	if (ret == 0 && (mr->map || init.dm != 0 || init.is_null))
		ret = -EOPNOTSUPP;
	if (ret == 0 && flags & IBV_REREG_MR_CHANGE_ACCESS)
		ret = mr_rights((unsigned int)access, &init);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		init.addr = init.iova = (uintptr_t)addr;
		init.length = length;
	}
	if (ret == 0)
		ret = check_range(&init, init.access);
	if (ret == 0)
		ret = change(mr, &init, flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd);
	if (ret < 0) {
		errno = -ret;
		return IBV_REREG_MR_ERR_INPUT;
	}
	ibv->length = init.length;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		ibv->addr = addr;
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_mr *mr = VRB_TO(vrb_mr, ibv, ibv);
	int ret = vrb_backend(context)->destroy_mr(vrb_self(context), mr->handle);

	if (ret < 0)
		return vrb_positive(ret);
	vrb_drop_shared(vrb_device(context), mr->handle);
	if (mr->map)
		munmap(mr->map, mr->map_bytes);
	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	vrb_free(mr);
	vrb_context_put(context);
	return 0;
}

/* A dma-buf is mapped for as long as it is registered: its memory is reached as the program's is,
 * and may be cut off behind its back. What cannot be mapped is not supported. */
static int map_dmabuf(struct vrb_mr *ret_mapped, int fd, uint64_t offset, size_t length,
		      bool writes)
{
	const uint64_t start = offset & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	const size_t bytes = length + (size_t)(offset - start);
	const off_t end = lseek(fd, 0, SEEK_END);

	if (fcntl(fd, F_GETFD) < 0)
		return -EBADF;
	if (length == 0 || bytes < length || (end >= 0 && offset + length > (uint64_t)end))
		return -EINVAL;
	ret_mapped->map = mmap(NULL, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			       fd, (off_t)start);
	if (ret_mapped->map == MAP_FAILED)
		return -EOPNOTSUPP;
	ret_mapped->map_bytes = bytes;
	ret_mapped->init.addr = (uintptr_t)ret_mapped->map + (offset - start);
	return 0;
}

/* That of a GPU which the world knows, or any other. */
static int find_dmabuf(struct vrb_mr *ret_mapped, int fd, uint64_t offset, size_t length,
		       bool writes)
{
	const int ret = vrb_find_dmabuf(fd, offset, length, &ret_mapped->init.addr);

	ret_mapped->init.is_exported = ret == 0;
	if (ret != -ENOENT)
		return ret;
	ret_mapped->init.is_on_demand = true;
	return map_dmabuf(ret_mapped, fd, offset, length, writes);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	/* Those that the kernel takes for one: uverbs_std_types_mr.c. */
	const int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
			  IBV_ACCESS_RELAXED_ORDERING;
	struct vrb_mr mapped = {.init = {.iova = iova, .length = length}}, *mr;
	int ret = access & ~known ? -EINVAL : mr_rights((unsigned int)access, &mapped.init);

	if (ret == 0)
		ret = find_dmabuf(&mapped, fd, offset, length, access & IBV_ACCESS_LOCAL_WRITE);
	if (ret < 0)
		return vrb_null(ret);
	ret = vrb_mr_create(pd, NULL, &mapped.init, &mr);
	if (ret < 0) {
		if (mapped.map)
			munmap(mapped.map, mapped.map_bytes);
		return vrb_null(ret);
	}
	mr->map = mapped.map;
	mr->map_bytes = mapped.map_bytes;
	return &mr->ibv;
}

/* Everything is mapped at once, whoever asks for how much of it. */
int vrb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sges)
{
	const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	if (!writes && advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vrb_positive(-EOPNOTSUPP);
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || num_sges == 0)
		return vrb_positive(-EINVAL);
	return vrb_positive(
		vrb_backend(pd->context)
			->advise_mr(vrb_self(pd->context), VRB_TO(vrb_pd, ibv, pd)->handle, writes,
				    (const struct hca_sge *)(const void *)sg_list, num_sges));
}

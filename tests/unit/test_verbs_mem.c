/* SPDX-License-Identifier: BSD-2-Clause */

/* Memory of other kinds than what is there and the program's: on demand, the device's, a dma-buf's;
 * what becomes of a region that changes; domains over domains. */
#include "tests/unit/verbs_test.h"

#include <sys/mman.h>

enum {
	PAGE = 4096,
	ALL_REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
};

/* What the queue pair of @b lets @a do. */
static void connect_with_all_rights(void)
{
	struct ibv_qp_attr attr = {.qp_access_flags = ALL_REMOTE | IBV_ACCESS_ON_DEMAND};

	connect_both();
	assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
}

/* 8 bytes between a.bytes and @b's memory. */
static enum ibv_wc_status transfer(enum ibv_wr_opcode opcode, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};

	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = opcode,
							    .send_flags = IBV_SEND_SIGNALED,
							    .sg_list = &sge,
							    .num_sge = 1,
							    .wr.rdma = {remote_addr, rkey}}),
			 0);
	return poll_one(&a).status;
}

static struct ibv_mr *reg(void *addr, size_t length, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr_iova2(b.pd, addr, length, (uintptr_t)addr, access);

	assert_non_null(mr);
	return mr;
}

static void test_what_is_on_demand_need_not_be_there(void **state)
{
	const unsigned int access = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE;
	uint8_t *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	(void)state;
	assert_int_equal(munmap(page, PAGE), 0);
	assert_fails(EFAULT, !ibv_reg_mr(b.pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE));
	mr = reg(page, PAGE, access);
	connect_with_all_rights();
	assert_ptr_equal(mmap(page, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 page);
	memcpy(a.bytes, "is there", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)page, mr->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(page, "is there", 8);
	assert_int_equal(munmap(page, PAGE), 0);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, (uintptr_t)page, mr->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* One region of every address. */
static void test_all_that_there_is_on_demand(void **state)
{
	struct ibv_mr *mr =
		reg(NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);

	(void)state;
	assert_fails(EFAULT, !ibv_reg_mr(b.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
	connect_with_all_rights();
	memcpy(a.bytes, "anywhere", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)b.bytes + 100, mr->rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 100, "anywhere", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, 4096, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge sge)
{
	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static void test_advice(void **state)
{
	struct ibv_mr *mr = reg(b.bytes, 100, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *read = reg(b.bytes, 100, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *other = ibv_alloc_pd(b.context);
	const uint64_t at = (uintptr_t)b.bytes;
	const struct ibv_sge all = {at, 100, mr->lkey}, few = {at, 100, read->lkey};
	const enum ibv_advise_mr_advice r = IBV_ADVISE_MR_ADVICE_PREFETCH,
					w = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					no_fault = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;

	(void)state;
	assert_int_equal(advise(b.pd, r, 0, all), 0);
	assert_int_equal(advise(b.pd, w, IBV_ADVISE_MR_FLAG_FLUSH, all), 0);
	assert_int_equal(advise(b.pd, no_fault, 0, all), 0);
	assert_int_equal(advise(b.pd, r, 0, few), 0);
	assert_int_equal(advise(b.pd, w, 0, few), EPERM);
	assert_int_equal(advise(other, r, 0, all), EPERM);
	assert_int_equal(advise(b.pd, r, 0, (struct ibv_sge){at, 101, mr->lkey}), EFAULT);
	assert_int_equal(advise(b.pd, r, 0, (struct ibv_sge){at, 1, mr->lkey + 1}), ENOENT);
	assert_int_equal(advise(b.pd, r, 0, (struct ibv_sge){at, 1, b.mr->lkey}), EINVAL);
	assert_int_equal(advise(b.pd, r, 2, all), EINVAL);
	assert_int_equal(advise(b.pd, no_fault + 1, 0, all), EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(b.pd, r, 0, NULL, 0), EINVAL);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dereg_mr(read), 0);
}

static void test_addresses_that_begin_at_nothing(void **state)
{
	const unsigned int access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB | ALL_REMOTE;
	struct ibv_mr *mr = reg(b.bytes + 64, 64, access);

	(void)state;
	assert_fails(EINVAL, !ibv_reg_mr_iova2(b.pd, b.bytes, 64, 8, access));
	assert_fails(EINVAL, !ibv_reg_mr_iova2(b.pd, b.bytes, 64, 0, 1 << 19));
	connect_with_all_rights();
	memcpy(a.bytes, "from nil", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, 56, mr->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 120, "from nil", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, 57, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static struct ibv_dm *alloc_dm(size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = {.length = length, .log_align_req = log_align};

	return ibv_alloc_dm(b.context, &attr);
}

static size_t dm_max(void)
{
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(b.context, NULL, &attr), 0);
	return attr.max_dm_size;
}

static void test_memory_of_the_device_is_given_out(void **state)
{
	const size_t max = dm_max();
	struct ibv_dm *all, *half;
	struct ibv_alloc_dm_attr bad = {.length = 8, .comp_mask = 1};

	(void)state;
	assert_true(max >= 4096);
	assert_fails(EINVAL, !alloc_dm(0, 0));
	assert_fails(EINVAL, !alloc_dm(8, 13));
	assert_fails(EINVAL, !ibv_alloc_dm(b.context, &bad));
	assert_fails(ENOMEM, !alloc_dm(max + 1, 0));
	half = alloc_dm(max / 2, 12);
	assert_non_null(half);
	assert_fails(ENOMEM, !alloc_dm(max / 2 + 1, 0));
	assert_int_equal(ibv_free_dm(half), 0);
	all = alloc_dm(max, 0);
	assert_non_null(all);
	assert_int_equal(ibv_free_dm(all), 0);
}

static void test_the_program_copies_words_of_it(void **state)
{
	struct ibv_dm *dm = alloc_dm(64, 6);
	const size_t max = dm_max();
	uint8_t got[64];

	(void)state;
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, 64), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(got[i], 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 60, "last", 4), 0);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 56, 8), 0);
	assert_memory_equal(got, "\0\0\0\0last", 8);
	assert_int_equal(ibv_memcpy_to_dm(dm, 64, got, 0), 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 61, got, 4), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4, got, UINT64_MAX - 3), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, max + 4), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 68, 0), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, 1, got, 4), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, 3), EINVAL);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void test_regions_in_it(void **state)
{
	const unsigned int access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE;
	struct ibv_dm *dm = alloc_dm(64, 0);
	struct ibv_mr *mr = ibv_reg_dm_mr(b.pd, dm, 32, 32, access);
	uint8_t got[8];

	(void)state;
	assert_non_null(mr);
	assert_fails(EINVAL, !ibv_reg_dm_mr(b.pd, dm, 32, 33, access));
	assert_fails(EINVAL, !ibv_reg_dm_mr(b.pd, dm, 65, 0, access));
	assert_fails(EINVAL, !ibv_reg_dm_mr(b.pd, dm, 0, 8, IBV_ACCESS_LOCAL_WRITE));
	assert_fails(EINVAL, !ibv_reg_dm_mr(b.pd, dm, 0, 8, access | IBV_ACCESS_ON_DEMAND));
	assert_fails(EINVAL, !ibv_reg_dm_mr(a.pd, dm, 0, 8, access));
	assert_fails(EOPNOTSUPP, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					      IBV_ACCESS_LOCAL_WRITE) != 0);
	assert_fails(EBUSY, ibv_free_dm(dm) == EBUSY);
	connect_with_all_rights();
	memcpy(a.bytes, "on board", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, 24, mr->rkey), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 56, 8), 0);
	assert_memory_equal(got, "on board", 8);
	assert_int_equal(ibv_memcpy_to_dm(dm, 32, "and back", 8), 0);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, 0, mr->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(a.bytes, "and back", 8);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* Any file that can be mapped stands for one here. */
static void test_a_dma_buf(void **state)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE, fd = memfd_create("buf", 0);
	uint8_t got[8];
	struct ibv_mr *mr;
	int ends[2];

	(void)state;
	assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
	mr = ibv_reg_dmabuf_mr(b.pd, PAGE + 16, PAGE, 0x10000, fd, access);
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, PAGE);
	connect_with_all_rights();
	memcpy(a.bytes, "in a buf", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, 0x10008, mr->rkey), IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, got, 8, PAGE + 24), 8);
	assert_memory_equal(got, "in a buf", 8);
	assert_fails(EINVAL, !ibv_reg_dmabuf_mr(b.pd, PAGE, 2 * PAGE + 1, 0, fd, access));
	assert_fails(EINVAL, !ibv_reg_dmabuf_mr(b.pd, 0, 0, 0, fd, access));
	assert_fails(EINVAL, !ibv_reg_dmabuf_mr(b.pd, 0, 8, 0, fd, access | IBV_ACCESS_ON_DEMAND));
	assert_fails(EBADF, !ibv_reg_dmabuf_mr(b.pd, 0, 8, 0, -1, access));
	assert_int_equal(pipe(ends), 0);
	assert_fails(EOPNOTSUPP, !ibv_reg_dmabuf_mr(b.pd, 0, 8, 0, ends[0], access));
	assert_fails(EOPNOTSUPP, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					      IBV_ACCESS_LOCAL_WRITE) != 0);
	/* Its end goes: nothing is there any more, and nobody faults. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, 0x10008, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

static void test_a_region_changes(void **state)
{
	const int access = IBV_REREG_MR_CHANGE_ACCESS, place = IBV_REREG_MR_CHANGE_TRANSLATION;
	const uint32_t rkey = b.mr->rkey;

	(void)state;
	connect_with_all_rights();
	assert_int_equal(
		ibv_rereg_mr(b.mr, access, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE), 0);
	assert_int_equal(b.mr->rkey, rkey);
	memcpy(b.bytes, "readable", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, (uintptr_t)b.bytes, rkey), IBV_WC_SUCCESS);
	assert_memory_equal(a.bytes, "readable", 8);
	assert_int_equal(ibv_rereg_mr(b.mr, place, NULL, b.bytes + 1000, 8, 0), 0);
	assert_ptr_equal(b.mr->addr, b.bytes + 1000);
	assert_int_equal(b.mr->length, 8);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)b.bytes + 1000, rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 1000, "readable", 8);
	assert_int_equal(transfer(IBV_WR_RDMA_READ, (uintptr_t)b.bytes, rkey),
			 IBV_WC_REM_ACCESS_ERR);
}

static void test_a_region_moves_to_another_domain(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(b.context);

	(void)state;
	connect_with_all_rights();
	assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_ptr_equal(b.mr->pd, pd);
	assert_fails(EBUSY, ibv_dealloc_pd(pd) == EBUSY);
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)b.bytes, b.mr->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	b.mr = NULL;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void test_changes_that_are_refused_change_nothing(void **state)
{
	const int access = IBV_REREG_MR_CHANGE_ACCESS, place = IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_mr *mr = b.mr;

	(void)state;
	assert_fails(EINVAL, ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
	assert_fails(EINVAL, ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
	assert_fails(EINVAL, ibv_rereg_mr(mr, place, NULL, NULL, 8, 0) == IBV_REREG_MR_ERR_INPUT);
	assert_fails(EINVAL, ibv_rereg_mr(mr, place, NULL, b.bytes, 0, 0) != 0);
	assert_fails(EINVAL, ibv_rereg_mr(mr, place, NULL, b.bytes, 8, 1) != 0);
	assert_fails(EINVAL, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0) != 0);
	assert_fails(EINVAL, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, 0) != 0);
	assert_fails(EINVAL, ibv_rereg_mr(mr, access, NULL, NULL, 0, 1 << 19) != 0);
	assert_fails(EINVAL, /* without local write */
		     ibv_rereg_mr(mr, access, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE) != 0);
	assert_fails(EFAULT, ibv_rereg_mr(mr, place, NULL, (void *)PAGE, 8, 0) != 0);
	assert_ptr_equal(mr->addr, b.bytes);
	assert_int_equal(mr->length, BYTES);
	connect_with_all_rights();
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)b.bytes + BYTES - 8, mr->rkey),
			 IBV_WC_SUCCESS);
}

static void *allocate(struct ibv_pd *pd, void *context, size_t size, size_t align, uint64_t type)
{
	(void)pd, (void)context, (void)size, (void)align, (void)type;
	return NULL;
}

static void give_back(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	(void)pd, (void)context, (void)ptr, (void)type;
}

static void test_domains_over_domains(void **state)
{
	struct ibv_td_init_attr td_attr = {0}, bad_td = {.comp_mask = 1};
	struct ibv_td *td = ibv_alloc_td(b.context, &td_attr);
	struct ibv_pd *pd = ibv_alloc_pd(b.context);
	struct ibv_parent_domain_init_attr attr = {.pd = pd,
						   .td = td,
						   .comp_mask =
							   IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
							   IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
						   .alloc = allocate,
						   .free = give_back};
	struct ibv_pd *parent = ibv_alloc_parent_domain(b.context, &attr);
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
	struct ibv_mr *mr, *same;
	struct ibv_cq_ex *cq;

	(void)state;
	assert_non_null(parent);
	assert_fails(EINVAL, !ibv_alloc_td(b.context, &bad_td));
	mr = ibv_reg_mr(parent, b.bytes, 8, IBV_ACCESS_LOCAL_WRITE);
	same = ibv_reg_mr(pd, b.bytes, 8, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_equal(mr->pd, parent);
	assert_fails(EBUSY, ibv_dealloc_pd(parent) == EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	cq = ibv_create_cq_ex(b.context, &cq_attr);
	assert_non_null(cq);
	assert_fails(EBUSY, ibv_dealloc_pd(parent) == EBUSY);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dereg_mr(same), 0);
	assert_fails(EBUSY, ibv_dealloc_pd(pd) == EBUSY);
	assert_fails(EBUSY, ibv_dealloc_td(td) == EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void test_parent_domains_that_there_are_not(void **state)
{
	struct ibv_parent_domain_init_attr good = {.pd = b.pd}, attr = good;
	struct ibv_pd *parent = ibv_alloc_parent_domain(b.context, &good);

	(void)state;
	assert_non_null(parent);
	attr.pd = parent;
	assert_fails(EINVAL, !ibv_alloc_parent_domain(b.context, &attr));
	attr.pd = NULL;
	assert_fails(EINVAL, !ibv_alloc_parent_domain(b.context, &attr));
	attr.pd = a.pd;
	assert_fails(EINVAL, !ibv_alloc_parent_domain(b.context, &attr));
	attr = good;
	attr.comp_mask = 1 << 2;
	assert_fails(EINVAL, !ibv_alloc_parent_domain(b.context, &attr));
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = allocate;
	assert_fails(EINVAL, !ibv_alloc_parent_domain(b.context, &attr));
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

/* A queue pair of a parent domain reaches what the domain below has. */
static void test_a_parent_domain_is_the_domain(void **state)
{
	struct ibv_parent_domain_init_attr attr = {.pd = b.pd};
	struct ibv_pd *parent = ibv_alloc_parent_domain(b.context, &attr);
	struct ibv_qp_init_attr init = qp_init(&b);

	(void)state;
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = ibv_create_qp(parent, &init);
	assert_ptr_equal(b.qp->pd, parent);
	connect_with_all_rights();
	assert_int_equal(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)b.bytes, b.mr->rkey),
			 IBV_WC_SUCCESS);
	assert_fails(EBUSY, ibv_dealloc_pd(parent) == EBUSY);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void test_what_the_device_says_of_memory(void **state)
{
	struct ibv_device_attr_ex attr;

	(void)state;
	assert_int_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	assert_int_equal(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	/* Bits of enum ibv_odp_transport_cap_bits: send, receive, write, read, atomic, shared
	 * queues. */
	assert_int_equal(attr.odp_caps.per_transport_caps.rc_odp_caps, 0x3f);
	assert_int_equal(attr.odp_caps.per_transport_caps.uc_odp_caps, 0x27);
	assert_int_equal(attr.odp_caps.per_transport_caps.ud_odp_caps, 0x23);
	assert_int_equal(attr.xrc_odp_caps, 0x3f);
	assert_int_equal(attr.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(attr.orig_attr.vendor_id, 0x020000);
	assert_int_equal(attr.tso_caps.max_tso, 0);
	assert_int_equal(attr.packet_pacing_caps.qp_rate_limit_max, 100000000);
	assert_int_equal(attr.packet_pacing_caps.supported_qpts, 0x20c); /* RC, UC, XRC_SEND */
}

RUN(T(test_what_is_on_demand_need_not_be_there), T(test_all_that_there_is_on_demand),
    T(test_advice), T(test_addresses_that_begin_at_nothing),
    T(test_memory_of_the_device_is_given_out), T(test_the_program_copies_words_of_it),
    T(test_regions_in_it), T(test_a_dma_buf), T(test_a_region_changes),
    T(test_a_region_moves_to_another_domain), T(test_changes_that_are_refused_change_nothing),
    T(test_domains_over_domains), T(test_parent_domains_that_there_are_not),
    T(test_a_parent_domain_is_the_domain), T(test_what_the_device_says_of_memory))

/* SPDX-License-Identifier: BSD-2-Clause */

/* Windows, regions that change, and one that is nowhere, as programs see them. */
#include "tests/unit/verbs_test.h"

#include <sys/mman.h>
#include <unistd.h>

static struct ibv_mr *window_mr(struct end *end, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(end->pd, end->bytes, BYTES, access);

	assert_non_null(mr);
	return mr;
}

static int bind_1(struct ibv_mw *mw, struct ibv_mr *mr, uint32_t offset, uint32_t length)
{
	struct ibv_mw_bind wr = {.wr_id = 5,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_info = {.mr = mr,
					       .addr = length ? (uintptr_t)b.bytes + offset : 0,
					       .length = length,
					       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};

	return ibv_bind_mw(b.qp, mw, &wr);
}

static enum ibv_wc_status write_to(uint32_t offset, uint32_t rkey, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)b.bytes + offset, .rkey = rkey}};

	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = rkey;
	assert_int_equal(post_send(&a, wr), 0);
	return poll_one(&a).status;
}

static void test_a_window_of_type_1(void **state)
{
	struct ibv_mr *mr = window_mr(&b, RIGHTS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	struct ibv_pd *pd = ibv_alloc_pd(b.context);
	struct ibv_mw *strange = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_device_attr device;
	uint32_t first;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(ibv_query_device(b.context, &device), 0);
	assert_int_equal(device.max_mw, device.max_mr);
	assert_true(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_false(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	assert_non_null(mw);
	assert_fails(EINVAL, !ibv_alloc_mw(b.pd, (enum ibv_mw_type)3));
	assert_fails(EPERM, bind_1(strange, NULL, 0, 0) == EPERM);
	connect_both();
	first = mw->rkey;
	assert_int_equal(bind_1(mw, mr, 256, 100), 0);
	assert_int_equal(mw->rkey, ibv_inc_rkey(first));
	wc = poll_one(&b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	assert_int_equal(wc.wr_id, 5);
	memset(a.bytes, 'a', 100);
	assert_int_equal(write_to(256, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 256, a.bytes, 100);
	assert_fails(EBUSY, ibv_dereg_mr(mr) == EBUSY);
	assert_int_equal(bind_1(mw, NULL, 0, 0), 0);
	assert_int_equal(poll_one(&b).status, IBV_WC_SUCCESS);
	assert_int_equal(write_to(256, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
	assert_fails(EBUSY, ibv_dealloc_pd(pd) == EBUSY);
	assert_int_equal(ibv_dealloc_mw(strange), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static int bind_2(struct ibv_mw *mw, struct ibv_mr *mr, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {.mw = mw,
			    .rkey = rkey,
			    .bind_info = {.mr = mr,
					  .addr = (uintptr_t)b.bytes,
					  .length = 200,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}}};
	int ret = post_send(&b, wr);

	if (ret == 0) {
		ret = poll_one(&b).status;
		mw->rkey = ret == 0 ? rkey : mw->rkey;
	}
	return ret;
}

static void test_a_window_of_type_2(void **state)
{
	struct ibv_mr *mr = window_mr(&b, RIGHTS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	struct ibv_wc wc;

	(void)state;
	assert_non_null(mw);
	assert_int_equal(bind_1(mw, mr, 0, 10), EINVAL); /* that is for type 1 */
	connect_both();
	assert_int_equal(bind_2(mw, mr, ibv_inc_rkey(mw->rkey)), IBV_WC_SUCCESS);
	assert_int_equal(write_to(50, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&b, 7, 1000, 200), 0);
	assert_int_equal(write_to(0, mw->rkey, IBV_WR_SEND_WITH_INV), IBV_WC_SUCCESS);
	wc = poll_one(&b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	assert_int_equal(bind_2(mw, mr, ibv_inc_rkey(mw->rkey)), IBV_WC_SUCCESS);
	assert_int_equal(write_to(101, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_destroy_qp(b.qp), 0); /* and what it had bound is not any more */
	b.qp = NULL;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void test_a_window_bound_by_a_request_that_is_built(void **state)
{
	struct ibv_mr *mr = window_mr(&b, RIGHTS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	const struct ibv_mw_bind_info info = {.mr = mr,
					      .addr = (uintptr_t)b.bytes,
					      .length = 200,
					      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	const struct ibv_qp_init_attr plain = qp_init(&b);
	struct ibv_qp_init_attr_ex init = {.send_cq = plain.send_cq,
					   .recv_cq = plain.recv_cq,
					   .cap = plain.cap,
					   .qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = b.pd,
					   .send_ops_flags = IBV_QP_EX_WITH_BIND_MW};
	struct ibv_qp_ex *ex;

	(void)state;
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = ibv_create_qp_ex(b.context, &init);
	assert_non_null(b.qp);
	connect_both();
	ex = ibv_qp_to_qp_ex(b.qp);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, ibv_inc_rkey(mw->rkey), &info);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll_one(&b).opcode, IBV_WC_BIND_MW);
	assert_int_equal(write_to(100, ibv_inc_rkey(mw->rkey), IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void test_what_cannot_be_bound(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);

	(void)state;
	connect_both();
	assert_int_equal(bind_2(mw, b.mr, ibv_inc_rkey(mw->rkey)), IBV_WC_MW_BIND_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void rereg_fails(struct ibv_mr *mr, int number, int flags, void *addr, size_t length,
			int access)
{
	assert_fails(number,
		     ibv_rereg_mr(mr, flags, NULL, addr, length, access) == IBV_REREG_MR_ERR_INPUT);
	assert_ptr_equal(mr->addr, b.bytes);
	assert_int_equal(mr->length, BYTES);
}

static void test_a_region_changes(void **state)
{
	const long page = sysconf(_SC_PAGESIZE);
	uint8_t *other = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_pd *pd = ibv_alloc_pd(b.context);
	struct ibv_mr *mr = window_mr(&b, RIGHTS);
	const uint32_t rkey = mr->rkey;

	(void)state;
	rereg_fails(mr, EINVAL, 8, NULL, 0, 0);
	rereg_fails(mr, EINVAL, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, 10, 0);
	rereg_fails(mr, EINVAL, IBV_REREG_MR_CHANGE_TRANSLATION, other, 0, 0);
	rereg_fails(mr, EINVAL, IBV_REREG_MR_CHANGE_PD, NULL, 0, 0);
	rereg_fails(mr, EINVAL, IBV_REREG_MR_CHANGE_TRANSLATION, other, 10, RIGHTS);
	rereg_fails(mr, EINVAL, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, IBV_ACCESS_REMOTE_WRITE);
	rereg_fails(mr, EFAULT, IBV_REREG_MR_CHANGE_TRANSLATION, (void *)(uintptr_t)page, 10, 0);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 100, 0), 0);
	assert_ptr_equal(mr->addr, other);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->rkey, rkey);
	connect_both();
	memset(a.bytes, 'r', 100);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
							    .send_flags = IBV_SEND_SIGNALED,
							    .wr.rdma = {(uintptr_t)other, rkey}}),
			 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	assert_memory_equal(other, a.bytes, 100);
	/* Of another protection domain, which it holds, it is another queue pair's. */
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_ptr_equal(mr->pd, pd);
	assert_fails(EBUSY, ibv_dealloc_pd(pd) == EBUSY);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
							    .send_flags = IBV_SEND_SIGNALED,
							    .wr.rdma = {(uintptr_t)other, rkey}}),
			 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(other, (size_t)page);
}

/* What is read of it are zeros, what it is to take is gone: here, as part of a list. */
static void test_a_region_that_is_nowhere(void **state)
{
	struct ibv_mr *null = ibv_alloc_null_mr(a.pd), *sink = ibv_alloc_null_mr(b.pd);
	struct ibv_sge sge[2], to[2];
	struct ibv_recv_wr recv = {.sg_list = to, .num_sge = 2}, *bad;

	(void)state;
	assert_non_null(null);
	assert_non_null(sink);
	sge[0] = (struct ibv_sge){(uintptr_t)a.bytes, 50, a.mr->lkey};
	sge[1] = (struct ibv_sge){0x123456789, 50, null->lkey};
	to[0] = (struct ibv_sge){0, 20, sink->lkey};
	to[1] = (struct ibv_sge){(uintptr_t)b.bytes, 80, b.mr->lkey};
	connect_both();
	memset(a.bytes, 'n', 50);
	memset(b.bytes, 'o', 100);
	assert_int_equal(ibv_post_recv(b.qp, &recv, &bad), 0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND,
							    .sg_list = sge,
							    .num_sge = 2}),
			 0);
	assert_int_equal(poll_one(&b).status, IBV_WC_SUCCESS);
	for (int i = 0; i < 100; i++)
		assert_int_equal(b.bytes[i], i < 30 ? 'n' : i < 80 ? 0 : 'o');
	assert_int_equal(ibv_dereg_mr(null), 0);
	assert_int_equal(ibv_dereg_mr(sink), 0);
}

static int set_up_2a(void **state)
{
	int ret;

	toy_mw_is_2a = true;
	ret = set_up(state);
	toy_mw_is_2a = false;
	return ret;
}

static void test_a_window_of_type_2a(void **state)
{
	struct ibv_mr *mr = window_mr(&b, RIGHTS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	struct ibv_device_attr device;

	(void)state;
	assert_int_equal(ibv_query_device(b.context, &device), 0);
	assert_true(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	assert_false(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_non_null(mw);
	connect_both();
	assert_int_equal(bind_2(mw, mr, ibv_inc_rkey(mw->rkey)), IBV_WC_SUCCESS);
	assert_int_equal(write_to(50, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	assert_int_equal(write_to(101, mw->rkey, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

RUN(T(test_a_window_of_type_1), T(test_a_window_of_type_2),
    cmocka_unit_test_setup_teardown(test_a_window_of_type_2a, set_up_2a, tear_down),
    T(test_what_cannot_be_bound), T(test_a_window_bound_by_a_request_that_is_built),
    T(test_a_region_changes), T(test_a_region_that_is_nowhere))

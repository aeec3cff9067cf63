/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of one file: a context that was imported has those of the other one. */
#include "tests/unit/verbs_test.h"

#include <sys/wait.h>
#include <unistd.h>

static struct ibv_context *import_context(const struct ibv_context *of)
{
	struct ibv_context *context = ibv_import_device(dup(of->cmd_fd));

	assert_non_null(context);
	assert_ptr_not_equal(context, of);
	assert_string_equal(context->device->name, of->device->name);
	return context;
}

/* WRITEs go by an imported domain and region to what was registered by the first. */
static void test_a_region_of_an_imported_domain(void **state)
{
	struct ibv_context *context = import_context(b.context);
	struct ibv_pd *pd = ibv_import_pd(context, b.pd->handle);
	struct ibv_mr *mr = pd ? ibv_import_mr(pd, b.mr->handle) : NULL;
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_qp_init_attr init = qp_init(&b);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct end imported = b;

	(void)state;
	assert_non_null(mr);
	assert_ptr_equal(mr->context, context);
	assert_ptr_equal(mr->pd, pd);
	assert_null(mr->addr);
	assert_int_equal(mr->length, b.mr->length);
	assert_int_equal(mr->lkey, b.mr->lkey);
	assert_int_equal(mr->rkey, b.mr->rkey);
	imported.context = context;
	init.send_cq = init.recv_cq = imported.cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	imported.qp = ibv_create_qp(pd, &init);
	assert_non_null(imported.qp);
	to_init(&a);
	to_init(&imported);
	to_rts(&a, &imported);
	to_rts(&imported, &a);
	memset(a.bytes, 0x77, 100);
	wr.wr.rdma.remote_addr = (uintptr_t)b.bytes;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	assert_int_equal(b.bytes[99], 0x77);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd); /* before what was made in it */
	assert_int_equal(ibv_destroy_qp(imported.qp), 0);
	assert_int_equal(ibv_destroy_cq(imported.cq), 0);
	assert_int_equal(ibv_close_device(context), 0);
	/* What was imported is there as ever. */
	b.bytes[99] = 0;
	assert_int_equal(ibv_modify_qp(a.qp, &reset, IBV_QP_STATE), 0);
	connect_both();
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	assert_int_equal(b.bytes[99], 0x77);
}

static void test_memory_of_the_device(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *of = ibv_alloc_dm(a.context, &attr), *dm;
	struct ibv_context *context = import_context(a.context);
	char bytes[8];

	(void)state;
	assert_non_null(of);
	dm = ibv_import_dm(context, of->handle);
	assert_non_null(dm);
	assert_int_equal(ibv_memcpy_to_dm(of, 8, "original", 8), 0);
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 8, 8), 0);
	assert_memory_equal(bytes, "original", 8);
	ibv_unimport_dm(dm);
	assert_int_equal(ibv_memcpy_from_dm(bytes, of, 8, 8), 0);
	dm = ibv_import_dm(context, of->handle);
	assert_int_equal(ibv_free_dm(of), 0); /* now it is gone for everybody */
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 8, 8), EINVAL);
	ibv_unimport_dm(dm);
	assert_int_equal(ibv_close_device(context), 0);
}

/* Either destroys it for both, and not while there is something in it. */
static void test_a_domain_that_goes(void **state)
{
	struct ibv_context *context = import_context(a.context);
	struct ibv_pd *of = ibv_alloc_pd(a.context);
	struct ibv_pd *pd = ibv_import_pd(context, of->handle);
	struct ibv_mr *mr = ibv_reg_mr(of, a.bytes, 8, 0);
	uint32_t number;

	(void)state;
	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	number = of->handle;
	assert_int_equal(ibv_dealloc_pd(of), 0);
	assert_fails(ENOENT, !ibv_import_pd(context, number));
	assert_fails(EINVAL, !ibv_reg_mr(pd, a.bytes, 8, 0));
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
}

static void test_what_is_not_imported(void **state)
{
	struct ibv_context *other = ibv_open_device(a.context->device);
	int status = 0, foreign = open("/dev/null", O_RDWR);
	pid_t child;

	(void)state;
	assert_fails(ENOENT, !ibv_import_pd(a.context, 0xffffff));
	assert_fails(ENOENT, !ibv_import_mr(a.pd, 0xffffff));
	assert_fails(ENOENT, !ibv_import_dm(a.context, 0xffffff));
	/* Another file's. */
	assert_fails(ENOENT, !ibv_import_pd(other, a.pd->handle));
	assert_int_equal(ibv_close_device(other), 0);
	assert_fails(EBADF, !ibv_import_device(-1));
	assert_fails(EOPNOTSUPP, !ibv_import_device(foreign));
	close(foreign);
	child = fork();
	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), 2);
		_exit(!ibv_import_device(a.context->cmd_fd) && errno == EOPNOTSUPP ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

RUN(T(test_a_region_of_an_imported_domain), T(test_memory_of_the_device),
    T(test_a_domain_that_goes), T(test_what_is_not_imported))

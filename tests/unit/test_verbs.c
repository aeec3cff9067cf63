/* SPDX-License-Identifier: BSD-2-Clause */

/* Devices, regions, queue pairs and their states: what is granted and what is refused, and how. */
#include "tests/unit/verbs_test.h"

#include <sys/mman.h>

/* Devices */

/* Not in the public header. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       int *type);

static void test_device_pointers_are_the_same_every_time(void **state)
{
	struct ibv_device **one = ibv_get_device_list(NULL), **two;
	int count = 7;

	(void)state;
	two = ibv_get_device_list(&count);
	assert_int_equal(count, 2);
	assert_ptr_equal(one[0], two[0]);
	assert_ptr_equal(one[1], two[1]);
	assert_ptr_equal(one[0], a.context->device);
	assert_null(one[2]);
	assert_string_equal(ibv_get_device_name(one[1]), "toy1");
	assert_true(ibv_get_device_guid(one[1]) == htobe64(0x0200000000000001u));
	for (int i = 0; i < 512; i++)
		assert_int_equal(((uint8_t *)one[0])[sizeof(struct ibv_device) + (size_t)i], 0);
	ibv_free_device_list(one);
	ibv_free_device_list(two);
}

static void test_no_device_is_an_empty_list(void **state)
{
	struct ibv_device **list;
	int count = 7;

	(void)state;
	toy_show(NULL, 0);
	list = ibv_get_device_list(&count);
	assert_non_null(list);
	assert_null(list[0]);
	assert_int_equal(count, 0);
	ibv_free_device_list(list);
}

static void test_a_closed_context_waits_for_its_objects(void **state)
{
	struct ibv_context *context = ibv_open_device(a.context->device);
	struct ibv_pd *pd = ibv_alloc_pd(context);

	(void)state;
	assert_int_equal(ibv_close_device(context), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void test_device_attributes_and_sizes(void **state)
{
	struct ibv_device_attr attr;
	struct {
		struct ibv_device_attr_ex ex;
		uint8_t guard[8];
	} big;
	struct verbs_context *verbs = verbs_get_ctx(a.context);

	(void)state;
	assert_int_equal(ibv_query_device(a.context, &attr), 0);
	assert_int_equal(attr.max_qp, 64);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(ibv_query_device_ex(a.context, NULL, &big.ex), 0);
	assert_int_equal(big.ex.phys_port_cnt_ex, 1);
	/* Up to the last member: what pads the struct is nobody's. */
	assert_memory_equal(&big.ex.orig_attr, &attr,
			    offsetof(struct ibv_device_attr, phys_port_cnt) + 1);
	/* An older program's struct is shorter, a newer one's longer. */
	memset(&big, 0xaa, sizeof(big));
	assert_int_equal(verbs->query_device_ex(a.context, NULL, &big.ex, sizeof(attr)), 0);
	assert_int_equal(((uint8_t *)&big)[sizeof(attr)], 0xaa);
	assert_int_equal(verbs->query_device_ex(a.context, NULL, &big.ex, sizeof(big)), 0);
	assert_int_equal(big.guard[0], 0);
	assert_fails(EINVAL, verbs->query_device_ex(a.context, NULL, &big.ex, 8) == EINVAL);
}

#undef ibv_query_port
static void test_port_in_both_forms(void **state)
{
	struct {
		struct ibv_port_attr attr;
		uint8_t guard[8];
	} port;
	struct verbs_context *verbs = verbs_get_ctx(a.context);
	const size_t compat = offsetof(struct ibv_port_attr, port_cap_flags2);

	(void)state;
	assert_int_equal(___ibv_query_port(a.context, 1, &port.attr), 0);
	assert_int_equal(port.attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.attr.active_mtu, IBV_MTU_1024);
	assert_int_equal(port.attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.attr.gid_tbl_len, 16);
	assert_int_equal(port.attr.lid, 0);
	assert_true(port.attr.flags & IBV_QPF_GRH_REQUIRED);
	/* 100 Gbit/s: four lanes of 25. */
	assert_int_equal(port.attr.active_width, 2);
	assert_int_equal(port.attr.active_speed, 32);
	memset(&port, 0xaa, sizeof(port));
	assert_int_equal(ibv_query_port(a.context, 1, (void *)&port.attr), 0);
	assert_int_equal(port.attr.state, IBV_PORT_ACTIVE);
	for (size_t i = compat; i < sizeof(port); i++)
		assert_int_equal(((uint8_t *)&port)[i], 0xaa);
	assert_int_equal(verbs->query_port(a.context, 1, &port.attr, sizeof(port)), 0);
	assert_int_equal(port.guard[0], 0);
	assert_fails(EINVAL, ___ibv_query_port(a.context, 2, &port.attr) == EINVAL);
	assert_fails(EINVAL, ___ibv_query_port(a.context, 0, &port.attr) == EINVAL);
}

static void test_gids_and_pkeys(void **state)
{
	int type = -1;
	const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	struct ibv_gid_entry entry, table[3];
	union ibv_gid gid;
	__be16 pkey;

	(void)state;
	assert_int_equal(ibv_query_gid(a.context, 1, 1, &gid), 0);
	assert_memory_equal(gid.raw, mapped, 16);
	for (int i = 2; i < 16; i++) {
		memset(&gid, 0xaa, sizeof(gid));
		assert_int_equal(ibv_query_gid(a.context, 1, i, &gid), 0); /* an empty place */
		assert_memory_equal(gid.raw, (uint8_t[16]){0}, 16);
	}
	assert_fails(ENOENT, ibv_query_gid(a.context, 1, 16, &gid) == -1);
	assert_fails(EINVAL, ibv_query_gid(a.context, 1, -1, &gid) == -1);
	assert_fails(EINVAL, ibv_query_gid(a.context, 2, 0, &gid) == -1);
	assert_int_equal(ibv_query_gid_ex(a.context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.gid_index, 1);
	assert_fails(ENODATA, ibv_query_gid_ex(a.context, 1, 2, &entry, 0) == ENODATA);
	assert_fails(EINVAL, ibv_query_gid_ex(a.context, 1, 1, &entry, 1) == EINVAL);
	assert_int_equal(ibv_query_gid_type(a.context, 1, 1, &type), 0);
	assert_int_equal(type, 1); /* RoCE v2 */
	assert_fails(ENOENT, ibv_query_gid_type(a.context, 1, 2, &type) == -1);
	assert_fails(EINVAL, ibv_query_gid_type(a.context, 2, 0, &type) == -1);
	assert_int_equal(ibv_query_gid_table(a.context, table, 3, 0), 2);
	assert_memory_equal(&table[1], &entry, sizeof(entry));
	assert_int_equal(entry.ndev_ifindex, 17); /* what the toy says */
	assert_int_equal(ibv_query_gid_table(a.context, table, 1, 0), -EINVAL);
	assert_int_equal(ibv_query_pkey(a.context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_fails(EINVAL, ibv_query_pkey(a.context, 1, 1, &pkey) == -1);
	assert_int_equal(ibv_get_pkey_index(a.context, 1, htobe16(0x7fff)), 0);
	assert_fails(EINVAL, ibv_get_pkey_index(a.context, 1, htobe16(0x7ffe)) == -1);
}

static void test_what_there_is_not_is_refused(void **state)
{
	(void)state;
	assert_int_equal(ibv_fork_init(), 0);
}

/* Protection domains and regions */

static void test_a_pd_in_use_stays(void **state)
{
	struct ibv_ah_attr attr = rtr_attr(&b).ah_attr;
	struct ibv_pd *pd = ibv_alloc_pd(a.context);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	(void)state;
	assert_non_null(ah);
	assert_fails(EBUSY, ibv_dealloc_pd(pd) == EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_fails(EBUSY, ibv_dealloc_pd(a.pd) == EBUSY);
	attr.is_global = 0;
	assert_fails(EINVAL, !ibv_create_ah(a.pd, &attr));
	attr.is_global = 1;
	attr.grh.sgid_index = 2;
	assert_fails(EINVAL, !ibv_create_ah(a.pd, &attr));
}

static void test_rights_of_regions(void **state)
{
	/* Not constants, so that the header takes its other way (ibv_reg_mr_iova2). */
	volatile int optional = RIGHTS | IBV_ACCESS_RELAXED_ORDERING;
	uint8_t bytes[64];
	struct ibv_mr *mr;

	(void)state;
	mr = ibv_reg_mr(a.pd, bytes, sizeof(bytes), optional);
	assert_non_null(mr);
	assert_int_not_equal(mr->rkey, a.mr->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(a.pd, bytes, sizeof(bytes), 0x1000, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, 64, IBV_ACCESS_REMOTE_ATOMIC));
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, 64, 1 << 15));
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, SIZE_MAX, 0));
}

/* Three pages: one to read, one to read and write, one that may not be touched; behind them none.
 */
static void test_what_cannot_be_pinned_is_no_region(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	(void)state;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(mprotect(pages + 2 * page, page, PROT_NONE), 0);
	assert_int_equal(munmap(pages + 3 * page, page), 0);

	mr = ibv_reg_mr(a.pd, pages, 2 * page, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(a.pd, pages + page, page, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages, 1, IBV_ACCESS_LOCAL_WRITE));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + page - 1, 2, IBV_ACCESS_LOCAL_WRITE));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + page, page + 1, 0));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + 2 * page, 1, 0));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + 3 * page, 1, 0));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, NULL, 1, 0));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + 2 * page - 1, 2, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(munmap(pages, 3 * page), 0);
}

/* More than is asked for page by page; it says the same. */
static void test_a_large_region_needs_all_its_pages(void **state)
{
	const size_t bytes = 16 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	(void)state;
	assert_true(pages != MAP_FAILED);
	mr = ibv_reg_mr(a.pd, pages, bytes, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(mprotect(pages + bytes - page, page, PROT_READ), 0);
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages, bytes, IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_mr(a.pd, pages, bytes - page, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	/* And where one in the middle, or the first, is none. */
	assert_int_equal(munmap(pages + bytes / 2, page), 0);
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages, bytes, IBV_ACCESS_REMOTE_READ));
	assert_fails(EFAULT, !ibv_reg_mr(a.pd, pages + bytes / 2, 2 * page, 0));
	mr = ibv_reg_mr(a.pd, pages + bytes / 2 + page, bytes / 2 - page, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(pages, bytes), 0);
}

static void test_bad_rereg_leaves_the_region_as_it_was(void **state)
{
	(void)state;
	assert_fails(EINVAL,
		     ibv_rereg_mr(a.mr, 1 << 9, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
	connect_both();
	assert_int_equal(post_recv(&b, 1, 0, 100), 0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}), 0);
	assert_int_equal(poll_one(&b).status, IBV_WC_SUCCESS);
}

/* Completion queues and queue pairs */

static void test_creation_of_a_cq(void **state)
{
	(void)state;
	assert_true(a.cq->cqe >= 16);
	assert_fails(EINVAL, !ibv_create_cq(a.context, 0, NULL, NULL, 0));
	assert_fails(EINVAL, !ibv_create_cq(a.context, -1, NULL, NULL, 0));
	assert_fails(EINVAL, !ibv_create_cq(a.context, 1, NULL, NULL, 1));
	assert_fails(EINVAL, !ibv_create_cq(a.context, 1, NULL, NULL, -1));
	assert_fails(EINVAL, !ibv_create_cq(a.context, 1025, NULL, NULL, 0));
	assert_fails(EBUSY, ibv_destroy_cq(a.cq) == EBUSY);
	assert_fails(EBUSY, ibv_destroy_comp_channel(a.channel) == EBUSY);
	assert_int_equal(ibv_poll_cq(a.cq, 0, NULL), 0);
	assert_true(ibv_poll_cq(a.cq, -1, NULL) < 0);
}

static void test_creation_of_a_qp(void **state)
{
	struct ibv_qp_init_attr init = qp_init(&a), got;
	struct ibv_qp_attr attr;

	(void)state;
	assert_int_equal(a.qp->state, IBV_QPS_RESET);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &got), 0);
	assert_memory_equal(&got.cap, &init.cap, sizeof(init.cap));
	assert_ptr_equal(got.qp_context, &a);
	init.send_cq = NULL;
	assert_fails(EINVAL, !ibv_create_qp(a.pd, &init));
	init.send_cq = b.cq;
	assert_fails(EINVAL, !ibv_create_qp(a.pd, &init));
	init = qp_init(&a);
	init.qp_type = IBV_QPT_DRIVER;
	assert_fails(EOPNOTSUPP, !ibv_create_qp(a.pd, &init));
	init = qp_init(&a);
	init.cap.max_send_wr = 129;
	assert_fails(EINVAL, !ibv_create_qp(a.pd, &init));
}

static void modify_fails(int number, struct ibv_qp_attr attr, int mask)
{
	enum ibv_qp_state state = a.qp->state;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;

	assert_fails(number, ibv_modify_qp(a.qp, &attr, mask) == number);
	assert_int_equal(a.qp->state, state);
	assert_int_equal(ibv_query_qp(a.qp, &now, IBV_QP_STATE, &init), 0);
	assert_int_equal(now.qp_state, state);
}

static void test_transitions_that_are_refused(void **state)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 2};

	(void)state;
	modify_fails(EINVAL, attr, INIT_MASK);
	attr.port_num = 1;
	attr.pkey_index = 1;
	modify_fails(EINVAL, attr, INIT_MASK);
	attr.pkey_index = 0;
	modify_fails(EINVAL, attr, INIT_MASK & ~IBV_QP_PORT);
	modify_fails(EINVAL, attr, INIT_MASK | 1 << 30);
	modify_fails(EINVAL, attr, INIT_MASK | IBV_QP_RATE_LIMIT);
	modify_fails(EOPNOTSUPP, attr, INIT_MASK | IBV_QP_ALT_PATH);
	modify_fails(EOPNOTSUPP, attr, INIT_MASK | IBV_QP_PATH_MIG_STATE);
	attr.qp_access_flags = 1 << 15;
	modify_fails(EINVAL, attr, INIT_MASK);
	attr.qp_state = 99;
	modify_fails(EINVAL, attr, IBV_QP_STATE);
	to_init(&a);

	attr = rtr_attr(&b);
	attr.ah_attr.is_global = 0;
	modify_fails(EINVAL, attr, RTR_MASK);
	attr = rtr_attr(&b);
	attr.ah_attr.port_num = 2;
	modify_fails(EINVAL, attr, RTR_MASK);
	attr = rtr_attr(&b);
	attr.ah_attr.grh.sgid_index = 2;
	modify_fails(EINVAL, attr, RTR_MASK);
	attr = rtr_attr(&b);
	attr.ah_attr.grh.dgid.raw[15] = 99;
	modify_fails(EHOSTUNREACH, attr, RTR_MASK);
	attr = rtr_attr(&b);
	attr.path_mtu = 0;
	modify_fails(EINVAL, attr, RTR_MASK);
	attr.path_mtu = IBV_MTU_4096; /* the port has 1024 */
	modify_fails(EINVAL, attr, RTR_MASK);
	attr.path_mtu = 6;
	modify_fails(EINVAL, attr, RTR_MASK);
	attr = rtr_attr(&b);
	modify_fails(EINVAL, attr, RTR_MASK & ~IBV_QP_DEST_QPN);
	modify_fails(EINVAL, attr, RTR_MASK & ~IBV_QP_AV);
}

static void test_the_current_state_can_be_a_condition(void **state)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_RTR, .min_rnr_timer = 3};

	(void)state;
	connect_both();
	modify_fails(EINVAL, attr, IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER);
	attr.cur_qp_state = IBV_QPS_RTS;
	assert_int_equal(
		ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER),
		0);
}

/* The way to the peer is looked for while the last timeout passes. */
static void test_time_passes_while_an_address_is_looked_for(void **state)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .retry_cnt = 0, .timeout = 1};
	struct ibv_qp_attr way = rtr_attr(&b);

	(void)state;
	connect_both();
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(
		ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	toy.drop_every = 1;
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}), 0);
	assert_true(toy_pump(&toy));
	attr.qp_state = way.qp_state = IBV_QPS_SQD;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	toy.resolve_takes = PS_S;
	assert_fails(EINVAL, ibv_modify_qp(a.qp, &way, IBV_QP_STATE | IBV_QP_AV) == EINVAL);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, NULL), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(poll_one(&a).status, IBV_WC_RETRY_EXC_ERR);
}

static void test_query_gives_back_what_was_set(void **state)
{
	struct ibv_qp_attr attr, want = rtr_attr(&b);
	struct ibv_qp_init_attr init;

	(void)state;
	connect_both();
	assert_int_equal(ibv_query_qp(a.qp, &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.qp->state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, b.qp->qp_num);
	assert_int_equal(attr.rq_psn, 0xffffff);
	assert_int_equal(attr.sq_psn, 0xffffff);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_memory_equal(&attr.ah_attr, &want.ah_attr, sizeof(want.ah_attr));
}

/* What a handle says about the path: service level first, else the class of the DSCP. */
static void test_the_path_of_a_qp(void **state)
{
	struct ibv_qp_attr attr = rtr_attr(&b);

	(void)state;
	to_init(&a);
	attr.ah_attr.grh.traffic_class = 26 << 2 | 1;
	attr.ah_attr.grh.flow_label = 0x12345;
	attr.ah_attr.grh.hop_limit = 9;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
	assert_int_equal(toy.path.dscp, 26);
	assert_int_equal(toy.path.priority, 3);
	assert_int_equal(toy.path.flow_label, 0x12345);
	assert_int_equal(toy.path.ttl, 9);
	assert_memory_equal(toy.path.src_ip, toy.hosts[0].gid[1], 16);
	assert_memory_equal(toy.path.dst_ip, toy.hosts[1].gid[1], 16);
	to_init(&b);
	attr = rtr_attr(&a);
	attr.ah_attr.sl = 5;
	attr.ah_attr.grh.traffic_class = 26 << 2;
	assert_int_equal(ibv_modify_qp(b.qp, &attr, RTR_MASK), 0);
	assert_int_equal(toy.path.priority, 5);
}

/* A fabric has eight classes or sixteen, and a handle reaches each of them in two ways. */
static void test_a_handle_reaches_every_class(void **state)
{
	tear_down(state);
	for (uint8_t bits = 3; bits <= 4; bits++) {
		toy_priority_count = 1u << bits;
		set_up(state);
		toy_priority_count = 0;
		to_init(&a);
		for (int value = 0; value < 256; value++) {
			const int of_level = value & ((1 << bits) - 1);
			const int of_class = value >> (8 - bits);
			struct ibv_ah_attr attr = rtr_attr(&b).ah_attr;
			struct ibv_ah *ah;

			attr.grh.traffic_class = (uint8_t)value;
			ah = ibv_create_ah(a.pd, &attr);
			assert_int_equal(toy.path.priority, of_class);
			assert_int_equal(ibv_destroy_ah(ah), 0);
			attr.sl = (uint8_t)value;
			ah = ibv_create_ah(a.pd, &attr);
			assert_int_equal(toy.path.priority, of_level != 0 ? of_level : of_class);
			assert_int_equal(toy.path.dscp, value >> 2);
			assert_int_equal(ibv_destroy_ah(ah), 0);
		}
		if (bits == 3)
			tear_down(state);
	}
}

/* Names */

static void test_every_value_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++)
		assert_string_not_equal(ibv_wc_status_str(i), "unknown");
	for (int i = 0; i <= IBV_EVENT_WQ_FATAL; i++)
		assert_string_not_equal(ibv_event_type_str(i), "unknown");
	for (int i = 0; i <= IBV_PORT_ACTIVE_DEFER; i++)
		assert_string_not_equal(ibv_port_state_str(i), "unknown");
	for (int i = IBV_NODE_CA; i <= IBV_NODE_UNSPECIFIED; i++)
		assert_string_not_equal(ibv_node_type_str(i), "unknown");
	assert_string_equal(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE + 1), "unknown");
	assert_string_equal(ibv_event_type_str(-1), "unknown");
	assert_string_equal(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	assert_string_equal(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retries exceeded");
}

static void test_rates_there_and_back(void **state)
{
	(void)state;
	for (int i = IBV_RATE_2_5_GBPS; i <= IBV_RATE_1200_GBPS; i++) {
		assert_int_equal(mbps_to_ibv_rate(ibv_rate_to_mbps(i)), i);
		assert_int_equal(mult_to_ibv_rate(ibv_rate_to_mult(i)), i);
	}
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_100_GBPS), 40);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	assert_int_equal(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

/* Who asks for two elements of a list has room for two times 16 bytes, but no more than the device
 * has: 128. */
static void test_a_list_has_room_for_inline_bytes(void **state)
{
	static const uint32_t cases[][3] = {{0, 2, 32}, {16, 2, 32},   {33, 2, 33},
					    {0, 0, 0},	{128, 4, 128}, {0, 1, 16}};
	struct ibv_qp_init_attr init, got;
	struct ibv_qp_attr attr;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_qp *qp;

		init = qp_init(&a);
		init.cap.max_inline_data = cases[i][0];
		init.cap.max_send_sge = cases[i][1];
		qp = ibv_create_qp(a.pd, &init);
		assert_non_null(qp);
		assert_int_equal(init.cap.max_inline_data, cases[i][2]);
		assert_int_equal(init.cap.max_send_sge, cases[i][1]);
		assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
		assert_int_equal(got.cap.max_inline_data, cases[i][2]);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	init.cap.max_inline_data = 129;
	assert_fails(EINVAL, !ibv_create_qp(a.pd, &init));
}

/* How long four WRITEs of 1000 bytes take. */
static ps_t four_writes_take(void)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 1000, a.mr->lkey};
	const ps_t from = toy.now;

	for (int i = 0; i < 4; i++) {
		struct ibv_send_wr wr = {.sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = i == 3 ? IBV_SEND_SIGNALED : 0,
					 .wr.rdma = {(uintptr_t)b.bytes, b.mr->rkey}},
				   *bad;

		assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	}
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	return toy.now - from;
}

/* At 1 Gbit/s three gaps of more than 1000 and fewer than 1150 bytes: 24 to 27.6 us; and what the
 * toy takes for each packet, 100 ns. */
static void test_a_rate_of_its_own(void **state)
{
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1000000};
	struct ibv_qp_attr attr = {.rate_limit = 5};
	struct ibv_qp_init_attr init = qp_init(&a);
	struct ibv_qp *ud;
	ps_t took;

	(void)state;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL); /* in RESET */
	connect_both();
	assert_true(four_writes_take() < 5 * PS_US);
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), 0);
	took = four_writes_take();
	assert_true(took >= 24 * PS_US);
	assert_true(took < 29 * PS_US);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 1000000);
	rate.max_burst_sz = 4096;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EOPNOTSUPP);
	rate.max_burst_sz = rate.rate_limit = 0;
	rate.comp_mask = 1;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
	rate.comp_mask = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), 0);
	assert_true(four_writes_take() < 15 * PS_US); /* the last gap has still to pass */
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 0);
	init = qp_init(&a);
	init.qp_type = IBV_QPT_UD;
	ud = ibv_create_qp(a.pd, &init);
	assert_int_equal(ibv_modify_qp_rate_limit(ud, &rate), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(ud), 0);
}

RUN(T(test_a_rate_of_its_own), T(test_a_list_has_room_for_inline_bytes),
    T(test_device_pointers_are_the_same_every_time), T(test_no_device_is_an_empty_list),
    T(test_a_closed_context_waits_for_its_objects), T(test_device_attributes_and_sizes),
    T(test_port_in_both_forms), T(test_gids_and_pkeys), T(test_what_there_is_not_is_refused),
    T(test_a_pd_in_use_stays), T(test_rights_of_regions),
    T(test_what_cannot_be_pinned_is_no_region), T(test_a_large_region_needs_all_its_pages),
    T(test_bad_rereg_leaves_the_region_as_it_was), T(test_creation_of_a_cq),
    T(test_creation_of_a_qp), T(test_transitions_that_are_refused),
    T(test_the_current_state_can_be_a_condition),
    T(test_time_passes_while_an_address_is_looked_for), T(test_query_gives_back_what_was_set),
    T(test_the_path_of_a_qp), T(test_a_handle_reaches_every_class), T(test_every_value_has_a_name),
    T(test_rates_there_and_back))

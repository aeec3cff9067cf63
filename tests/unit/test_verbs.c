/* SPDX-License-Identifier: BSD-2-Clause */

/* The ibv_ functions over two adapters of the toy world. */
#include "tests/test.h"

#include "tests/programs/toy.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <string.h>

enum { BYTES = 4096, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };
enum {
	INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	RTR_MASK = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS_MASK = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* Fails with @number in errno. */
#define assert_fails(number, call)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_true(call);                                                                 \
		assert_int_equal(errno, number);                                                   \
	} while (0)

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t bytes[BYTES];
};

static struct toy toy;
static struct end a, b;

static struct ibv_qp_init_attr qp_init(struct end *end)
{
	return (struct ibv_qp_init_attr){.send_cq = end->cq,
					 .recv_cq = end->cq,
					 .cap = {.max_send_wr = 4,
						 .max_recv_wr = 4,
						 .max_send_sge = 2,
						 .max_recv_sge = 2,
						 .max_inline_data = 64},
					 .qp_type = IBV_QPT_RC,
					 .qp_context = end};
}

static void open_end(struct end *end, struct ibv_device *device)
{
	struct ibv_qp_init_attr init;

	memset(end, 0, sizeof(*end));
	end->context = ibv_open_device(device);
	assert_non_null(end->context);
	end->pd = ibv_alloc_pd(end->context);
	assert_non_null(end->pd);
	end->channel = ibv_create_comp_channel(end->context);
	assert_non_null(end->channel);
	end->cq = ibv_create_cq(end->context, 16, end, end->channel, 0);
	assert_non_null(end->cq);
	end->mr = ibv_reg_mr(end->pd, end->bytes, BYTES, RIGHTS);
	assert_non_null(end->mr);
	init = qp_init(end);
	end->qp = ibv_create_qp(end->pd, &init);
	assert_non_null(end->qp);
}

static int set_up(void **state)
{
	struct ibv_device **list;
	int count = -1;

	(void)state;
	toy_init(&toy, 2);
	toy_show(&toy, 2);
	list = ibv_get_device_list(&count);
	assert_non_null(list);
	assert_int_equal(count, 2);
	open_end(&a, list[0]);
	open_end(&b, list[1]);
	ibv_free_device_list(list);
	return 0;
}

static void close_end(struct end *end)
{
	if (end->qp)
		assert_int_equal(ibv_destroy_qp(end->qp), 0);
	if (end->mr)
		assert_int_equal(ibv_dereg_mr(end->mr), 0);
	if (end->cq)
		assert_int_equal(ibv_destroy_cq(end->cq), 0);
	if (end->channel)
		assert_int_equal(ibv_destroy_comp_channel(end->channel), 0);
	assert_int_equal(ibv_dealloc_pd(end->pd), 0);
	assert_int_equal(ibv_close_device(end->context), 0);
}

static int tear_down(void **state)
{
	(void)state;
	close_end(&a);
	close_end(&b);
	toy_fini(&toy);
	return 0;
}

static void to_init(struct end *end)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	assert_int_equal(ibv_modify_qp(end->qp, &attr, INIT_MASK), 0);
}

static struct ibv_qp_attr rtr_attr(const struct end *peer)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp->qp_num,
				   .rq_psn = 0xffffff,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 12,
				   .ah_attr = {.grh = {.sgid_index = 1, .hop_limit = 64},
					       .is_global = 1,
					       .port_num = 1}};

	assert_int_equal(ibv_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	return attr;
}

static void to_rts(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = rtr_attr(peer);

	assert_int_equal(ibv_modify_qp(end->qp, &attr, RTR_MASK), 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .sq_psn = 0xffffff,
				    .max_rd_atomic = 1};
	assert_int_equal(ibv_modify_qp(end->qp, &attr, RTS_MASK), 0);
}

static void connect_both(void)
{
	to_init(&a);
	to_init(&b);
	to_rts(&a, &b);
	to_rts(&b, &a);
}

static int post_recv(struct end *end, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)end->bytes + offset, length, end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int ret = ibv_post_recv(end->qp, &wr, &bad);

	assert_ptr_equal(bad, ret != 0 ? &wr : NULL);
	return ret;
}

static int post_send(struct end *end, struct ibv_send_wr wr)
{
	struct ibv_sge sge = {(uintptr_t)end->bytes, 100, end->mr->lkey};
	struct ibv_send_wr *bad = NULL;
	int ret;

	if (!wr.sg_list) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	ret = ibv_post_send(end->qp, &wr, &bad);
	assert_ptr_equal(bad, ret != 0 ? &wr : NULL);
	return ret;
}

static struct ibv_wc poll_one(struct end *end)
{
	struct ibv_wc wc;
	int count = 0;

	for (int i = 0; i < 100 && count == 0; i++)
		count = ibv_poll_cq(end->cq, 1, &wc);
	assert_int_equal(count, 1);
	return wc;
}

/* Devices */

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
	assert_memory_equal(&big.ex.orig_attr, &attr, sizeof(attr));
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
	assert_int_equal(port.attr.gid_tbl_len, 2);
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
	const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	struct ibv_gid_entry entry, table[3];
	union ibv_gid gid;
	__be16 pkey;

	(void)state;
	assert_int_equal(ibv_query_gid(a.context, 1, 1, &gid), 0);
	assert_memory_equal(gid.raw, mapped, 16);
	assert_fails(ENOENT, ibv_query_gid(a.context, 1, 2, &gid) == -1);
	assert_fails(EINVAL, ibv_query_gid(a.context, 1, -1, &gid) == -1);
	assert_fails(EINVAL, ibv_query_gid(a.context, 2, 0, &gid) == -1);
	assert_int_equal(ibv_query_gid_ex(a.context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.gid_index, 1);
	assert_fails(ENODATA, ibv_query_gid_ex(a.context, 1, 2, &entry, 0) == ENODATA);
	assert_fails(EINVAL, ibv_query_gid_ex(a.context, 1, 1, &entry, 1) == EINVAL);
	assert_int_equal(ibv_query_gid_table(a.context, table, 3, 0), 2);
	assert_memory_equal(&table[1], &entry, sizeof(entry));
	assert_int_equal(ibv_query_gid_table(a.context, table, 1, 0), -EINVAL);
	assert_int_equal(ibv_query_pkey(a.context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_fails(EINVAL, ibv_query_pkey(a.context, 1, 1, &pkey) == -1);
	assert_int_equal(ibv_get_pkey_index(a.context, 1, htobe16(0x7fff)), 0);
	assert_fails(EINVAL, ibv_get_pkey_index(a.context, 1, htobe16(0x7ffe)) == -1);
}

static void test_what_there_is_not_is_refused(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 1};
	struct ibv_srq_init_attr srq_attr = {0};

	(void)state;
	assert_fails(EOPNOTSUPP, !ibv_create_cq_ex(a.context, &cq_attr));
	assert_fails(EOPNOTSUPP, !ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
	assert_fails(EOPNOTSUPP, !ibv_create_srq(a.pd, &srq_attr));
	assert_fails(ENOSYS, ibv_resize_cq(a.cq, 32) == ENOSYS);
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
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, 64, IBV_ACCESS_ON_DEMAND));
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, 64, 1 << 15));
	assert_fails(EINVAL, !ibv_reg_mr(a.pd, bytes, SIZE_MAX, 0));
}

static void test_rereg_leaves_the_region_as_it_was(void **state)
{
	(void)state;
	assert_fails(EOPNOTSUPP, ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ==
					 IBV_REREG_MR_ERR_INPUT);
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
	struct ibv_srq srq;

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
	init.srq = &srq;
	assert_fails(EOPNOTSUPP, !ibv_create_qp(a.pd, &init));
	init = qp_init(&a);
	init.qp_type = IBV_QPT_RAW_PACKET;
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
	modify_fails(EINVAL, attr, INIT_MASK | IBV_QP_RATE_LIMIT);
	attr.qp_access_flags = IBV_ACCESS_ON_DEMAND;
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

/* Posting and polling */

static void test_posts_that_are_refused(void **state)
{
	struct ibv_sge sge[3] = {{(uintptr_t)a.bytes, 1, a.mr->lkey},
				 {(uintptr_t)a.bytes, 1, a.mr->lkey},
				 {(uintptr_t)a.bytes, 1, a.mr->lkey}};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND};

	(void)state;
	assert_fails(EINVAL, post_recv(&a, 1, 0, 8) == EINVAL); /* RESET */
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	to_init(&a);
	to_init(&b);
	assert_int_equal(post_recv(&a, 1, 0, 8), 0);
	assert_fails(EINVAL, post_send(&a, send) == EINVAL); /* INIT */
	to_rts(&a, &b);
	to_rts(&b, &a);
	send.opcode = IBV_WR_TSO;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send.opcode = (enum ibv_wr_opcode)40;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send = (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send = (struct ibv_send_wr){.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 3};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send.num_sge = -1;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	sge[0].length = 65;
	send = (struct ibv_send_wr){
		.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_INLINE};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
}

static void test_a_full_queue_refuses_and_says_which(void **state)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};
	struct ibv_send_wr wr[6], *bad = NULL;
	uint64_t calls, requests;

	(void)state;
	connect_both();
	for (int i = 0; i < 6; i++)
		wr[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i,
					     .next = i < 5 ? &wr[i + 1] : NULL,
					     .sg_list = &sge,
					     .num_sge = 1,
					     .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED};
	calls = toy.calls[VRB_CALL_POST_SEND];
	requests = toy.amounts[VRB_CALL_POST_SEND];
	assert_fails(ENOMEM, ibv_post_send(a.qp, wr, &bad) == ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	/* The world is asked once, for all of them. */
	assert_int_equal(toy.calls[VRB_CALL_POST_SEND] - calls, 1);
	assert_int_equal(toy.amounts[VRB_CALL_POST_SEND] - requests, 6);
	for (int i = 0; i < 4; i++)
		assert_int_equal(post_recv(&b, (uint64_t)i, 0, 8), 0);
	assert_fails(ENOMEM, post_recv(&b, 4, 0, 8) == ENOMEM);
	for (int i = 0; i < 4; i++)
		assert_int_equal(poll_one(&a).wr_id, i);
}

static void test_a_send_arrives_with_all_its_fields(void **state)
{
	struct ibv_wc wc;

	(void)state;
	connect_both();
	memset(a.bytes, 0x5a, 100);
	assert_int_equal(post_recv(&b, 77, 200, 1000), 0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.wr_id = 88,
							    .opcode = IBV_WR_SEND_WITH_IMM,
							    .imm_data = htonl(0x01020304),
							    .send_flags = IBV_SEND_SIGNALED}),
			 0);
	wc = poll_one(&a);
	assert_int_equal(wc.wr_id, 88);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.qp_num, a.qp->qp_num);
	wc = poll_one(&b);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(ntohl(wc.imm_data), 0x01020304);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc.qp_num, b.qp->qp_num);
	assert_memory_equal(b.bytes + 200, a.bytes, 100);
	assert_int_equal(b.bytes[300], 0);
}

static void test_a_write_reaches_the_address_of_its_region(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mr *far;

	(void)state;
	connect_both();
	far = ibv_reg_mr_iova(b.pd, b.bytes + 1000, 200, 0x7000000000, RIGHTS);
	memset(a.bytes, 0x33, 100);
	wr.wr.rdma.remote_addr = 0x7000000000 + 50;
	wr.wr.rdma.rkey = far->rkey;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 1050, a.bytes, 100);
	assert_int_equal(b.bytes[1049], 0);
	assert_int_equal(ibv_dereg_mr(far), 0);
}

static void test_atomics_take_their_own_fields(void **state)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC};
	uint64_t words[2] = {5, 6}, old;
	struct ibv_mr *mr;

	(void)state;
	connect_both();
	assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	mr = ibv_reg_mr(b.pd, words, sizeof(words),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(mr);
	wr.wr.atomic.remote_addr = (uintptr_t)&words[1];
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 6;
	wr.wr.atomic.swap = 0x1122334455667788;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).opcode, IBV_WC_COMP_SWAP);
	memcpy(&old, a.bytes, sizeof(old));
	assert_int_equal(old, 6);
	assert_true(words[1] == 0x1122334455667788);
	assert_int_equal(words[0], 5);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void test_many_completions_come_at_once(void **state)
{
	struct ibv_wc wc[40];
	struct ibv_qp_init_attr init = qp_init(&a);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_cq *cq = ibv_create_cq(a.context, 64, NULL, NULL, 0);
	struct ibv_qp *qp, *own = a.qp;

	(void)state;
	init.recv_cq = cq;
	init.cap.max_recv_wr = 40;
	qp = ibv_create_qp(a.pd, &init);
	a.qp = qp;
	to_init(&a);
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(post_recv(&a, i, 0, 8), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(cq, 37, wc), 37);
	assert_int_equal(ibv_poll_cq(cq, 37, wc + 37), 3);
	for (uint64_t i = 0; i < 40; i++) {
		assert_int_equal(wc[i].wr_id, i);
		assert_int_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].qp_num, qp->qp_num);
	}
	a.qp = own;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Events */

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void no_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	while (toy_pump(&toy))
		;
	assert_fails(EAGAIN, ibv_get_cq_event(end->channel, &cq, &context) == -1);
}

static void one_event(struct end *end)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_get_cq_event(end->channel, &cq, &context), 0);
	assert_ptr_equal(cq, end->cq);
	assert_ptr_equal(context, end);
}

static void send_one(unsigned int flags)
{
	assert_int_equal(post_recv(&b, 1, 0, 100), 0);
	assert_int_equal(
		post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = flags}), 0);
}

static void test_an_armed_cq_tells_once(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	send_one(0);
	no_event(&b); /* not armed */
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	no_event(&b); /* what is there already does not count */
	send_one(0);
	one_event(&b);
	send_one(0);
	no_event(&b); /* once */
	ibv_ack_cq_events(b.cq, 1);
}

static void test_a_cq_armed_for_solicited_ones(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(b.cq, 1), 0);
	send_one(0);
	no_event(&b);
	send_one(IBV_SEND_SOLICITED);
	one_event(&b);
	ibv_ack_cq_events(b.cq, 1);
}

static void test_events_wait_unread_and_in_order(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(b.context, 4, NULL, b.channel, 0), *got;
	struct ibv_qp_init_attr init = qp_init(&b);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *qp, *own = b.qp;
	void *context;

	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	init.recv_cq = cq;
	qp = ibv_create_qp(b.pd, &init);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	b.qp = qp;
	to_init(&b);
	assert_int_equal(post_recv(&b, 1, 0, 8), 0);
	b.qp = own;
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	one_event(&b);
	assert_int_equal(ibv_get_cq_event(b.channel, &got, &context), 0);
	assert_ptr_equal(got, cq);
	one_event(&b);
	no_event(&b);
	ibv_ack_cq_events(b.cq, 2);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void test_a_destroyed_cq_takes_its_unread_events_along(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(b.cq), 0);
	b.cq = NULL;
	no_event(&b);
}

static bool acked;

/* Once somebody has been seen to wait. */
static void *ack_later(void *arg)
{
	uint64_t *calls = &toy.calls[VRB_CALL_CHANNEL],
		 first = __atomic_load_n(calls, __ATOMIC_RELAXED);

	while (__atomic_load_n(calls, __ATOMIC_RELAXED) < first + 20)
		sched_yield();
	__atomic_store_n(&acked, true, __ATOMIC_RELEASE);
	ibv_ack_cq_events(arg, 1);
	return NULL;
}

static void test_destroy_cq_waits_for_acknowledgements(void **state)
{
	pthread_t thread;

	(void)state;
	acked = false;
	connect_both();
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	one_event(&b);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_int_equal(pthread_create(&thread, NULL, ack_later, b.cq), 0);
	assert_int_equal(ibv_destroy_cq(b.cq), 0);
	b.cq = NULL;
	assert_true(__atomic_load_n(&acked, __ATOMIC_ACQUIRE));
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_a_bad_key_is_an_event_of_the_responder(void **state)
{
	struct ibv_async_event event = {.event_type = IBV_EVENT_CQ_ERR};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};

	(void)state;
	connect_both();
	set_nonblocking(b.context->async_fd);
	assert_fails(EAGAIN, ibv_get_async_event(b.context, &event) == -1);
	wr.wr.rdma.remote_addr = (uintptr_t)b.bytes;
	wr.wr.rdma.rkey = b.mr->rkey ^ 0x100;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_get_async_event(b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	assert_fails(EAGAIN, ibv_get_async_event(b.context, &event) == -1);
}

static void test_events_of_the_port_reach_every_context(void **state)
{
	struct ibv_context *second = ibv_open_device(a.context->device);
	struct ibv_async_event event;

	(void)state;
	vrb_on_async(&toy.hosts[0].world, NULL, IBV_EVENT_PORT_ERR);
	vrb_on_async(&toy.hosts[0].world, NULL, IBV_EVENT_PORT_ACTIVE);
	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = i == 0 ? a.context : second;

		set_nonblocking(context->async_fd);
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		assert_int_equal(event.element.port_num, 1);
		ibv_ack_async_event(&event);
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		assert_fails(EAGAIN, ibv_get_async_event(context, &event) == -1);
	}
	assert_int_equal(ibv_close_device(second), 0);
}

static void test_an_overrun_cq_is_an_event_of_its_own(void **state)
{
	struct ibv_async_event event;

	(void)state;
	vrb_on_async(&toy.hosts[0].world, a.cq, IBV_EVENT_CQ_ERR);
	assert_int_equal(ibv_get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, a.cq);
	ibv_ack_async_event(&event);
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

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
RUN(T(test_device_pointers_are_the_same_every_time), T(test_no_device_is_an_empty_list),
    T(test_a_closed_context_waits_for_its_objects), T(test_device_attributes_and_sizes),
    T(test_port_in_both_forms), T(test_gids_and_pkeys), T(test_what_there_is_not_is_refused),
    T(test_a_pd_in_use_stays), T(test_rights_of_regions), T(test_rereg_leaves_the_region_as_it_was),
    T(test_creation_of_a_cq), T(test_creation_of_a_qp), T(test_transitions_that_are_refused),
    T(test_the_current_state_can_be_a_condition), T(test_query_gives_back_what_was_set),
    T(test_the_path_of_a_qp), T(test_posts_that_are_refused),
    T(test_a_full_queue_refuses_and_says_which), T(test_a_send_arrives_with_all_its_fields),
    T(test_a_write_reaches_the_address_of_its_region), T(test_atomics_take_their_own_fields),
    T(test_many_completions_come_at_once), T(test_an_armed_cq_tells_once),
    T(test_a_cq_armed_for_solicited_ones), T(test_events_wait_unread_and_in_order),
    T(test_a_destroyed_cq_takes_its_unread_events_along),
    T(test_destroy_cq_waits_for_acknowledgements), T(test_a_bad_key_is_an_event_of_the_responder),
    T(test_events_of_the_port_reach_every_context), T(test_an_overrun_cq_is_an_event_of_its_own),
    T(test_every_value_has_a_name), T(test_rates_there_and_back))

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/verbs_test.h"

struct toy toy;
struct end a, b;

struct ibv_qp_init_attr qp_init(struct end *end)
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

int set_up(void **state)
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

int tear_down(void **state)
{
	(void)state;
	close_end(&a);
	close_end(&b);
	toy_fini(&toy);
	return 0;
}

void to_init(struct end *end)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	assert_int_equal(ibv_modify_qp(end->qp, &attr, INIT_MASK), 0);
}

struct ibv_qp_attr rtr_attr(const struct end *peer)
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

void to_rts(struct end *end, const struct end *peer)
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

void connect_both(void)
{
	to_init(&a);
	to_init(&b);
	to_rts(&a, &b);
	to_rts(&b, &a);
}

int post_recv(struct end *end, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)end->bytes + offset, length, end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int ret = ibv_post_recv(end->qp, &wr, &bad);

	assert_ptr_equal(bad, ret != 0 ? &wr : NULL);
	return ret;
}

int post_send(struct end *end, struct ibv_send_wr wr)
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

struct ibv_wc poll_one(struct end *end)
{
	struct ibv_wc wc;
	int count = 0;

	for (int i = 0; i < 100 && count == 0; i++)
		count = ibv_poll_cq(end->cq, 1, &wc);
	assert_int_equal(count, 1);
	return wc;
}

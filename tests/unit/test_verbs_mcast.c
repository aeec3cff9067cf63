/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast: who hears what is sent to a group. */
#include "tests/unit/verbs_test.h"

enum { QKEY = 0x11111111, MULTICAST_QPN = 0xffffff, GRH_BYTES = 40 };
static const union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
static const union ibv_gid next = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 4}};
static const union ibv_gid other = {.raw = {0xff, 0x0e, [15] = 9}};

static struct ibv_qp *datagram_qp(struct end *end, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey};
	struct ibv_qp_init_attr init = qp_init(end);
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp(end->pd, &init);
	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void receive(struct end *end, struct ibv_qp *qp, uint64_t wr_id, uint32_t offset)
{
	struct ibv_sge sge = {(uintptr_t)end->bytes + offset, 200, end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* 100 bytes of @end, which has no completion of it. */
static void send_to(struct end *end, struct ibv_qp *qp, const union ibv_gid *gid)
{
	struct ibv_ah_attr way = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .sgid_index = 1}};
	struct ibv_ah *ah = ibv_create_ah(end->pd, &way);
	struct ibv_sge sge = {(uintptr_t)end->bytes, 100, end->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 9,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.ud = {ah, MULTICAST_QPN, QKEY}},
			   *bad;

	assert_non_null(ah);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(poll_one(end).wr_id, 9);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static int polls(struct end *end, struct ibv_wc *wc)
{
	int got = 0;

	for (int i = 0; i < 3 && got == 0; i++)
		got = ibv_poll_cq(end->cq, 1, wc);
	return got;
}

static void test_each_of_a_group_gets_a_copy(void **state)
{
	struct ibv_qp *from = datagram_qp(&a, QKEY), *first = datagram_qp(&b, QKEY),
		      *second = datagram_qp(&b, QKEY), *strange = datagram_qp(&b, QKEY + 1);
	uint8_t grh[GRH_BYTES];
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(ibv_attach_mcast(first, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(second, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(strange, &group, 0), 0);
	receive(&b, first, 1, 0);
	receive(&b, second, 2, 1000);
	receive(&b, strange, 3, 2000);
	memset(a.bytes, 0x5a, 100);
	send_to(&a, from, &group);
	for (uint32_t i = 0; i < 2; i++) {
		wc = poll_one(&b);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i + 1);
		assert_int_equal(wc.qp_num, i == 0 ? first->qp_num : second->qp_num);
		assert_int_equal(wc.src_qp, from->qp_num);
		assert_int_equal(wc.byte_len, GRH_BYTES + 100);
		assert_true(wc.wc_flags & IBV_WC_GRH);
		memcpy(grh, b.bytes + 1000 * i, sizeof(grh));
		/* An IPv4 header in the last 20 bytes (RoCEv2 annex A17.4.5.2): to the group. */
		assert_int_equal(grh[20] >> 4, 4);
		assert_memory_equal(grh + 36, group.raw + 12, 4);
		assert_int_equal(b.bytes[1000 * i + GRH_BYTES], 0x5a);
	}
	assert_int_equal(polls(&b, &wc), 0); /* another Q_Key */
	assert_int_equal(ibv_detach_mcast(first, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(strange, &group, 0), 0);
	receive(&b, first, 4, 0);
	receive(&b, second, 5, 0);
	send_to(&a, from, &group);
	assert_int_equal(poll_one(&b).wr_id, 5);
	assert_int_equal(polls(&b, &wc), 0);
	receive(&b, second, 6, 0);
	send_to(&a, from, &other);
	send_to(&a, from, &next);
	assert_int_equal(polls(&b, &wc), 0);
	assert_int_equal(ibv_detach_mcast(second, &group, 0), 0);
	assert_int_equal(toy.hosts[1].heard, 0);
	ibv_destroy_qp(from);
	ibv_destroy_qp(first);
	ibv_destroy_qp(second);
	ibv_destroy_qp(strange);
}

/* The sender's own, too, and one queue pair in two groups. */
static void test_a_sender_hears_itself(void **state)
{
	struct ibv_qp *qp = datagram_qp(&a, QKEY);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(qp, &other, 0xc001), 0);
	assert_int_equal(toy.hosts[0].heard, 2);
	receive(&a, qp, 1, 1000);
	send_to(&a, qp, &other);
	wc = poll_one(&a);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_memory_equal(a.bytes + 1000 + 24, other.raw, 16);
	assert_int_equal(ibv_detach_mcast(qp, &other, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void test_what_is_refused(void **state)
{
	const union ibv_gid unicast = {.raw = {0xfe, 0x80, [15] = 1}};
	const union ibv_gid unicast4 = {.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	struct ibv_qp *qp = datagram_qp(&a, QKEY);
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(ibv_query_device(a.context, &attr), 0);
	assert_int_equal(attr.max_mcast_grp, 8);
	assert_true(attr.max_mcast_qp_attach > 0 && attr.max_total_mcast_qp_attach > 0);
	assert_int_equal(ibv_attach_mcast(qp, &unicast, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(qp, &unicast4, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(a.qp, &group, 0), EINVAL); /* not UD */
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0); /* it is already */
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

RUN(T(test_each_of_a_group_gets_a_copy), T(test_a_sender_hears_itself), T(test_what_is_refused))

/* SPDX-License-Identifier: BSD-2-Clause */

/* Other people's program for sanitizers: one thread posts SENDs, WRITEs, READs and atomics to a
 * queue pair that is connected to itself, another polls; all bytes are compared at the end. Ends
 * with 0 where all was right. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 500, BYTES = 3000, DEPTH = 16 };

static struct ibv_cq *cq;
static atomic_int ended, failed;

static void *poll_all(void *unused)
{
	struct ibv_wc wc[8];

	(void)unused;
	while (ended < 5 * ROUNDS && !failed) {
		const int count = ibv_poll_cq(cq, 8, wc);

		for (int i = 0; i < count; i++)
			if (wc[i].status != IBV_WC_SUCCESS) {
				fprintf(stderr, "%s\n", ibv_wc_status_str(wc[i].status));
				failed = 1;
			}
		if (count > 0)
			ended += count;
	}
	return NULL;
}

static int connect_to_itself(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1, .hop_limit = 64}}};
	int ret = ibv_query_gid(context, 1, 1, &attr.ah_attr.grh.dgid);

	ret = ret ? ret
		  : ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ? ret
		  : ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	return ret ? ret
		   : ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

static int post(struct ibv_qp *qp, const struct ibv_mr *mr, enum ibv_wr_opcode opcode, char *from,
		char *to)
{
	const int is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {(uintptr_t)from, is_atomic ? 8 : BYTES, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	if (is_atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)to;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = mr->rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

int main(void)
{
	static char memory[8 * 4096] __attribute__((aligned(4096)));
	char *const a = memory, *const b = memory + 4096, *const c = memory + 8192,
		    *const d = memory + 12288;
	char *const word = memory + 16384, *const before = memory + 20480;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_mr *mr =
		pd ? ibv_reg_mr(pd, memory, sizeof(memory),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
		   : NULL;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {DEPTH, DEPTH, 1, 1, 0}};
	uint64_t sum;
	pthread_t poller;
	struct ibv_qp *qp;

	cq = mr ? ibv_create_cq(context, 8 * DEPTH, NULL, NULL, 0) : NULL;
	init.send_cq = init.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || connect_to_itself(context, qp) != 0)
		return 2;
	ibv_free_device_list(list);
	memset(a, 'a', BYTES);
	pthread_create(&poller, NULL, poll_all, NULL);
	for (int i = 0; i < ROUNDS && !failed; i++) {
		struct ibv_sge sge = {(uintptr_t)b, BYTES, mr->lkey};
		struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;

		while (5 * i - ended > DEPTH - 5 && !failed)
			;
		if (ibv_post_recv(qp, &recv, &bad) || post(qp, mr, IBV_WR_SEND, a, NULL) ||
		    post(qp, mr, IBV_WR_RDMA_WRITE, a, c) || post(qp, mr, IBV_WR_RDMA_READ, d, a) ||
		    post(qp, mr, IBV_WR_ATOMIC_FETCH_AND_ADD, before, word))
			failed = 1;
	}
	pthread_join(poller, NULL);
	memcpy(&sum, word, sizeof(sum));
	failed |= memcmp(a, b, BYTES) != 0 || memcmp(a, c, BYTES) != 0 ||
		  memcmp(a, d, BYTES) != 0 || sum != ROUNDS;
	return ibv_destroy_qp(qp) || ibv_destroy_cq(cq) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) ||
	       ibv_close_device(context) || failed;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs of one process, connected to each other: five messages, and 10 ms of sleep after
 * each has come. With an argument it is killed after the third. For exec_record.sh. */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond);                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char memory[8192];

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *to, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = *gid, .sgid_index = 1, .hop_limit = 1}}};
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1};
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void send_one(struct ibv_qp *from, struct ibv_qp *to, struct ibv_cq *cq, uint32_t lkey)
{
	struct ibv_sge source = {(uintptr_t)memory, 3000, lkey},
		       target = {(uintptr_t)memory + 4096, 4096, lkey};
	struct ibv_recv_wr receive = {.sg_list = &target, .num_sge = 1}, *bad_receive;
	struct ibv_send_wr send = {.sg_list = &source,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_wc wc;

	MUST(ibv_post_recv(to, &receive, &bad_receive) == 0);
	MUST(ibv_post_send(from, &send, &bad_send) == 0);
	for (int done = 0; done < 2;) {
		const int got = ibv_poll_cq(cq, 1, &wc);

		MUST(got >= 0 && (got == 0 || wc.status == IBV_WC_SUCCESS));
		done += got;
	}
}

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 10000000};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_qp *a = ibv_create_qp(pd, &init), *b = ibv_create_qp(pd, &init);
	union ibv_gid gid;

	(void)argv;
	MUST(mr && a && b && ibv_query_gid(context, 1, 1, &gid) == 0);
	connect_to(a, b, &gid);
	connect_to(b, a, &gid);
	for (int i = 0; i < 5; i++) {
		send_one(a, b, cq, mr->lkey);
		nanosleep(&pause, NULL);
		if (argc > 1 && i == 2)
			kill(getpid(), SIGKILL);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/nic_verbs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const struct vrb_provider *vrb_provider(void)
{
	return vrb_provider_nic();
}

struct nic_verbs t;

void nic_verbs_addresses(unsigned count)
{
	char text[3 * (INET_ADDRSTRLEN + 1)] = "", *at = text;

	assert_true(count <= 3);
	for (unsigned i = 1; i <= count; i++) {
		uint8_t ip[16];

		host_ip(i, ip);
		*at = ',';
		at += i > 1;
		inet_ntop(AF_INET, ip + 12, at, INET_ADDRSTRLEN);
		at += strlen(at);
	}
	setenv("VERBENA_ADDR", text, 1);
}

int nic_verbs_open(void **state)
{
	struct ibv_device **list;
	int count;

	(void)state;
	nic_verbs_addresses(1);
	list = ibv_get_device_list(&count);
	assert_non_null(list);
	assert_int_equal(count, 1);
	assert_string_equal(ibv_get_device_name(list[0]), "verbena0");
	t.context = ibv_open_device(list[0]);
	assert_non_null(t.context);
	ibv_free_device_list(list);
	t.pd = ibv_alloc_pd(t.context);
	assert_non_null(t.pd);
	t.mr = ibv_reg_mr(t.pd, t.memory, sizeof(t.memory),
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(t.mr);
	return 0;
}

int nic_verbs_close(void **state)
{
	(void)state;
	assert_int_equal(ibv_dereg_mr(t.mr), 0);
	assert_int_equal(ibv_dealloc_pd(t.pd), 0);
	assert_int_equal(ibv_close_device(t.context), 0);
	return 0;
}

struct ibv_qp *create_qp(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(t.pd, &init);

	assert_non_null(qp);
	return qp;
}

void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ALL_RIGHTS};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
		0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer->qp_num,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1,
				    .ah_attr = {.is_global = 1,
						.port_num = 1,
						.grh = {.sgid_index = 1, .hop_limit = 64}}};
	assert_int_equal(ibv_query_gid(t.context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 10,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1};
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

struct ibv_qp *open_qp(struct ibv_cq *cq)
{
	struct ibv_qp *qp = create_qp(cq);

	connect_to(qp, qp);
	return qp;
}

void write_to_self(struct ibv_qp *qp, uint8_t value)
{
	struct ibv_sge sge = {(uintptr_t)t.memory, BYTES, t.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = value,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &sge,
				 .num_sge = 1},
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)t.memory + BYTES;
	wr.wr.rdma.rkey = t.mr->rkey;
	memset(t.memory, value, BYTES);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

void expect_write(struct ibv_cq *cq, uint8_t value)
{
	struct ibv_wc wc;
	int got;

	while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	assert_int_equal(got, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, value);
	assert_memory_equal(t.memory, t.memory + BYTES, BYTES);
}

int in_process(void (*fn)(void), char *ret_said, size_t room)
{
	int said[2], status;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(said), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		alarm(60);
		dup2(said[1], 2);
		close(said[0]);
		close(said[1]);
		fn();
		_exit(0);
	}
	close(said[1]);
	while (length + 1 < room && (got = read(said[0], ret_said + length, room - 1 - length)) > 0)
		length += (size_t)got;
	ret_said[length] = '\0';
	close(said[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

void assert_all_holds(void (*fn)(void))
{
	char said[1000];
	const int status = in_process(fn, said, sizeof(said));

	assert_string_equal(said, "");
	assert_int_equal(status, 0);
}

uint32_t thread_count(void)
{
	DIR *dir = opendir("/proc/self/task");
	uint32_t count = 0;

	HOLDS(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

int post_receive(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

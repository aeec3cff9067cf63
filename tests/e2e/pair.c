/* SPDX-License-Identifier: BSD-2-Clause */

/* pair [-d DEVICE] [-n COUNT] [-s BYTES] [-o send|write|read|atomic] [-t USEC] [-r] [-e EVENTS]
 *      [-f FILE] [-i] [-k] [-w]
 * Two connected RC queue pairs of one process on one device: one after the other COUNT requests of
 * the first to the second. A line for each post that fails ("post 3 ENOMEM"), each completion that
 * is not well ("send 3 12 0x81": status and vendor_err), each asynchronous event ("event 10"), of
 * which EVENTS are waited for, and at the end of how many went well, the states of the queue pairs
 * and of the port ("done 7, states 3 3, port 4"). -t: so long before each; -r: no receives but for
 * the first; -i: who is not ready is asked without end; -w: events come before the requests; -f:
 * then what is in the file; -k: then "ready", and it waits for the end of its input. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 16, BUFFER = 65536, PATIENCE_MS = 20000 };

static struct {
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_qp *qps[2];
	struct ibv_mr *mr;
	uint8_t bytes[BUFFER];
	long device, count, size, pause_us, events;
	const char *op, *file;
	int keeps, starves, insists, waits;
} p = {.count = 1, .size = 8, .op = "send"};

static void need(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						      IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_ATOMIC};

	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	need(errno == 0, "INIT");
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer->qp_num,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1,
				    .ah_attr = {.is_global = 1, .port_num = 1}};
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.hop_limit = 1;
	need(ibv_query_gid(p.context, 1, 1, &attr.ah_attr.grh.dgid) == 0, "GID");
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	need(errno == 0, "RTR");
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = p.insists ? 18 : 10, /* 1 s, 4 ms */
				    .retry_cnt = 3,
				    .rnr_retry = p.insists ? 7 : 3,
				    .max_rd_atomic = 1};
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	need(errno == 0, "RTS");
}

static void open_all(void)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_pd *pd;

	need(list && p.device < count, "device list");
	p.context = ibv_open_device(list[p.device]);
	need(p.context != NULL, "open");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(p.context);
	p.cq = ibv_create_cq(p.context, 4 * DEPTH, NULL, NULL, 0);
	p.mr = ibv_reg_mr(pd, p.bytes, BUFFER,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	need(pd && p.cq && p.mr, "objects");
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = {.send_cq = p.cq,
						.recv_cq = p.cq,
						.qp_type = IBV_QPT_RC,
						.sq_sig_all = 1,
						.cap = {DEPTH, DEPTH, 1, 1, 0}};

		p.qps[i] = ibv_create_qp(pd, &init);
		need(p.qps[i] != NULL, "queue pair");
	}
	for (int i = 0; i < 2; i++)
		connect_to(p.qps[i], p.qps[1 - i]);
}

static int post_recv(long i)
{
	struct ibv_sge sge = {(uintptr_t)p.bytes, (uint32_t)p.size, p.mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1};

	return ibv_post_recv(p.qps[1], &wr, &bad);
}

static int post_send(long i)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
	} ops[] = {{"send", IBV_WR_SEND},
		   {"write", IBV_WR_RDMA_WRITE},
		   {"read", IBV_WR_RDMA_READ},
		   {"atomic", IBV_WR_ATOMIC_FETCH_AND_ADD}};
	struct ibv_sge sge = {(uintptr_t)p.bytes, (uint32_t)p.size, p.mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1};

	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (strcmp(ops[k].name, p.op) == 0)
			wr.opcode = ops[k].opcode;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p.bytes;
		wr.wr.atomic.rkey = p.mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p.bytes;
		wr.wr.rdma.rkey = p.mr->rkey;
	}
	return ibv_post_send(p.qps[0], &wr, &bad);
}

/* Until the request itself has ended. */
static int wait_for(long i)
{
	int ret = -1;

	while (ret < 0) {
		struct ibv_wc wc;

		if (ibv_poll_cq(p.cq, 1, &wc) != 1)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			printf("%s %ld %d %#x\n", wc.qp_num == p.qps[0]->qp_num ? "send" : "recv",
			       (long)wc.wr_id, wc.status, wc.vendor_err);
		if (wc.qp_num == p.qps[0]->qp_num && (long)wc.wr_id == i)
			ret = wc.status == IBV_WC_SUCCESS;
	}
	return ret;
}

/* Those that are there; at least as many as were asked for. */
static void print_events(void)
{
	struct pollfd wait = {.fd = p.context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	for (long i = 0; poll(&wait, 1, i < p.events ? PATIENCE_MS : 0) == 1; i++) {
		need(ibv_get_async_event(p.context, &event) == 0, "event");
		printf("event %d\n", event.event_type);
		ibv_ack_async_event(&event);
	}
}

static int state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_UNKNOWN};

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 ? (int)attr.qp_state : -1;
}

static void print_file(void)
{
	FILE *file = fopen(p.file, "r");
	char line[256];

	need(file != NULL, p.file);
	while (fgets(line, sizeof(line), file))
		fputs(line, stdout);
	fclose(file);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:n:s:o:t:e:f:ikrw")) != -1) {
		if (c == 'd')
			p.device = atol(optarg);
		else if (c == 'n')
			p.count = atol(optarg);
		else if (c == 's')
			p.size = atol(optarg);
		else if (c == 'o')
			p.op = optarg;
		else if (c == 't')
			p.pause_us = atol(optarg);
		else if (c == 'e')
			p.events = atol(optarg);
		else if (c == 'f')
			p.file = optarg;
		else if (c == 'i')
			p.insists = 1;
		else if (c == 'w')
			p.waits = 1;
		else if (c == 'k')
			p.keeps = 1;
		else if (c == 'r')
			p.starves = 1;
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	const int receives = (parse(argc, argv), strcmp(p.op, "send") == 0);
	struct ibv_port_attr port = {.state = IBV_PORT_NOP};
	long done = 0;
	char byte;

	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all();
	if (p.waits)
		print_events();
	for (long i = 1; i <= p.count; i++) {
		int error = receives && (i == 1 || !p.starves) ? post_recv(i) : 0;

		usleep((unsigned int)p.pause_us);
		if (error)
			printf("receive %ld %s\n", i, strerrorname_np(error));
		error = post_send(i);
		if (error)
			printf("post %ld %s\n", i, strerrorname_np(error));
		else
			done += wait_for(i);
	}
	if (!p.waits)
		print_events();
	(void)ibv_query_port(p.context, 1, &port);
	printf("done %ld, states %d %d, port %d\n", done, state_of(p.qps[0]), state_of(p.qps[1]),
	       port.state);
	if (p.file)
		print_file();
	if (p.keeps)
		puts("ready");
	while (p.keeps && read(0, &byte, 1) > 0)
		;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Each rank but the first sends it messages, each with contents of its own, and the first checks
 * them. The same file is a module of a scenario (virtual time) and, with libverbena, a process.
 *	messages=8	that each rank sends
 *	bytes=4096	of each of them */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verbena/program.h>

struct end { /* what one side tells the other before they are connected */
	union ibv_gid gid;
	uint32_t qpn;
};

struct node {
	const struct vb_prog *prog;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	unsigned char *memory;
	size_t bytes, messages;
};

static size_t arg(const struct vb_prog *prog, const char *name, size_t fallback)
{
	const size_t length = strlen(name);

	for (int i = 0; i < prog->arg_count; i++)
		if (strncmp(prog->args[i], name, length) == 0 && prog->args[i][length] == '=')
			return strtoul(prog->args[i] + length + 1, NULL, 10);
	return fallback;
}

static int fail(const struct node *node, const char *what)
{
	node->prog->say(node->prog, what);
	return -1;
}

static int open_all(struct node *node, size_t slots)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	node->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (list)
		ibv_free_device_list(list);
	if (!node->context)
		return fail(node, "no device");
	node->memory = calloc(slots, node->bytes);
	node->pd = ibv_alloc_pd(node->context);
	node->cq = ibv_create_cq(node->context, (int)slots, NULL, NULL, 0);
	if (!node->memory || !node->pd || !node->cq)
		return fail(node, "no memory, domain or queue");
	node->mr = ibv_reg_mr(node->pd, node->memory, slots * node->bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!node->mr || ibv_query_gid(node->context, 1, 0, &node->gid) != 0)
		return fail(node, "no region, or no address");
	return 0;
}

static int to_ready(struct ibv_qp *qp, const struct end *other)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = other->qpn,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = other->gid, .hop_limit = 64}},
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int post_receive(struct node *node, struct ibv_qp *qp, size_t slot)
{
	struct ibv_sge sge = {(uintptr_t)node->memory + slot * node->bytes, (uint32_t)node->bytes,
			      node->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* A queue pair between rank 0 and rank @sender, on either side; NULL: with a line. What comes
 * before a receive is posted is sent again (rnr_retry). */
static struct ibv_qp *connect_to(struct node *node, int sender)
{
	const struct vb_prog *prog = node->prog;
	struct ibv_qp_init_attr init = {
		.send_cq = node->cq,
		.recv_cq = node->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {(uint32_t)node->messages, (uint32_t)node->messages, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(node->pd, &init);
	struct end self = {.gid = node->gid, .qpn = qp ? qp->qp_num : 0}, other;
	char mine[32], theirs[32];

	snprintf(mine, sizeof(mine), "%s %d", prog->rank == 0 ? "to" : "from", sender);
	snprintf(theirs, sizeof(theirs), "%s %d", prog->rank == 0 ? "from" : "to", sender);
	if (!qp || prog->put(prog, mine, &self, sizeof(self)) != 0 ||
	    prog->get(prog, theirs, &other, sizeof(other)) != 0 || to_ready(qp, &other) != 0) {
		fail(node, "not connected");
		return NULL;
	}
	for (size_t i = 0; prog->rank == 0 && i < node->messages; i++)
		if (post_receive(node, qp, (size_t)(sender - 1) * node->messages + i) != 0)
			return NULL;
	return qp;
}

/* One completion; 0 where it is a good one. */
static int complete(struct node *node, struct ibv_wc *ret_wc)
{
	int got;

	while ((got = ibv_poll_cq(node->cq, 1, ret_wc)) == 0)
		;
	if (got < 0 || ret_wc->status != IBV_WC_SUCCESS)
		return fail(node, got < 0 ? "not polled" : ibv_wc_status_str(ret_wc->status));
	return 0;
}

static unsigned char content(int sender, size_t nth)
{
	return (unsigned char)(17 * sender + (int)nth);
}

static int send_all(struct node *node)
{
	struct ibv_qp *qp = connect_to(node, node->prog->rank);
	struct ibv_wc wc;

	for (size_t i = 0; qp && i < node->messages; i++) {
		struct ibv_sge sge = {(uintptr_t)node->memory, (uint32_t)node->bytes,
				      node->mr->lkey};
		struct ibv_send_wr wr = {.wr_id = i,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED},
				   *bad;

		memset(node->memory, content(node->prog->rank, i), node->bytes);
		if (ibv_post_send(qp, &wr, &bad) != 0)
			return fail(node, "not posted");
		if (complete(node, &wc) != 0)
			return -1;
		node->prog->report(node->prog, 0, 0, &wc, NULL);
	}
	return qp ? 0 : -1;
}

static int receive_all(struct node *node)
{
	const int senders = node->prog->size - 1;
	struct ibv_wc wc;

	for (int i = 1; i <= senders; i++)
		if (!connect_to(node, i))
			return -1;
	for (size_t i = 0; i < (size_t)senders * node->messages; i++) {
		const unsigned char *bytes;
		int sender;

		if (complete(node, &wc) != 0)
			return -1;
		bytes = node->memory + wc.wr_id * node->bytes;
		sender = 1 + (int)(wc.wr_id / node->messages);
		if (wc.byte_len != node->bytes ||
		    bytes[0] != content(sender, wc.wr_id % node->messages) ||
		    memcmp(bytes, bytes + 1, node->bytes - 1) != 0)
			return fail(node, "another message came");
		node->prog->report(node->prog, sender, 0, &wc, bytes);
	}
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct node node = {.prog = prog,
			    .bytes = arg(prog, "bytes", 4096),
			    .messages = arg(prog, "messages", 8)};
	const bool is_first = prog->rank == 0;
	int ret;

	if (prog->size < 2 || node.bytes == 0 || node.messages == 0)
		return fail(&node, "expected two ranks, and messages with bytes");
	ret = open_all(&node, is_first ? (size_t)(prog->size - 1) * node.messages : 1);
	ret = ret ? ret : is_first ? receive_all(&node) : send_all(&node);
	if (ret == 0)
		prog->say(prog, is_first ? "all messages came" : "all messages sent");
	return ret; /* what is left goes with the process, or with the run */
}

VB_MAIN(prog_main)

/* SPDX-License-Identifier: BSD-2-Clause */

/* A table of keys and values in the memory of rank 0, which the other ranks write and read without
 * its help: value after value by RDMA WRITE, then all of them back by RDMA READ.
 *	values=16	of each rank
 *	bytes=4096	of each value
 *	wrong=0		1: a rank expects what it has not written */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verbena/program.h>

struct side { /* what one tells the other before they are connected */
	union ibv_gid gid;
	uint64_t address;
	uint32_t qpn, rkey;
};

struct kv {
	const struct vb_prog *prog;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	int gid_index;
	unsigned char *memory;
	size_t bytes, values;
};

static size_t arg(const struct vb_prog *prog, const char *name, size_t fallback)
{
	const size_t length = strlen(name);

	for (int i = 0; i < prog->arg_count; i++)
		if (strncmp(prog->args[i], name, length) == 0 && prog->args[i][length] == '=')
			return strtoul(prog->args[i] + length + 1, NULL, 10);
	return fallback;
}

static int fail(const struct kv *kv, const char *what)
{
	kv->prog->say(kv->prog, what);
	return -1;
}

/* The one made of an IPv4 address, where there are several. */
static void choose_gid(struct kv *kv)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid gid;

	ibv_query_gid(kv->context, 1, 0, &kv->gid);
	for (int i = 1; ibv_query_gid(kv->context, 1, i, &gid) == 0; i++)
		if (memcmp(gid.raw, mapped, sizeof(mapped)) == 0) {
			kv->gid = gid;
			kv->gid_index = i;
			return;
		}
}

/* @bytes: of its memory. */
static int open_all(struct kv *kv, size_t bytes)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	kv->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (list)
		ibv_free_device_list(list);
	if (!kv->context)
		return fail(kv, "no device");
	kv->memory = calloc(1, bytes);
	kv->pd = ibv_alloc_pd(kv->context);
	kv->cq = ibv_create_cq(kv->context, 64, NULL, NULL, 0);
	if (!kv->memory || !kv->pd || !kv->cq)
		return fail(kv, "no memory, domain or queue");
	kv->mr = ibv_reg_mr(kv->pd, kv->memory, bytes,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ);
	choose_gid(kv);
	return kv->mr ? 0 : fail(kv, "no region");
}

static int to_ready(struct kv *kv, struct ibv_qp *qp, const struct side *other)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags =
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = other->qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = other->gid,
				    .sgid_index = (uint8_t)kv->gid_index,
				    .hop_limit = 64}},
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* A queue pair between rank 0 and rank @client; NULL: with a line. */
static struct ibv_qp *connect_to(struct kv *kv, int client, struct side *ret_other)
{
	struct ibv_qp_init_attr init = {.send_cq = kv->cq,
					.recv_cq = kv->cq,
					.qp_type = IBV_QPT_RC,
					.cap = {16, 16, 1, 1, 0}};
	struct side self = {.gid = kv->gid, .address = (uintptr_t)kv->memory, .rkey = kv->mr->rkey};
	struct ibv_qp *qp = ibv_create_qp(kv->pd, &init);
	const int is_server = kv->prog->rank == 0;
	char mine[32], theirs[32];

	snprintf(mine, sizeof(mine), "%s %d", is_server ? "server" : "client", client);
	snprintf(theirs, sizeof(theirs), "%s %d", is_server ? "client" : "server", client);
	if (qp) {
		self.qpn = qp->qp_num;
		if (kv->prog->put(kv->prog, mine, &self, sizeof(self)) == 0 &&
		    kv->prog->get(kv->prog, theirs, ret_other, sizeof(*ret_other)) == 0 &&
		    to_ready(kv, qp, ret_other) == 0)
			return qp;
		ibv_destroy_qp(qp);
	}
	fail(kv, "not connected");
	return NULL;
}

static int transfer(struct kv *kv, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		    unsigned char *local, uint64_t address, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)local, (uint32_t)kv->bytes, kv->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {address, rkey}},
			   *bad;
	struct ibv_wc wc;

	if (ibv_post_send(qp, &wr, &bad) != 0)
		return fail(kv, "not posted");
	while (ibv_poll_cq(kv->cq, 1, &wc) == 0)
		;
	kv->prog->report(kv->prog, 0, 0, &wc, opcode == IBV_WR_RDMA_READ ? local : NULL);
	return wc.status == IBV_WC_SUCCESS ? 0 : fail(kv, ibv_wc_status_str(wc.status));
}

static int client(struct kv *kv)
{
	const int rank = kv->prog->rank, wrong = (int)arg(kv->prog, "wrong", 0);
	unsigned char *value = kv->memory, *again = kv->memory + kv->bytes;
	struct side server;
	struct ibv_qp *qp = connect_to(kv, rank, &server);
	int ret = qp ? 0 : -1;

	for (size_t i = 0; i < 2 * kv->values && ret == 0; i++) {
		const size_t nth = i % kv->values;
		const size_t slot = (size_t)(rank - 1) * kv->values + nth;
		const uint64_t address = server.address + slot * kv->bytes;

		memset(value, (int)(17 * rank + (int)nth), kv->bytes);
		if (i < kv->values) {
			ret = transfer(kv, qp, IBV_WR_RDMA_WRITE, value, address, server.rkey);
			continue;
		}
		ret = transfer(kv, qp, IBV_WR_RDMA_READ, again, address, server.rkey);
		value[0] ^= (unsigned char)wrong;
		if (ret == 0 && memcmp(value, again, kv->bytes) != 0)
			ret = fail(kv, "another value came back");
	}
	if (qp)
		ibv_destroy_qp(qp);
	return ret;
}

/* Its table is written and read while it does nothing. */
static int server(struct kv *kv)
{
	struct side other;
	char key[32];
	int ret = 0;

	for (int i = 1; i < kv->prog->size && ret == 0; i++)
		ret = connect_to(kv, i, &other) ? 0 : -1;
	for (int i = 1; i < kv->prog->size && ret == 0; i++) {
		snprintf(key, sizeof(key), "done %d", i);
		ret = kv->prog->get(kv->prog, key, NULL, 0);
	}
	return ret;
}

int prog_main(const struct vb_prog *prog)
{
	struct kv kv = {
		.prog = prog, .bytes = arg(prog, "bytes", 4096), .values = arg(prog, "values", 16)};
	const size_t slots = prog->rank == 0 ? (size_t)prog->size * kv.values : 2;
	char key[32];
	int ret = open_all(&kv, slots * kv.bytes);

	if (ret == 0)
		ret = prog->rank == 0 ? server(&kv) : client(&kv);
	snprintf(key, sizeof(key), "done %d", prog->rank);
	if (ret == 0 && prog->rank != 0)
		ret = prog->put(prog, key, NULL, 0);
	if (ret == 0)
		prog->say(prog, prog->rank == 0 ? "served" : "all values came back");
	return ret; /* what is left goes with the process, or with the run */
}

VB_MAIN(prog_main)

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t prog_arg(const struct vb_prog *prog, const char *name, uint64_t fallback)
{
	size_t length = strlen(name);

	for (int i = 0; i < prog->arg_count; i++)
		if (strncmp(prog->args[i], name, length) == 0 && prog->args[i][length] == '=')
			return strtoull(prog->args[i] + length + 1, NULL, 0);
	return fallback;
}

static bool is_among(const char *names, const char *name, size_t length)
{
	for (size_t word; *names; names += word + (names[word] == ' ')) {
		word = strcspn(names, " ");
		if (word == length && strncmp(names, name, length) == 0)
			return true;
	}
	return false;
}

bool prog_takes(const struct vb_prog *prog, const char *names)
{
	for (int i = 0; i < prog->arg_count; i++) {
		const char *arg = prog->args[i];
		const size_t length = strcspn(arg, "=");
		char *end = NULL;

		if (arg[length] && arg[length + 1] >= '0' && arg[length + 1] <= '9')
			strtoull(arg + length + 1, &end, 0);
		if (end && !*end &&
		    (is_among(names, arg, length) || is_among("ip sl traffic_class", arg, length)))
			continue;
		if (prog->rank == 0)
			prog_say(prog, "found \"%s\", expected NAME=NUMBER, of these: %s", arg,
				 *names ? names : "none");
		return false;
	}
	return true;
}

void prog_say(const struct vb_prog *prog, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	prog->say(prog, line);
}

static int failed(const struct vb_prog *prog, const char *what, int error)
{
	prog_say(prog, "rank %d: %s: %s", prog->rank, what, strerror(error));
	return -1;
}

static bool is_zero(const union ibv_gid *gid)
{
	return gid->global.subnet_prefix == 0 && gid->global.interface_id == 0;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* How much the program would like to use this GID; 0: not at all. */
static int liking(const struct ibv_gid_entry *entry, bool want_ipv6)
{
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2 || is_zero(&entry->gid))
		return 0;
	return 1 + 2 * (is_ipv4(&entry->gid) != want_ipv6) + !is_link_local(&entry->gid);
}

static int pick_gid(struct prog_ctx *ctx, bool want_ipv6)
{
	struct ibv_gid_entry entry;
	int best = 0, like;

	for (int i = 0; i < ctx->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(ctx->context, 1, (uint32_t)i, &entry, 0) != 0)
			continue;
		like = liking(&entry, want_ipv6);
		if (like <= best)
			continue;
		best = like;
		ctx->gid = entry.gid;
		ctx->gid_index = i;
	}
	return best != 0 ? 0 : -1;
}

int prog_count_devices(const struct vb_prog *prog)
{
	struct ibv_device **list;
	int count = 0;

	list = ibv_get_device_list(&count);
	if (!list)
		return failed(prog, "ibv_get_device_list", errno);
	ibv_free_device_list(list);
	return count;
}

static int open_context(struct prog_ctx *ctx, int device)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (!list || device >= count) {
		if (list)
			ibv_free_device_list(list);
		return failed(ctx->prog, "no device", ENODEV);
	}
	ctx->context = ibv_open_device(list[device]);
	ibv_free_device_list(list);
	return ctx->context ? 0 : failed(ctx->prog, "ibv_open_device", errno);
}

/* On the context that is open. */
static int open_rest(struct prog_ctx *ctx, int cqe, void *bytes, size_t length)
{
	const struct vb_prog *prog = ctx->prog;
	int ret;

	ret = ibv_query_port(ctx->context, 1, &ctx->port);
	if (ret != 0)
		return failed(prog, "ibv_query_port", ret);
	if (pick_gid(ctx, prog_arg(prog, "ip", 4) == 6) != 0)
		return failed(prog, "no RoCE v2 GID", ENOENT);
	ctx->pd = ibv_alloc_pd(ctx->context);
	if (!ctx->pd)
		return failed(prog, "ibv_alloc_pd", errno);
	ctx->cq = ibv_create_cq(ctx->context, cqe, NULL, NULL, 0);
	if (!ctx->cq)
		return failed(prog, "ibv_create_cq", errno);
	ctx->mr = ibv_reg_mr(ctx->pd, bytes, length,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return ctx->mr ? 0 : failed(prog, "ibv_reg_mr", errno);
}

int prog_open(struct prog_ctx *ctx, const struct vb_prog *prog, int cqe, void *bytes, size_t length)
{
	*ctx = (struct prog_ctx){.prog = prog};
	return open_context(ctx, 0) != 0 ? -1 : open_rest(ctx, cqe, bytes, length);
}

int prog_open_device(struct prog_ctx *ctx, const struct vb_prog *prog, int device, void *bytes,
		     size_t length)
{
	*ctx = (struct prog_ctx){.prog = prog};
	return open_context(ctx, device) != 0 ? -1 : open_rest(ctx, 16, bytes, length);
}

int prog_barrier(const struct vb_prog *prog, const char *name)
{
	char key[64];
	int ret;

	snprintf(key, sizeof(key), "%s/%d", name, prog->rank);
	ret = prog->put(prog, key, NULL, 0);
	for (int r = 0; r < prog->size && ret == 0; r++) {
		snprintf(key, sizeof(key), "%s/%d", name, r);
		ret = prog->get(prog, key, NULL, 0);
	}
	return ret != 0 ? failed(prog, key, -ret) : 0;
}

int prog_idle(const struct vb_prog *prog)
{
	return prog_barrier(prog, "end");
}

int prog_close(struct prog_ctx *ctx, struct prog_qp *qps, int qp_count)
{
	int ret = prog_barrier(ctx->prog, "end");

	return ret != 0 ? ret : prog_destroy(ctx, qps, qp_count);
}

int prog_destroy(struct prog_ctx *ctx, struct prog_qp *qps, int qp_count)
{
	const struct vb_prog *prog = ctx->prog;
	int ret;

	for (int i = 0; i < qp_count; i++) {
		ret = ibv_destroy_qp(qps[i].qp);
		if (ret != 0)
			return failed(prog, "ibv_destroy_qp", ret);
	}
	ret = ibv_dereg_mr(ctx->mr);
	if (ret != 0)
		return failed(prog, "ibv_dereg_mr", ret);
	ret = ibv_destroy_cq(ctx->cq);
	if (ret != 0)
		return failed(prog, "ibv_destroy_cq", ret);
	ret = ibv_dealloc_pd(ctx->pd);
	if (ret != 0)
		return failed(prog, "ibv_dealloc_pd", ret);
	ret = ibv_close_device(ctx->context);
	return ret != 0 ? failed(prog, "ibv_close_device", ret) : 0;
}

static int to_init(struct prog_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						      IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_ATOMIC};
	int ret =
		ibv_modify_qp(qp->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return ret != 0 ? failed(qp->ctx->prog, "to INIT", ret) : 0;
}

static void key_of(char *key, size_t size, int from, int to, int nth)
{
	snprintf(key, size, "qp/%d/%d/%d", from, to, nth);
}

static struct ibv_qp *create_target(struct prog_ctx *ctx, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	return ibv_create_qp_ex(ctx->context, &init);
}

int prog_qp_open(struct prog_qp *qp, struct prog_ctx *ctx, struct prog_qp_params params)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = ctx->cq,
					   .recv_cq = ctx->cq,
					   .srq = params.srq,
					   .cap = {.max_send_wr = params.send_depth,
						   .max_recv_wr = params.recv_depth,
						   .max_send_sge = 1,
						   .max_recv_sge = 1},
					   .qp_type = params.type ? params.type : IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = ctx->pd,
					   .send_ops_flags = params.send_ops};
	const struct vb_prog *prog = ctx->prog;
	char key[64];
	int ret;

	*qp = (struct prog_qp){.ctx = ctx, .peer = params.peer, .nth = params.nth};
	if (params.send_ops != 0)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	/* With a domain alone: ibv_create_qp(). */
	qp->qp = params.type == IBV_QPT_XRC_RECV ? create_target(ctx, params.xrcd)
						 : ibv_create_qp_ex(ctx->context, &init);
	if (!qp->qp)
		return failed(prog, "ibv_create_qp", errno);
	if (to_init(qp) != 0)
		return -1;
	/* Close below the wrap, so that even short programs go through it. */
	qp->self =
		(struct prog_peer){.gid = ctx->gid,
				   .addr = (uintptr_t)ctx->mr->addr,
				   .qpn = qp->qp->qp_num,
				   .psn = 0xfffff8u - (uint32_t)(prog->rank * 5 + params.nth) % 8,
				   .rkey = ctx->mr->rkey,
				   .mtu = ctx->port.active_mtu};
	key_of(key, sizeof(key), prog->rank, params.peer, params.nth);
	ret = prog->put(prog, key, &qp->self, sizeof(qp->self));
	return ret != 0 ? failed(prog, key, -ret) : 0;
}

static int to_rtr(struct prog_qp *qp)
{
	const struct vb_prog *prog = qp->ctx->prog;
	const struct prog_peer *remote = &qp->remote;
	uint32_t mtu = remote->mtu < qp->self.mtu ? remote->mtu : qp->self.mtu;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)mtu,
		.dest_qp_num = remote->qpn,
		.rq_psn = remote->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, /* 0.64 ms */
		.ah_attr = {.grh = {.dgid = remote->gid,
				    .sgid_index = (uint8_t)qp->ctx->gid_index,
				    .traffic_class = (uint8_t)prog_arg(prog, "traffic_class", 0),
				    .hop_limit = 64},
			    .sl = (uint8_t)prog_arg(prog, "sl", 0),
			    .is_global = 1,
			    .port_num = 1},
	};
	const enum ibv_qp_type type = qp->qp->qp_type;
	const int answers = type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV
				    ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
				    : 0;
	int ret = ibv_modify_qp(qp->qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | answers);

	return ret != 0 ? failed(prog, "to RTR", ret) : 0;
}

static int to_rts(struct prog_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .timeout = 14, /* 67 ms */
				   .retry_cnt = 7,
				   .rnr_retry = 7, /* for ever */
				   .sq_psn = qp->self.psn,
				   .max_rd_atomic = 1};
	const enum ibv_qp_type type = qp->qp->qp_type;
	const int asks = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const int more = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND ? IBV_QP_TIMEOUT | asks
			 : type == IBV_QPT_XRC_RECV			? IBV_QP_TIMEOUT
									: 0;
	int ret = ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | more);

	return ret != 0 ? failed(qp->ctx->prog, "to RTS", ret) : 0;
}

static int connect_one(struct prog_qp *qp)
{
	const struct vb_prog *prog = qp->ctx->prog;
	char key[64];
	int ret;

	key_of(key, sizeof(key), qp->peer, prog->rank, qp->nth);
	ret = prog->get(prog, key, &qp->remote, sizeof(qp->remote));
	if (ret != 0)
		return failed(prog, key, -ret);
	if (to_rtr(qp) != 0 || to_rts(qp) != 0)
		return -1;
	snprintf(key, sizeof(key), "rts/%d/%d/%d", prog->rank, qp->peer, qp->nth);
	ret = prog->put(prog, key, NULL, 0);
	return ret != 0 ? failed(prog, key, -ret) : 0;
}

int prog_connect(struct prog_qp *qps, int qp_count)
{
	char key[64];
	int ret;

	for (int i = 0; i < qp_count; i++)
		if (connect_one(&qps[i]) != 0)
			return -1;
	/* Nobody sends before the other end listens. */
	for (int i = 0; i < qp_count; i++) {
		const struct vb_prog *prog = qps[i].ctx->prog;

		snprintf(key, sizeof(key), "rts/%d/%d/%d", qps[i].peer, prog->rank, qps[i].nth);
		ret = prog->get(prog, key, NULL, 0);
		if (ret != 0)
			return failed(prog, key, -ret);
	}
	return 0;
}

int prog_ud_open(struct prog_ctx *ctx, uint32_t qkey, uint32_t receives, struct ibv_qp **ret_qp)
{
	struct ibv_qp_init_attr init = {.send_cq = ctx->cq,
					.recv_cq = ctx->cq,
					.cap = {.max_send_wr = 64,
						.max_recv_wr = receives,
						.max_send_sge = 1,
						.max_recv_sge = 1},
					.qp_type = IBV_QPT_UD};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey};
	struct ibv_qp *qp = ibv_create_qp(ctx->pd, &init);
	int error;

	if (!qp)
		return failed(ctx->prog, "ibv_create_qp", errno);
	*ret_qp = qp;
	error = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	error = error ? error : ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0xfffffe;
	error = error ? error : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return error ? failed(ctx->prog, "ibv_modify_qp of a UD queue pair", error) : 0;
}

struct ibv_ah *prog_ah(struct prog_ctx *ctx, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = *gid, .sgid_index = (uint8_t)ctx->gid_index, .hop_limit = 64}};
	struct ibv_ah *ah = ibv_create_ah(ctx->pd, &attr);

	if (!ah)
		failed(ctx->prog, "ibv_create_ah", errno);
	return ah;
}

int prog_post_recv(struct prog_qp *qp, uint64_t wr_id, void *bytes, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes, .length = length, .lkey = qp->ctx->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length != 0}, *bad;
	int ret = ibv_post_recv(qp->qp, &wr, &bad);

	return ret != 0 ? failed(qp->ctx->prog, "ibv_post_recv", ret) : 0;
}

int prog_post_send(struct prog_qp *qp, struct prog_send send)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)send.bytes, .length = send.length, .lkey = qp->ctx->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = send.wr_id,
				 .sg_list = &sge,
				 .num_sge = send.length != 0,
				 .opcode = send.opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(send.imm)},
			   *bad;
	int ret;

	if (send.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    send.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = qp->remote.addr + send.remote_offset;
		wr.wr.atomic.rkey = qp->remote.rkey;
		wr.wr.atomic.compare_add = send.compare_add;
		wr.wr.atomic.swap = send.swap;
	} else {
		wr.wr.rdma.remote_addr = qp->remote.addr + send.remote_offset;
		wr.wr.rdma.rkey = qp->remote.rkey;
	}
	if (qp->qp->qp_type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = send.srqn;
	ret = ibv_post_send(qp->qp, &wr, &bad);
	return ret != 0 ? failed(qp->ctx->prog, "ibv_post_send", ret) : 0;
}

int prog_poll(struct prog_ctx *ctx, struct ibv_wc *ret_wc)
{
	int count;

	do
		count = ibv_poll_cq(ctx->cq, 1, ret_wc);
	while (count == 0);
	if (count < 0)
		return failed(ctx->prog, "ibv_poll_cq", EIO);
	if (ret_wc->status == IBV_WC_SUCCESS)
		return 0;
	prog_say(ctx->prog, "rank %d: wr_id %llu of QP %#x: %s (%d)", ctx->prog->rank,
		 (unsigned long long)ret_wc->wr_id, ret_wc->qp_num,
		 ibv_wc_status_str(ret_wc->status), ret_wc->status);
	return -1;
}

int prog_turn(struct prog_qp *qps, int qp_count, const void *recv_bytes,
	      struct prog_pending *pending)
{
	const struct vb_prog *prog = qps->ctx->prog;
	struct ibv_wc *wc = &pending->last;
	int ret = prog_poll(qps->ctx, wc), i = 0;
	bool is_recv = ret == 0 && wc->opcode & IBV_WC_RECV;

	while (i < qp_count && qps[i].qp->qp_num != wc->qp_num)
		i++;
	if (i == qp_count) {
		prog_say(prog, "rank %d: a completion for a strange QP", prog->rank);
		return -1;
	}
	prog->report(prog, qps[i].peer, qps[i].nth, wc, is_recv ? recv_bytes : NULL);
	if (is_recv)
		pending->recvs--;
	else
		pending->sends--;
	return ret;
}

int prog_drain(struct prog_qp *qp, const void *recv_bytes, struct prog_pending *pending)
{
	while (pending->sends > 0 || pending->recvs > 0)
		if (prog_turn(qp, 1, recv_bytes, pending) != 0)
			return -1;
	return 0;
}

uint8_t prog_byte(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebu;
	return (uint8_t)(x >> 56);
}

void prog_fill(void *bytes, size_t length, uint64_t seed)
{
	uint8_t *b = bytes;

	for (size_t i = 0; i < length; i++)
		b[i] = prog_byte(seed, i);
}

int prog_check(const struct vb_prog *prog, const char *what, const void *bytes, size_t length,
	       uint64_t seed)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < length; i++) {
		if (b[i] == prog_byte(seed, i))
			continue;
		prog_say(prog, "rank %d: %s: byte %zu is %#x, not %#x", prog->rank, what, i, b[i],
			 prog_byte(seed, i));
		return -1;
	}
	return 0;
}

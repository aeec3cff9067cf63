/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 writes from the memory of its GPU to that of rank 1's with one RDMA WRITE, as with any
 * adapter and GPU, and says how fast it was. Arguments: bytes=16777216; from=0, to=0: the
 * GPUs; gid=0: the index of a GID. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verbena/cuda.h>
#include <verbena/program.h>

static const struct vb_prog *prog;
static struct ibv_context *context;
static struct ibv_cq *cq;

struct side { /* what one tells the other before they are connected */
	union ibv_gid gid;
	uint64_t address;
	uint32_t qpn, rkey;
};

static int failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* -1, and a line that says why. */
static int failed(const char *format, ...)
{
	char line[160];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	prog->say(prog, line);
	return -1;
}

static int check_args(void)
{
	static const char *const names[] = {"bytes=", "from=", "to=", "gid="};

	for (int i = 0; i < prog->arg_count; i++) {
		const char *given = prog->args[i];
		bool is_good = false;

		for (int n = 0; n < 4; n++) {
			const size_t length = strlen(names[n]);

			is_good |= strncmp(given, names[n], length) == 0 && given[length] &&
				   strspn(given + length, "0123456789") == strlen(given + length);
		}
		if (!is_good)
			return failed("found \"%s\", expected bytes=N, from=N, to=N or gid=N",
				      given);
	}
	return 0;
}

static size_t arg(const char *name, size_t fallback)
{
	const size_t length = strlen(name);

	for (int i = 0; i < prog->arg_count; i++)
		if (strncmp(prog->args[i], name, length) == 0)
			return strtoul(prog->args[i] + length, NULL, 10);
	return fallback;
}

/* Memory of the GPU. */
static int take_memory(size_t bytes, CUdeviceptr *ret_memory)
{
	const char *which = prog->rank ? "to=" : "from=";
	const size_t number = arg(which, 0);
	const unsigned int always = 1;
	CUcontext gpu;
	CUdevice device;
	int count;

	if (cuInit(0) || cuDeviceGetCount(&count) || count == 0)
		return failed("no GPU in this machine");
	if (number >= (size_t)count)
		return failed("%s%zu: found no such GPU, expected 0 to %d", which, number,
			      count - 1);
	if (cuDeviceGet(&device, (int)number) || cuDevicePrimaryCtxRetain(&gpu, device) ||
	    cuCtxSetCurrent(gpu))
		return failed("no context of GPU %zu", number);
	if (cuMemAlloc(ret_memory, bytes))
		return failed("bytes=%zu: found none, or more than GPU %zu has free", bytes,
			      number);
	/* Without this a copy to the GPU may still be under way when its call has returned. */
	if (cuPointerSetAttribute(&always, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, *ret_memory) ||
	    cuMemsetD8(*ret_memory, (unsigned char)(7 - 7 * prog->rank), bytes))
		return failed("memory of GPU %zu cannot be set", number);
	return 0;
}

static int to_ready(struct ibv_qp *qp, const struct side *other)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_4096,
				    .dest_qp_num = other->qpn,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .ah_attr = {.is_global = 1,
						.port_num = 1,
						.grh = {.dgid = other->gid,
							.sgid_index = (uint8_t)arg("gid=", 0),
							.hop_limit = 64}}};
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

static struct ibv_qp *connect_with(const struct ibv_mr *mr, struct side *ret_other)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(mr->pd, &init);
	struct side self = {.address = (uintptr_t)mr->addr, .rkey = mr->rkey};

	if (!qp || ibv_query_gid(context, 1, (int)arg("gid=", 0), &self.gid)) {
		failed("gid=%zu: no queue pair, or no such GID", arg("gid=", 0));
		return NULL;
	}
	self.qpn = qp->qp_num;
	if (prog->put(prog, prog->rank ? "one" : "zero", &self, sizeof(self)) ||
	    prog->get(prog, prog->rank ? "zero" : "one", ret_other, sizeof(*ret_other)) ||
	    to_ready(qp, ret_other))
		return NULL;
	return qp;
}

static int write_all(struct ibv_qp *qp, const struct ibv_mr *mr, const struct side *other)
{
	struct ibv_sge sge = {(uintptr_t)mr->addr, (uint32_t)mr->length, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {other->address, other->rkey}};
	const uint64_t before = vb_now_ps();
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	char line[80];

	if (ibv_post_send(qp, &wr, &bad))
		return -1;
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	if (wc.status)
		return failed("write: %s", ibv_wc_status_str(wc.status));
	snprintf(line, sizeof(line), "%u bytes from GPU to GPU: %.1f Gb/s", sge.length,
		 8000.0 * sge.length / (double)(vb_now_ps() - before));
	prog->say(prog, line);
	return prog->put(prog, "written", NULL, 0);
}

/* The last byte is what rank 0's GPU was set to. */
static int check(CUdeviceptr memory, size_t bytes)
{
	unsigned char last = 0;

	if (prog->get(prog, "written", NULL, 0) || cuMemcpyDtoH(&last, memory + bytes - 1, 1))
		return -1;
	return last == 7 ? 0 : failed("the last byte is %u, not 7", last);
}

int prog_main(const struct vb_prog *own)
{
	size_t bytes;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct side other;
	CUdeviceptr memory;
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	prog = own;
	if (check_args() != 0)
		return -1;
	bytes = arg("bytes=", 16 << 20);
	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	cq = context ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	if (!cq)
		return failed("no adapter");
	if (take_memory(bytes, &memory) != 0) {
		ibv_destroy_cq(cq);
		ibv_close_device(context);
		return -1;
	}
	mr = ibv_reg_mr(ibv_alloc_pd(context), (void *)(uintptr_t)memory, bytes,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		return failed("ibv_reg_mr: %s", strerror(errno));
	qp = connect_with(mr, &other);
	if (!qp)
		return -1;
	return prog->rank == 0 ? write_all(qp, mr, &other) : check(memory, bytes);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 writes from the memory of its GPU to that of rank 1's with one RDMA WRITE, as with any
 * adapter and GPU, and says how fast it was. Arguments: bytes=16777216; from=0, to=0: the
 * GPUs; gid=0: the index of a GID. */
#include <infiniband/verbs.h>
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

static size_t arg(const char *name, size_t fallback)
{
	const size_t length = strlen(name);

	for (int i = 0; i < prog->arg_count; i++)
		if (strncmp(prog->args[i], name, length) == 0)
			return strtoul(prog->args[i] + length, NULL, 10);
	return fallback;
}

/* Memory of the GPU; 0: there is none. */
static CUdeviceptr take_memory(size_t bytes)
{
	const unsigned int always = 1;
	CUdeviceptr memory;
	CUcontext gpu;
	CUdevice device;

	if (cuInit(0) || cuDeviceGet(&device, (int)arg(prog->rank ? "to=" : "from=", 0)) ||
	    cuDevicePrimaryCtxRetain(&gpu, device) || cuCtxSetCurrent(gpu) ||
	    cuMemAlloc(&memory, bytes))
		return 0;
	/* Without this a copy to the GPU may still be under way when its call has returned. */
	if (cuPointerSetAttribute(&always, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory) ||
	    cuMemsetD8(memory, (unsigned char)(7 - 7 * prog->rank), bytes))
		return 0;
	return memory;
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

	if (!qp || ibv_query_gid(context, 1, (int)arg("gid=", 0), &self.gid))
		return NULL;
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
		return -1;
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
	return last == 7 ? 0 : -1;
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
	bytes = arg("bytes=", 16 << 20);
	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	cq = context ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	memory = cq ? take_memory(bytes) : 0;
	if (memory == 0)
		return -1;
	mr = ibv_reg_mr(ibv_alloc_pd(context), (void *)(uintptr_t)memory, bytes,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	qp = mr ? connect_with(mr, &other) : NULL;
	if (!qp)
		return -1;
	return prog->rank == 0 ? write_all(qp, mr, &other) : check(memory, bytes);
}

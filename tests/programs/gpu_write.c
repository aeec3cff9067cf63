/* SPDX-License-Identifier: BSD-2-Clause */

/* GPUDirect: rank 0 writes bytes=10000 bytes from the memory of its GPU gpu=0 to that of rank 1's
 * with one RDMA WRITE and says so on the rendezvous; rank 1 copies them to its own memory and
 * checks every byte. device=0: the adapter of both. Other ranks do nothing. sync=0: without what
 * GPUDirect demands, that synchronous copies of that memory wait until they are over (SYNC_MEMOPS).
 * freed=1: rank 1 gives its memory back before. awaits=1: nobody says so, but a stream of rank 1
 * waits until the last word is there. */
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>

struct own {
	const struct vb_prog *prog;
	CUdeviceptr memory; /* of the GPU */
	uint8_t *bytes;	    /* of the host */
	uint32_t length;
};

static bool await(struct own *own)
{
	const struct vb_prog *prog = own->prog;
	uint32_t last;

	prog_fill(own->bytes, own->length, 1);
	memcpy(&last, own->bytes + own->length - sizeof(last), sizeof(last));
	memset(own->bytes, 0, own->length);
	return GPU_DO(prog, cuStreamWaitValue32(NULL, own->memory + own->length - sizeof(last),
						last, CU_STREAM_WAIT_VALUE_EQ)) &&
	       GPU_DO(prog, cuStreamSynchronize(NULL));
}

static int talk(struct own *own, struct prog_qp *qp)
{
	const struct vb_prog *prog = own->prog;
	struct prog_pending pending = {.sends = 1};

	if (prog->rank == 1) {
		if ((prog_arg(prog, "awaits", 0) ? !await(own)
						 : prog->get(prog, "written", NULL, 0) != 0) ||
		    !GPU_DO(prog, cuMemcpyDtoH(own->bytes, own->memory, own->length)))
			return -1;
		return prog_check(prog, "written", own->bytes, own->length, 1);
	}
	prog_fill(own->bytes, own->length, 1);
	if (!GPU_DO(prog, cuMemcpyHtoD(own->memory, own->bytes, own->length)) ||
	    prog_post_send(qp, (struct prog_send){.wr_id = 1,
						  .opcode = IBV_WR_RDMA_WRITE,
						  .bytes = (void *)(uintptr_t)own->memory,
						  .length = own->length}) != 0 ||
	    prog_drain(qp, NULL, &pending) != 0)
		return -1;
	return prog->put(prog, "written", NULL, 0);
}

static bool open_memory(struct own *own)
{
	const struct vb_prog *prog = own->prog;
	const unsigned int sync = (unsigned int)prog_arg(prog, "sync", 1);

	return gpu_open(prog, (int)prog_arg(prog, "gpu", 0)) &&
	       gpu_did(prog, cuMemAlloc(&own->memory, own->length), "cuMemAlloc") &&
	       GPU_DO(prog,
		      cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, own->memory));
}

static int run(struct own *own)
{
	const struct vb_prog *prog = own->prog;
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (!open_memory(own) ||
	    prog_open_device(&ctx, prog, (int)prog_arg(prog, "device", 0),
			     (void *)(uintptr_t)own->memory,
			     (uint32_t)prog_arg(prog, "register", own->length)) != 0 ||
	    (prog->rank == 1 && prog_arg(prog, "freed", 0) &&
	     !GPU_DO(prog, cuMemFree(own->memory))) ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){
				 .peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1}) != 0 ||
	    prog_connect(&qp, 1) != 0 || talk(own, &qp) != 0 || prog_close(&ctx, &qp, 1) != 0)
		return -1;
	return GPU_DO(prog, cuMemFree(own->memory)) ? 0 : -1;
}

int prog_main(const struct vb_prog *prog)
{
	struct own own = {.prog = prog, .length = (uint32_t)prog_arg(prog, "bytes", 10000)};
	int ret;

	if (!prog_takes(prog, "sync gpu device register freed awaits bytes"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	own.bytes = calloc(1, own.length);
	ret = own.bytes ? run(&own) : -1;
	free(own.bytes);
	return ret;
}

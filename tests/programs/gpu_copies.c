/* SPDX-License-Identifier: BSD-2-Clause */

/* How long synchronous copies of several sizes take, to a GPU and back: a line for each with the
 * bytes and both times in picoseconds; bytes=N: one copy of so many. Each rank by itself. */
#include "include/verbena/cuda.h"
#include "include/verbena/verbena.h"
#include "tests/programs/util.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST = 4 << 20 };

static int copy(const struct vb_prog *prog, CUdeviceptr memory, uint8_t *bytes, size_t size)
{
	const uint64_t before = vb_now_ps();
	uint64_t between;

	if (cuMemcpyHtoD(memory, bytes, size) != CUDA_SUCCESS)
		return -1;
	between = vb_now_ps();
	if (cuMemcpyDtoH(bytes, memory, size) != CUDA_SUCCESS)
		return -1;
	prog_say(prog, "copy %zu %" PRIu64 " %" PRIu64, size, between - before,
		 vb_now_ps() - between);
	return 0;
}

static int copy_all(const struct vb_prog *prog, CUdeviceptr memory, uint8_t *bytes)
{
	static const size_t sizes[] = {4,	  256,	    1 << 10,  4 << 10,	 8 << 10,
				       16 << 10,  32 << 10, 64 << 10, 128 << 10, 256 << 10,
				       512 << 10, 2 << 20,  MOST};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (copy(prog, memory, bytes, sizes[i]) != 0)
			return -1;
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	const size_t one = (size_t)prog_arg(prog, "bytes", 0);
	const size_t most = one > 0 ? one : MOST;
	uint8_t *bytes = calloc(1, most);
	CUdeviceptr memory;
	CUcontext context;
	int ret = -1;

	if (bytes && cuInit(0) == CUDA_SUCCESS &&
	    cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
	    cuCtxSetCurrent(context) == CUDA_SUCCESS && cuMemAlloc(&memory, most) == CUDA_SUCCESS)
		ret = one > 0 ? copy(prog, memory, bytes, one) : copy_all(prog, memory, bytes);
	free(bytes);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* How long synchronous copies of several sizes take, to a GPU and back: a line for each with the
 * bytes and both times in picoseconds. Each rank by itself. */
#include "include/verbena/cuda.h"
#include "include/verbena/verbena.h"
#include "tests/programs/util.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST = 4 << 20 };

static int copy_all(const struct vb_prog *prog, CUdeviceptr memory, uint8_t *bytes)
{
	static const size_t sizes[] = {4,	  256,	    1 << 10,  4 << 10,	 8 << 10,
				       16 << 10,  32 << 10, 64 << 10, 128 << 10, 256 << 10,
				       512 << 10, 2 << 20,  MOST};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint64_t before = vb_now_ps();
		uint64_t between;

		if (cuMemcpyHtoD(memory, bytes, sizes[i]) != CUDA_SUCCESS)
			return -1;
		between = vb_now_ps();
		if (cuMemcpyDtoH(bytes, memory, sizes[i]) != CUDA_SUCCESS)
			return -1;
		prog_say(prog, "copy %zu %" PRIu64 " %" PRIu64, sizes[i], between - before,
			 vb_now_ps() - between);
	}
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	uint8_t *bytes = calloc(1, MOST);
	CUdeviceptr memory;
	CUcontext context;
	int ret = -1;

	if (bytes && cuInit(0) == CUDA_SUCCESS &&
	    cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
	    cuCtxSetCurrent(context) == CUDA_SUCCESS && cuMemAlloc(&memory, MOST) == CUDA_SUCCESS)
		ret = copy_all(prog, memory, bytes);
	free(bytes);
	return ret;
}

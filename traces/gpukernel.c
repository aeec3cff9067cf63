/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel of one's own, as a program of the CUDA driver API launches it: PTX says what it is
 *called and which parameters it has, and where there is no GPU a function of the host what it does.
 *
 *	build/verbena run traces/gpudirect.yaml --set programs.write.run=gpukernel.c
 */
#include <stdio.h>
#include <string.h>
#include <verbena/cuda.h>
#include <verbena/cuda_kernel.h>
#include <verbena/verbena.h>

#define CHECKED(call)                                                                              \
	do {                                                                                       \
		if ((call) != CUDA_SUCCESS) {                                                      \
			fprintf(stderr, "%s failed\n", #call);                                     \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

enum { COUNT = 1 << 20 };

/* With the Toolkit this is what "nvcc --ptx" has made of square.cu. */
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry square(.param .u64 numbers, .param .u32 count) { ret; }\n";

/* All of the grid at once. */
static void square(struct vb_launch *launch)
{
	uint64_t numbers;
	uint32_t count, number;

	memcpy(&numbers, launch->args[0], sizeof(numbers));
	memcpy(&count, launch->args[1], sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		vb_kernel_read(launch, &number, numbers + 4ull * i, 4);
		number *= number;
		vb_kernel_write(launch, numbers + 4ull * i, &number, 4);
	}
}

int main(void)
{
	uint32_t *numbers, count = COUNT;
	CUfunction function;
	CUcontext context;
	CUdeviceptr memory;
	CUmodule module;
	uint64_t began;

	CHECKED(cuInit(0));
	CHECKED(cuDevicePrimaryCtxRetain(&context, 0));
	CHECKED(cuCtxSetCurrent(context));
	vb_kernel("square", square);
	CHECKED(cuModuleLoadData(&module, ptx));
	CHECKED(cuModuleGetFunction(&function, module, "square"));
	CHECKED(cuMemAllocHost((void **)&numbers, 4 * COUNT));
	CHECKED(cuMemAlloc(&memory, 4 * COUNT));
	for (uint32_t i = 0; i < COUNT; i++)
		numbers[i] = i;
	CHECKED(cuMemcpyHtoD(memory, numbers, 4 * COUNT));
	/* Of the GPU's own memory, and of the host's, which it reaches over PCI Express. */
	for (int is_far = 0; is_far < 2; is_far++) {
		CUdeviceptr at = is_far ? (CUdeviceptr)(uintptr_t)numbers : memory;
		void *arguments[] = {&at, &count};

		began = vb_now_ps();
		CHECKED(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, arguments,
				       NULL));
		CHECKED(cuCtxSynchronize());
		printf("square of %s memory: %.1f us\n", is_far ? "the host's" : "the GPU's",
		       (double)(vb_now_ps() - began) / 1e6);
	}
	return numbers[3] == 9 ? 0 : 1;
}

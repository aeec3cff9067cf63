/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

#include <string.h>

/* Host memory that the driver gave out or that was registered with it: it is pinned, and mapped at
 * its own address. */

#define MIB (UINT64_C(1) << 20)

/* What lies there, the driver's own first: CUDA_SUCCESS: nothing. */
static CUresult check_place(const struct gpu_program *program, uint64_t address, uint64_t bytes)
{
	CUresult ret = CUDA_SUCCESS;

	for (size_t i = 0; i < program->pinned_count; i++) {
		const struct gpu_pinned *own = &program->pinned[i];

		if (address >= own->address + own->bytes || own->address >= address + bytes)
			continue;
		if (!own->is_registered)
			return CUDA_ERROR_INVALID_VALUE;
		ret = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	return ret;
}

static CUresult keep(struct gpu_program *program, const struct gpu_pinned *pinned)
{
	size_t at = program->pinned_count;

	if (at == program->pinned_room) {
		const size_t room = at ? 2 * at : 8;
		struct gpu_pinned *more = util_alloc(room * sizeof(*more));

		if (!more)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (at > 0)
			memcpy(more, program->pinned, at * sizeof(*more));
		util_free(program->pinned);
		program->pinned = more;
		program->pinned_room = room;
	}
	for (; at > 0 && program->pinned[at - 1].address > pinned->address; at--)
		program->pinned[at] = program->pinned[at - 1];
	program->pinned[at] = *pinned;
	program->pinned[at].number = ++program->pinned_made;
	program->pinned_count++;
	return CUDA_SUCCESS;
}

static void forget(struct gpu_program *program, const struct gpu_pinned *pinned)
{
	const size_t i = (size_t)(pinned - program->pinned);

	program->pinned_count--;
	memmove(&program->pinned[i], &program->pinned[i + 1],
		(program->pinned_count - i) * sizeof(*pinned));
}

/* What a program has not given back goes with it, as with a process. */
void cuda_pinned_fini(struct gpu_program *program)
{
	for (size_t i = 0; i < program->pinned_count; i++)
		if (!program->pinned[i].is_registered)
			gpu_backend()->give_back((void *)(uintptr_t)program->pinned[i].address);
	util_free(program->pinned);
}

void cuda_forget_host(const struct CUctx_st *context)
{
	struct gpu_program *program = context->program;

	for (size_t i = program->pinned_count; i-- > 0;) {
		const struct gpu_pinned pinned = program->pinned[i];

		if (pinned.context != context)
			continue;
		forget(program, &program->pinned[i]);
		if (!pinned.is_registered)
			gpu_backend()->give_back((void *)(uintptr_t)pinned.address);
	}
}

static const struct gpu_profile *profile_of(const struct CUctx_st *context)
{
	return context->streams.gpu->profile;
}

/* Pinning, or the end of it: one call, and each MiB. */
static void pass_pin(struct gpu *gpu, ps_t call, ps_t mib, uint64_t bytes)
{
	const ps_t time = call + (ps_t)((u128)bytes * mib / MIB);

	gpu->counts.pins++;
	gpu->counts.pin_time += time;
	gpu_backend()->pass(time);
}

/* ---- given out ---- */

CUDA_PUBLIC CUresult cuMemHostAlloc(void **ret_address, size_t bytes, unsigned int flags)
{
	const unsigned int known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				   CU_MEMHOSTALLOC_WRITECOMBINED;
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);
	struct gpu_pinned pinned = {.bytes = bytes, .flags = flags};
	void *memory;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || (flags & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = NULL;
	if (bytes == 0)
		return CUDA_SUCCESS;
	memory = gpu_backend()->take(bytes);
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pinned.address = (uintptr_t)memory;
	pinned.context = context;
	ret = keep(cuda_program(), &pinned);
	if (ret != CUDA_SUCCESS) {
		gpu_backend()->give_back(memory);
		return ret;
	}
	pass_pin(context->streams.gpu, profile_of(context)->take_pinned,
		 profile_of(context)->take_pinned_mib, bytes);
	*ret_address = memory;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemAllocHost(void **ret_address, size_t bytes)
{
	return cuMemHostAlloc(ret_address, bytes, 0);
}

/* It waits for nothing that copies go on to or from it with: as ever, that is the program's to do.
 */
CUDA_PUBLIC CUresult cuMemFreeHost(void *address)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_pinned *pinned;
	struct gpu *gpu;
	uint64_t bytes;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!address)
		return CUDA_SUCCESS;
	if (thread->depth > 0 && cuda_state(&thread->stack[thread->depth - 1]->streams))
		return cuda_state(&thread->stack[thread->depth - 1]->streams);
	pinned = cuda_find_pinned(thread->program, (uintptr_t)address);
	if (!pinned || pinned->is_registered || pinned->address != (uintptr_t)address)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = pinned->bytes;
	forget(thread->program, pinned);
	gpu_backend()->give_back(address);
	gpu = gpu_backend()->gpu(0);
	pass_pin(gpu, gpu->profile->free_pinned, gpu->profile->free_pinned_mib, bytes);
	return CUDA_SUCCESS;
}

/* ---- registered ---- */

CUDA_PUBLIC CUresult cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
	const unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
				   CU_MEMHOSTREGISTER_READ_ONLY;
	const uint64_t start = (uintptr_t)address;
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!address || bytes == 0 || (flags & ~known) || start + bytes < start ||
	    cuda_gpu_of(start) || cuda_is_managed(start))
		return CUDA_ERROR_INVALID_VALUE;
	ret = check_place(cuda_program(), start, bytes);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!gpu_backend()->has_memory(start, bytes, !(flags & CU_MEMHOSTREGISTER_READ_ONLY)))
		return CUDA_ERROR_INVALID_VALUE;
	ret = keep(cuda_program(), &(struct gpu_pinned){.address = start,
							.bytes = bytes,
							.flags = flags,
							.context = context,
							.is_registered = true});
	if (ret == CUDA_SUCCESS)
		pass_pin(context->streams.gpu, profile_of(context)->pin,
			 profile_of(context)->pin_mib, bytes);
	return ret;
}

CUDA_PUBLIC CUresult cuMemHostUnregister(void *address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	const struct gpu_pinned *pinned;
	uint64_t bytes;

	if (ret != CUDA_SUCCESS)
		return ret;
	pinned = cuda_find_pinned(cuda_program(), (uintptr_t)address);
	if (!pinned)
		return address ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
	if (!pinned->is_registered || pinned->address != (uintptr_t)address)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = pinned->bytes;
	forget(cuda_program(), pinned);
	pass_pin(context->streams.gpu, profile_of(context)->unpin, profile_of(context)->unpin_mib,
		 bytes);
	return CUDA_SUCCESS;
}

/* ---- what is asked of both ---- */

static CUresult find_host(const void *address, const struct gpu_pinned **ret_pinned)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_pinned = cuda_find_pinned(cuda_program(), (uintptr_t)address);
	return *ret_pinned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuMemHostGetDevicePointer(CUdeviceptr *ret_address, void *address,
					       unsigned int flags)
{
	const struct gpu_pinned *pinned;
	const CUresult ret = find_host(address, &pinned);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = (uintptr_t)address;
	return CUDA_SUCCESS;
}

/* All of it is mapped, which is said; that it is only read is not. */
CUDA_PUBLIC CUresult cuMemHostGetFlags(unsigned int *ret_flags, void *address)
{
	const struct gpu_pinned *pinned;
	const CUresult ret = find_host(address, &pinned);
	const uint32_t told = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = CU_MEMHOSTALLOC_DEVICEMAP |
		     (pinned->flags & (pinned->is_registered ? CU_MEMHOSTREGISTER_PORTABLE : told));
	return CUDA_SUCCESS;
}

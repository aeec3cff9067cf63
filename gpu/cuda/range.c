/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* What an address is. */

struct gpu *cuda_gpu_of(CUdeviceptr address)
{
	for (uint32_t i = 0; i < gpu_backend()->count(); i++) {
		struct gpu *gpu = gpu_backend()->gpu(i);

		if (gpu_memory_has(&gpu->memory, address))
			return gpu;
	}
	if (gpu_backend()->count() > 0 && gpu_views_have(cuda_views(), address)) {
		const struct gpu_view *view = gpu_views_find(cuda_views(), address);
		const struct gpu_stretch *stretch = gpu_views_stretch(cuda_views(), address);

		return view ? view->gpu : stretch ? stretch->gpu : NULL;
	}
	return NULL;
}

struct gpu_views *cuda_views(void)
{
	return gpu_backend()->gpu(0)->views;
}

ps_t cuda_time(ps_t call, ps_t mib, uint64_t bytes)
{
	return call + (ps_t)((u128)bytes * mib / (UINT64_C(1) << 20));
}

static bool is_own(const struct gpu_program *program, const struct gpu_allocation *allocation)
{
	const struct CUctx_st *owner = allocation ? allocation->owner : NULL;

	return owner && owner->program == program;
}

struct gpu_allocation *cuda_find(CUdeviceptr address, struct gpu **ret_gpu)
{
	struct gpu_allocation *allocation;

	*ret_gpu = cuda_gpu_of(address);
	allocation = *ret_gpu && gpu_memory_has(&(*ret_gpu)->memory, address)
			     ? gpu_memory_find(&(*ret_gpu)->memory, address)
			     : NULL;
	return is_own(cuda_program(), allocation) ? allocation : NULL;
}

static bool has_block(const struct gpu_program *program, const struct gpu_memory *memory,
		      uint64_t block)
{
	for (size_t i = 0; i < memory->count; i++) {
		const struct gpu_allocation *a = &memory->allocations[i];

		if (a->address < block + GPU_MEMORY_BLOCK && block < a->address + a->bytes &&
		    !a->is_gone && is_own(program, a))
			return true;
	}
	return false;
}

bool cuda_is_mapped(const struct gpu_program *program, const struct gpu *gpu, uint64_t address,
		    uint64_t bytes)
{
	const struct gpu_allocation *allocation = gpu_memory_find(&gpu->memory, address);
	uint64_t block = address - address % GPU_MEMORY_BLOCK;

	if (is_own(program, allocation) &&
	    bytes <= allocation->bytes - (address - allocation->address))
		return bytes > 0;
	if (!gpu_memory_is_mapped(&gpu->memory, address, bytes))
		return false;
	for (; block < address + bytes; block += GPU_MEMORY_BLOCK)
		if (!has_block(program, &gpu->memory, block))
			return false;
	return true;
}

static bool find_view(CUdeviceptr address, struct cuda_memory *ret_memory)
{
	struct gpu_view *view;

	if (gpu_backend()->count() == 0 || !gpu_views_have(cuda_views(), address))
		return false;
	view = gpu_views_find(cuda_views(), address);
	if (!view || view->owner != cuda_program() || !view->gpu)
		return false;
	*ret_memory = (struct cuda_memory){.gpu = view->gpu,
					   .start = view->address,
					   .bytes = view->bytes,
					   .number = view->number,
					   .target = view->target,
					   .is_sync = &view->is_sync,
					   .view = view};
	if (view->kind == GPU_VIEW_IMPORT)
		ret_memory->context = view->object;
	return true;
}

bool cuda_memory(CUdeviceptr address, struct cuda_memory *ret_memory)
{
	struct gpu *gpu;
	struct gpu_allocation *allocation = cuda_find(address, &gpu);

	if (!allocation)
		return find_view(address, ret_memory);
	*ret_memory = (struct cuda_memory){.gpu = gpu,
					   .context = allocation->owner,
					   .start = allocation->address,
					   .bytes = allocation->bytes,
					   .number = allocation->number,
					   .target = allocation->address,
					   .is_sync = &allocation->is_sync,
					   .allocation = allocation};
	return true;
}

/* Views that were mapped may be touched together where they lie side by side. What they show has to
 * do so as well: one command moves one piece of memory. */
static CUresult range_of_view(CUdeviceptr address, uint64_t bytes, const struct gpu_view *view,
			      struct cuda_range *ret_range)
{
	uint64_t target = view->target + (address - view->address);

	ret_range->is_read_only = view->is_read_only;
	if (view->is_closed)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > view->bytes - (address - view->address) &&
	    (view->kind != GPU_VIEW_MAPPED ||
	     !gpu_views_resolve(cuda_views(), address, bytes, &ret_range->gpu, &target)))
		return CUDA_ERROR_INVALID_VALUE;
	ret_range->at = gpu_at(ret_range->gpu, target);
	return CUDA_SUCCESS;
}

bool cuda_is_managed(CUdeviceptr address)
{
	const struct gpu_managed *managed = gpu_backend()->managed(false);

	return managed && gpu_memory_has(&managed->memory, address);
}

const struct gpu_allocation *cuda_find_managed(CUdeviceptr address)
{
	return cuda_is_managed(address)
		       ? gpu_memory_find(&gpu_backend()->managed(false)->memory, address)
		       : NULL;
}

static CUresult managed_range(CUdeviceptr address, uint64_t bytes, struct cuda_range *ret_range)
{
	const struct gpu_managed *managed = gpu_backend()->managed(false);

	*ret_range = (struct cuda_range){.kind = CUDA_DEVICE, .managed = address};
	if (!gpu_managed_has(managed, address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	ret_range->at = managed->bytes + (address - managed->memory.base);
	ret_range->is_sync = cuda_find_managed(address)->is_sync;
	return CUDA_SUCCESS;
}

CUresult cuda_range(CUdeviceptr address, uint64_t bytes, struct cuda_range *ret_range)
{
	const struct gpu_pinned *pinned;
	struct cuda_memory memory;

	*ret_range = (struct cuda_range){.managed = 0};
	if (cuda_memory(address, &memory)) {
		ret_range->kind = CUDA_DEVICE;
		ret_range->gpu = memory.gpu;
		ret_range->is_sync = *memory.is_sync;
		ret_range->at = gpu_at(memory.gpu, memory.target + (address - memory.start));
		if (memory.view)
			return range_of_view(address, bytes, memory.view, ret_range);
		return bytes > memory.bytes - (address - memory.start) ? CUDA_ERROR_INVALID_VALUE
								       : CUDA_SUCCESS;
	}
	if (cuda_is_managed(address))
		return managed_range(address, bytes, ret_range);
	if (cuda_gpu_of(address) ||
	    (gpu_backend()->count() > 0 && gpu_views_have(cuda_views(), address)))
		return CUDA_ERROR_INVALID_VALUE;
	pinned = cuda_find_pinned(cuda_program(), address);
	ret_range->is_registered = pinned && pinned->is_registered;
	ret_range->is_read_only = pinned && cuda_is_read_only(pinned);
	ret_range->kind = pinned ? CUDA_PINNED : CUDA_PAGEABLE;
	ret_range->at = (uint8_t *)(uintptr_t)address;
	if (address == 0 || (pinned && bytes > pinned->bytes - (address - pinned->address)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

bool cuda_is_read_only(const struct gpu_pinned *pinned)
{
	return pinned->is_registered && (pinned->flags & CU_MEMHOSTREGISTER_READ_ONLY);
}

/* How many begin at or below @address. */
static size_t count_to(const struct gpu_program *program, uint64_t address)
{
	size_t low = 0, high = program->pinned_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (program->pinned[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct gpu_pinned *cuda_find_pinned(const struct gpu_program *program, uint64_t address)
{
	const size_t count = count_to(program, address);
	const struct gpu_pinned *last;

	if (count == 0)
		return NULL;
	last = &program->pinned[count - 1];
	return address - last->address < last->bytes ? last : NULL;
}

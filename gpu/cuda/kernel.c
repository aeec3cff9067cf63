/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/kernel.h"

#include "gpu/cuda/handle.h"
#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

/* A kernel as the program's function has it: its arguments, and what it reaches. */

/* ---- for functions ---- */

struct gpu_kernel *cuda_kernel_of(struct vb_launch *launch)
{
	return &container_of(launch, struct cuda_kernel, launch)->kernel;
}

CUDA_PUBLIC int vb_kernel_read(struct vb_launch *launch, void *to, uint64_t from, size_t bytes)
{
	return gpu_kernel_read(cuda_kernel_of(launch), to, from, bytes) ? 0 : -1;
}

CUDA_PUBLIC int vb_kernel_write(struct vb_launch *launch, uint64_t to, const void *from,
				size_t bytes)
{
	return gpu_kernel_write(cuda_kernel_of(launch), to, from, bytes) ? 0 : -1;
}

CUDA_PUBLIC void vb_kernel_trap(struct vb_launch *launch)
{
	struct gpu_kernel *kernel = cuda_kernel_of(launch);

	if (kernel->how == GPU_KERNEL_WELL)
		kernel->how = GPU_KERNEL_TRAPPED;
}

CUDA_PUBLIC void vb_kernel_width(struct vb_launch *launch, unsigned int bytes)
{
	if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
		cuda_kernel_of(launch)->width = bytes;
	else
		vb_kernel_trap(launch);
}

CUDA_PUBLIC void vb_kernel_busy_ns(struct vb_launch *launch, uint64_t ns)
{
	const uint64_t most = PS_NEVER / 4 / PS_NS;

	cuda_kernel_of(launch)->busy += (ns < most ? ns : most) * PS_NS;
}

CUDA_PUBLIC int vb_kernel_wait(struct vb_launch *launch, uint64_t at, uint32_t value)
{
	return gpu_kernel_wait(cuda_kernel_of(launch), at, value, GPU_GEQ) ? 0 : -1;
}

static void run(struct gpu_kernel *kernel)
{
	struct cuda_kernel *own = container_of(kernel, struct cuda_kernel, kernel);

	own->fn(&own->launch);
	own->launch.step++;
}

static void end(struct gpu_kernel *kernel)
{
	util_free(container_of(kernel, struct cuda_kernel, kernel));
}

/* ---- what it reaches ---- */

static bool has_peer(const struct CUctx_st *context, const struct gpu *gpu)
{
	const uint32_t number = cuda_number(gpu);

	return gpu == context->streams.gpu || (context->peers[number / 64] >> number % 64 & 1);
}

/* Of a team whose members all have memory there. */
static bool find_team(const struct cuda_kernel *own, const struct gpu *gpu,
		      const struct gpu_view *view, uint64_t address, uint64_t bytes,
		      struct gpu_reach *ret_reach)
{
	const uint64_t offset = address - view->address;

	if (view->owner != own->context->program || !cuda_team_is_open(view, gpu) ||
	    bytes > view->bytes - offset || !gpu_team_reaches(view->team, offset, bytes))
		return false;
	*ret_reach = (struct gpu_reach){.team = view->team, .offset = offset};
	return true;
}

/* Memory that the program sees at another address than the GPU has it: of pools, mapped by handle,
 * or of another program. */
static bool find_view(const struct cuda_kernel *own, const struct gpu *gpu, uint64_t address,
		      uint64_t bytes, struct gpu_reach *ret_reach)
{
	const struct gpu_view *view = gpu_views_find(gpu->views, address);

	if (view && view->team)
		return find_team(own, gpu, view, address, bytes, ret_reach);
	if (!view || view->owner != own->context->program || view->is_closed ||
	    bytes > view->bytes - (address - view->address) ||
	    (view->gpu != gpu && !has_peer(own->context, view->gpu)))
		return false;
	*ret_reach = (struct gpu_reach){
		.at = gpu_at(view->gpu, view->target + (address - view->address)),
		.part = view->gpu->part,
		.is_read_only = view->is_read_only};
	return true;
}

/* Managed memory: whole pages of which something was given out. */
static bool find_managed(const struct gpu *gpu, uint64_t address, uint64_t bytes,
			 struct gpu_reach *ret_reach)
{
	const struct gpu_managed *managed = gpu->managed;
	uint64_t page = address - address % GPU_MANAGED_PAGE;

	if (bytes > managed->memory.bytes)
		return false;
	for (; page < address + bytes; page += GPU_MANAGED_PAGE)
		if (!gpu_managed_is_taken(managed, page, GPU_MANAGED_PAGE))
			return false;
	*ret_reach = (struct gpu_reach){.at = managed->bytes + (address - managed->memory.base),
					.part = gpu->part,
					.is_managed = true};
	return true;
}

/* Of memory of GPUs whole blocks, as the hardware has it; pinned memory of the host. */
static bool find(struct gpu_kernel *kernel, uint64_t address, uint64_t bytes,
		 struct gpu_reach *ret_reach)
{
	const struct cuda_kernel *own = container_of(kernel, struct cuda_kernel, kernel);
	const struct gpu *gpu = own->context->streams.gpu;
	const struct gpu *other = gpu_backend()->find(gpu, address);
	const struct gpu_pinned *pinned;

	if (other) {
		if (!has_peer(own->context, other) ||
		    !cuda_is_mapped(own->context->program, other, address, bytes))
			return false;
		*ret_reach = (struct gpu_reach){.at = gpu_at(other, address), .part = other->part};
		return true;
	}
	if (gpu->views && gpu_views_have(gpu->views, address))
		return find_view(own, gpu, address, bytes, ret_reach);
	if (gpu->managed && gpu_memory_has(&gpu->managed->memory, address))
		return find_managed(gpu, address, bytes, ret_reach);
	pinned = cuda_find_pinned(own->context->program, address);
	if (!pinned || bytes > pinned->bytes - (address - pinned->address))
		return false;
	*ret_reach = (struct gpu_reach){.at = (uint8_t *)(uintptr_t)address,
					.part = gpu->host_part,
					.is_read_only = cuda_is_read_only(pinned)};
	return true;
}

/* ---- one of them ---- */

uint32_t cuda_product(const unsigned int of[3])
{
	const uint64_t area = (uint64_t)of[0] * of[1];

	return area > UINT32_MAX / of[2] ? UINT32_MAX : (uint32_t)(area * of[2]);
}

struct cuda_kernel *cuda_kernel_make(const struct CUfunc_st *function,
				     const struct cuda_shape *shape)
{
	struct cuda_kernel *own = util_calloc(1, sizeof(*own));

	if (!own)
		return NULL;
	own->kernel = (struct gpu_kernel){.blocks = cuda_product(shape->grid),
					  .block_threads = cuda_product(shape->block),
					  .width = 16,
					  .run = run,
					  .find = find,
					  .end = end};
	own->launch = (struct vb_launch){.bytes = sizeof(own->launch),
					 .shared_bytes = shape->shared_bytes,
					 .arg_count = function->param_count,
					 .args = own->args,
					 .arg_bytes = own->arg_bytes};
	memcpy(own->launch.grid, shape->grid, sizeof(own->launch.grid));
	memcpy(own->launch.block, shape->block, sizeof(own->launch.block));
	for (uint32_t i = 0; i < function->param_count; i++) {
		own->args[i] = own->values + function->offsets[i];
		own->arg_bytes[i] = function->sizes[i];
	}
	return own;
}

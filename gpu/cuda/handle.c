/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/handle.h"

#include "util/alloc.h"

struct cuda_handle *cuda_find_handle(CUmemGenericAllocationHandle number)
{
	struct cuda_handle *handle = cuda_program()->handles;

	while (handle && !(handle->number == number && handle->users > 0))
		handle = handle->next;
	return handle;
}

void cuda_add_handle(struct cuda_handle *handle)
{
	struct gpu_program *program = cuda_program();

	handle->number = ++program->handles_made;
	handle->users = 1;
	handle->next = program->handles;
	program->handles = handle;
}

void cuda_handle_let_go(struct cuda_handle *handle)
{
	struct cuda_handle **at = &cuda_program()->handles;

	if (handle->users > 0 || handle->maps > 0)
		return;
	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	if (handle->team)
		gpu_team_put(handle->team);
	else if (handle->is_imported)
		gpu_memory_let_go(&handle->gpu->memory, handle->target, handle->bytes);
	else if (gpu_memory_drop(&handle->gpu->memory, handle->target) == 0)
		gpu_backend()->freed(handle->gpu, handle->target, handle->bytes);
	util_free(handle);
}

void cuda_handles_end(void)
{
	while (cuda_program()->handles) {
		struct cuda_handle *handle = cuda_program()->handles;

		handle->users = handle->maps = 0;
		cuda_handle_let_go(handle);
	}
}

void cuda_handles_fini(struct gpu_program *program)
{
	while (program->handles) {
		struct cuda_handle *handle = program->handles;

		program->handles = handle->next;
		gpu_team_put(handle->team);
		util_free(handle);
	}
}

bool cuda_team_is_open(const struct gpu_view *view, const struct gpu *gpu)
{
	const uint32_t number = cuda_number(gpu);

	return gpu_team_has(view->team, gpu) && (view->open[number / 64] >> number % 64 & 1);
}

struct cuda_handle *cuda_wait_for_team(CUmemGenericAllocationHandle number)
{
	struct cuda_handle *handle;

	while ((handle = cuda_find_handle(number)) && handle->team &&
	       !gpu_team_is_full(handle->team))
		gpu_backend()->block();
	return handle;
}

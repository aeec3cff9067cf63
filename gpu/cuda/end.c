/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "gpu/cuda/pool.h"

/* A program ends, as a process does: whatever it has not given back of GPUs' memory goes. */

/* Addresses that show memory which is its own, or others', and what holds that. */
static void end_views(const struct gpu_program *program)
{
	struct gpu_views *views = cuda_views();

	for (size_t i = views->count; i-- > 0;) {
		struct gpu_view *view = views->views[i];

		if (view->owner != program)
			continue;
		if (view->kind == GPU_VIEW_IMPORT)
			gpu_memory_let_go(&view->gpu->memory, view->target, view->bytes);
		gpu_views_remove(views, view);
	}
	for (size_t i = views->stretch_count; i-- > 0;)
		if (views->stretches[i].owner == program)
			gpu_views_give_back(views, views->stretches[i].address);
}

static void end_managed(const struct gpu_program *program)
{
	struct gpu_managed *managed = gpu_backend()->managed(false);
	const struct gpu_allocation *allocation;

	while (managed && (allocation = gpu_memory_of(&managed->memory, program)))
		(void)gpu_managed_drop(managed, allocation->address);
}

void gpu_program_end(void)
{
	struct gpu_program *program = cuda_program();
	struct CUctx_st *context;

	for (context = gpu_program_next(program, NULL); context;
	     context = gpu_program_next(program, context))
		gpu_context_end(&context->streams, gpu_backend()->now());
	for (context = gpu_program_next(program, NULL); context;
	     context = gpu_program_next(program, context))
		(void)cuda_rest(context);
	for (context = gpu_program_next(program, NULL); context;
	     context = gpu_program_next(program, context))
		cuda_forget_memory(context);
	end_views(program);
	for (struct CUmemPoolHandle_st *pool = program->pools; pool; pool = pool->next)
		cuda_pool_trim(pool, 0);
	cuda_handles_end();
	end_managed(program);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* What programs have, and share. */

struct CUctx_st *gpu_program_next(const struct gpu_program *program, const struct CUctx_st *context)
{
	uint32_t i = 0;

	if (context && context->device < 0)
		return context->next;
	if (context)
		i = (uint32_t)context->device + 1;
	for (; i < GPU_MAX; i++)
		if (program->contexts[i])
			return program->contexts[i];
	return program->made;
}

void cuda_put_shared(struct cuda_shared_event *shared)
{
	if (!shared || --shared->users > 0)
		return;
	gpu_mark_put(shared->mark);
	util_free(shared);
}

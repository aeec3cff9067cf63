/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* Modules: what an image names, and who says what that does. */

enum { MODULE_THREADS_MAX = 1024, SHARED_MAX = 232448 };

/* ---- what a program registers ---- */

CUDA_PUBLIC int vb_kernel(const char *name, vb_kernel_fn *fn)
{
	struct gpu_thread *thread = gpu_backend()->thread();
	struct cuda_named *named;

	if (!thread || !name || !fn)
		return -EINVAL;
	for (named = thread->program->kernels; named; named = named->next)
		if (strcmp(named->name, name) == 0) {
			named->fn = fn;
			return 0;
		}
	named = util_calloc(1, sizeof(*named) + strlen(name) + 1);
	if (!named)
		return -ENOMEM;
	memcpy(named->name, name, strlen(name) + 1);
	named->fn = fn;
	named->next = thread->program->kernels;
	thread->program->kernels = named;
	return 0;
}

/* ---- modules ---- */

static void module_free(struct CUmod_st *module)
{
	while (module->functions) {
		struct CUfunc_st *function = module->functions;

		module->functions = function->next;
		util_free(function);
	}
	util_free(module);
}

void cuda_modules_fini(struct gpu_program *program)
{
	while (program->modules) {
		struct CUmod_st *module = program->modules;

		program->modules = module->next;
		module_free(module);
	}
	while (program->kernels) {
		struct cuda_named *named = program->kernels;

		program->kernels = named->next;
		util_free(named);
	}
}

/* Where it hangs; NULL: it is none of the program's. */
static struct CUmod_st **find_module(CUmodule module)
{
	struct CUmod_st **at = &cuda_program()->modules;

	while (*at && *at != module)
		at = &(*at)->next;
	return *at ? at : NULL;
}

/* PTX of 9.0 goes with a driver of 13.0, 8.0 with 12.0, and so on. */
static int newest_ptx(const struct gpu_profile *profile)
{
	return (int)(profile->driver_version / 1000 - 4) * 10 +
	       (int)(profile->driver_version % 1000 / 10);
}

/* It waits for all that runs there: as measured. Only PTX is read: what is compiled (cubin,
 * fatbin) is no image here. */
CUDA_PUBLIC CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);
	const struct gpu_profile *profile;
	struct CUmod_st *module;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	profile = context->streams.gpu->profile;
	module = util_calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	ret = cuda_ptx(image, newest_ptx(profile),
		       10 * profile->compute_major + profile->compute_minor, &module->functions);
	if (ret == CUDA_SUCCESS) {
		(void)cuda_rest(context);
		ret = cuda_state(&context->streams);
	}
	gpu_backend()->pass(profile->module_load);
	if (ret != CUDA_SUCCESS) {
		module_free(module);
		return ret;
	}
	module->next = cuda_program()->modules;
	cuda_program()->modules = module;
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module,
					 const char *name)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct CUfunc_st *function;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_function || !name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!find_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	if (module->context->users == 0)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	for (function = module->functions; function; function = function->next)
		if (strcmp(function->name, name) == 0)
			break;
	if (!function)
		return CUDA_ERROR_NOT_FOUND;
	gpu_backend()->pass(context->streams.gpu->profile->query);
	*ret_function = function;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuModuleUnload(CUmodule module)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct CUmod_st **at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = find_module(module);
	if (!at)
		return CUDA_ERROR_INVALID_HANDLE;
	if (module->context->users == 0)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*at = module->next;
	module_free(module);
	gpu_backend()->pass(context->streams.gpu->profile->module_unload);
	return CUDA_SUCCESS;
}

/* ---- functions ---- */

struct CUfunc_st *cuda_function(CUfunction handle)
{
	for (struct CUmod_st *module = cuda_program()->modules; module; module = module->next)
		for (struct CUfunc_st *f = module->functions; f; f = f->next)
			if (f == handle)
				return module->context->users > 0 ? f : NULL;
	return NULL;
}

static CUresult find_function(CUfunction handle, struct CUfunc_st **ret_function)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_function = cuda_function(handle);
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_PUBLIC CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute,
					CUfunction handle)
{
	struct CUfunc_st *function;
	const CUresult ret = find_function(handle, &function);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = MODULE_THREADS_MAX;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret_value = function->arch;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = (int)function->dynamic_shared;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
					int value)
{
	struct CUfunc_st *function;
	const CUresult ret = find_function(handle, &function);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
	    value > SHARED_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	function->dynamic_shared = (uint32_t)value;
	return CUDA_SUCCESS;
}

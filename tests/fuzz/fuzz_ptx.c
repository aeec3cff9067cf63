/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of PTX over any text: kernels that it names have parameters that lie in order, each by
 * itself, and the same each time. */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

enum { NEWEST = 90, TARGET = 90 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_sound(const struct CUfunc_st *function)
{
	uint32_t end = 0;

	CHECK(function->name[0] && strlen(function->name) > 0);
	CHECK(function->arch <= TARGET);
	CHECK(function->param_count <= CUDA_PARAMS_MAX);
	for (uint32_t i = 0; i < function->param_count; i++) {
		CHECK(function->sizes[i] > 0 && function->offsets[i] >= end);
		end = function->offsets[i] + function->sizes[i];
	}
	CHECK(function->param_bytes == end && end <= CUDA_PARAM_BYTES_MAX);
}

static void are_equal(const struct CUfunc_st *a, const struct CUfunc_st *b)
{
	const size_t bytes = sizeof(a->offsets[0]) * a->param_count;

	CHECK(strcmp(a->name, b->name) == 0 && a->param_count == b->param_count);
	CHECK(memcmp(a->offsets, b->offsets, bytes) == 0);
	CHECK(memcmp(a->sizes, b->sizes, bytes) == 0);
}

static struct CUfunc_st *free_one(struct CUfunc_st *function)
{
	struct CUfunc_st *next = function->next;

	util_free(function);
	return next;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct CUfunc_st *functions, *again;
	char *text = util_alloc(size + 1);
	CUresult ret;

	CHECK(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	ret = cuda_ptx(text, NEWEST, TARGET, &functions);
	CHECK(ret == CUDA_SUCCESS || ret == CUDA_ERROR_INVALID_IMAGE ||
	      ret == CUDA_ERROR_INVALID_PTX || ret == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	CHECK(cuda_ptx(text, NEWEST, TARGET, &again) == ret);
	while (functions) {
		CHECK(again);
		is_sound(functions);
		are_equal(functions, again);
		functions = free_one(functions);
		again = free_one(again);
	}
	CHECK(!again);
	util_free(text);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

#include <string.h>

/* PTX, as far as it names kernels and the parameters that they have: version and target first, then
 * ".entry NAME (.param .TYPE NAME, ...)". What kernels do is not read. */

struct text {
	const char *at; /* behind the word */
	const char *word;
	size_t length; /* of it; 0: there are no more */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_of_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$' || c == '.' || c == '%';
}

static const char *skip_comment(const char *at)
{
	if (at[1] == '/') {
		while (*at && *at != '\n')
			at++;
		return at;
	}
	for (at += 2; *at; at++)
		if (at[0] == '*' && at[1] == '/')
			return at + 2;
	return at;
}

/* A word, or one character that is of none. */
static void next(struct text *text)
{
	const char *at = text->at;

	while (is_blank(*at) || (*at == '/' && (at[1] == '/' || at[1] == '*')))
		at = *at == '/' ? skip_comment(at) : at + 1;
	text->word = at;
	while (is_of_word(*at))
		at++;
	if (at == text->word && *at)
		at++;
	text->at = at;
	text->length = (size_t)(at - text->word);
}

static bool is(const struct text *text, const char *word)
{
	return text->length == strlen(word) && memcmp(text->word, word, text->length) == 0;
}

/* The digits at @at as a number; *ret_behind: where they end. False: there are none, or it is more
 * than anything here may be. */
static bool number(const char *at, uint32_t *ret_number, const char **ret_behind)
{
	const char *first = at;

	*ret_number = 0;
	for (; is_digit(*at) && *ret_number <= CUDA_PARAM_BYTES_MAX; at++)
		*ret_number = 10 * *ret_number + (uint32_t)(*at - '0');
	*ret_behind = at;
	return at > first && !is_digit(*at);
}

static bool version_of(const struct text *text, int *ret_version)
{
	uint32_t major, minor;
	const char *at;

	if (!number(text->word, &major, &at) || *at != '.' || !number(at + 1, &minor, &at) ||
	    at != text->word + text->length || minor > 9)
		return false;
	*ret_version = (int)(10 * major + minor);
	return true;
}

static bool target_of(const struct text *text, uint32_t *ret_target)
{
	const char *at;

	return text->length > 3 && memcmp(text->word, "sm_", 3) == 0 &&
	       number(text->word + 3, ret_target, &at);
}

/* ---- kernels ---- */

/* Bytes of a type; 0: it is none. */
static uint32_t size_of_type(const struct text *text)
{
	const char *word = text->word;
	uint32_t bits;
	const char *at;

	if (text->length < 3 || word[0] != '.' ||
	    (word[1] != 'u' && word[1] != 's' && word[1] != 'b' && word[1] != 'f') ||
	    !number(word + 2, &bits, &at) || at != word + text->length)
		return 0;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

struct parameter {
	uint32_t size, align, count;
	bool is_pointer; /* behind .ptr an alignment is that of what it points to */
};

static bool word_of_parameter(struct text *text, struct parameter *parameter)
{
	const uint32_t size = size_of_type(text);
	uint32_t value;
	const char *at;

	if (size > 0) {
		parameter->size = size;
		return true;
	}
	if (is(text, ".ptr"))
		parameter->is_pointer = true;
	if (!is(text, ".align") && !is(text, "["))
		return true;
	value = 0;
	if (is(text, "[")) {
		next(text);
		if (!number(text->word, &value, &at) || value == 0)
			return false;
		parameter->count = value;
		return true;
	}
	next(text);
	if (!number(text->word, &value, &at) || value == 0 || (value & (value - 1)))
		return false;
	if (!parameter->is_pointer)
		parameter->align = value;
	return true;
}

static bool add_parameter(struct CUfunc_st *function, const struct parameter *parameter)
{
	const uint32_t align = parameter->align > 0 ? parameter->align : parameter->size;
	const uint32_t bytes = parameter->size * parameter->count;
	uint32_t offset;

	if (parameter->size == 0 || function->param_count == CUDA_PARAMS_MAX ||
	    bytes > CUDA_PARAM_BYTES_MAX)
		return false;
	offset = (function->param_bytes + align - 1) / align * align;
	if (offset + bytes > CUDA_PARAM_BYTES_MAX)
		return false;
	function->offsets[function->param_count] = offset;
	function->sizes[function->param_count++] = bytes;
	function->param_bytes = offset + bytes;
	return true;
}

/* From "(" on, up to ")". */
static bool parameters(struct text *text, struct CUfunc_st *function)
{
	struct parameter parameter = {.count = 1};
	bool has_any = false;

	for (next(text); text->length > 0; next(text)) {
		const bool is_end = is(text, ")");

		if (is_end && !has_any)
			return true;
		if (is_end || is(text, ",")) {
			if (!add_parameter(function, &parameter))
				return false;
			if (is_end)
				return true;
			parameter = (struct parameter){.count = 1};
			continue;
		}
		has_any = true;
		if (!word_of_parameter(text, &parameter))
			return false;
	}
	return false;
}

static bool has_name(const struct CUfunc_st *functions, const struct text *text)
{
	while (functions && !is(text, functions->name))
		functions = functions->next;
	return functions;
}

/* Behind ".entry". */
static CUresult entry(struct text *text, int arch, struct CUfunc_st **functions)
{
	struct CUfunc_st *function, **at = functions;

	next(text);
	if (text->length == 0 || !is_of_word(*text->word) || has_name(*functions, text))
		return CUDA_ERROR_INVALID_PTX;
	function = util_calloc(1, sizeof(*function) + text->length + 1);
	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(function->name, text->word, text->length);
	function->arch = arch;
	function->dynamic_shared = 48 << 10;
	while (*at)
		at = &(*at)->next;
	*at = function;
	next(text);
	return !is(text, "(") || parameters(text, function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

static CUresult entries(struct text *text, int arch, struct CUfunc_st **functions)
{
	CUresult ret = CUDA_SUCCESS;

	for (next(text); text->length > 0 && ret == CUDA_SUCCESS; next(text)) {
		if (is(text, ".entry")) {
			ret = entry(text, arch, functions);
		} else if (is(text, ".address_size")) {
			next(text);
			ret = is(text, "64") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
		}
	}
	return ret;
}

CUresult cuda_ptx(const char *bytes, int newest, uint32_t target, struct CUfunc_st **ret_functions)
{
	struct text text = {.at = bytes};
	uint32_t wanted;
	int version;

	*ret_functions = NULL;
	next(&text);
	if (!is(&text, ".version"))
		return CUDA_ERROR_INVALID_IMAGE;
	next(&text);
	if (!version_of(&text, &version))
		return CUDA_ERROR_INVALID_IMAGE;
	if (version > newest)
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	next(&text);
	if (!is(&text, ".target"))
		return CUDA_ERROR_INVALID_PTX;
	next(&text);
	if (!target_of(&text, &wanted) || wanted > target)
		return CUDA_ERROR_INVALID_PTX;
	return entries(&text, (int)wanted, ret_functions);
}

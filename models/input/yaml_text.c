/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/yaml.h"

/* Bytes of the UTF-8 sequence at @p; 0: there is none. Neither overlong forms nor surrogates. */
static size_t sequence(const unsigned char *p, size_t left)
{
	const size_t length = p[0] < 0x80   ? 1
			      : p[0] < 0xc2 ? 0
			      : p[0] < 0xe0 ? 2
			      : p[0] < 0xf0 ? 3
			      : p[0] < 0xf5 ? 4
					    : 0;

	if (length == 0 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return length;
}

bool yaml_text_is_good(const char *bytes, size_t length, const struct bad_at *at,
		       struct bad_list *errors)
{
	const unsigned char *p = (const unsigned char *)bytes;
	struct bad_at here = *at;
	struct bad_text found;

	if (length > (size_t)64 << 20) {
		bad(errors, at, "file", "more than 64 MiB", "at most 64 MiB");
		return false;
	}
	for (size_t i = 0, step; i < length; i += step) {
		step = sequence(p + i, length - i);
		if (step == 0 || p[i] == 0) {
			bad(errors, &here, "file", bad_text(&found, "byte 0x%02x", p[i]),
			    "text in UTF-8");
			return false;
		}
		here.line += p[i] == '\n';
	}
	return true;
}

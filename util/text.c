/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/text.h"

#include "util/check.h"

#include <stdarg.h>
#include <stdio.h>

void util_text(char *ret_text, size_t room, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(ret_text, room, format, args);
	va_end(args);
	CHECK(length >= 0 && (size_t)length < room);
}

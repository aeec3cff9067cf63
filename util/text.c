/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/text.h"

#include "util/check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the character at @at, by RFC 3629; 0: there is none. */
static size_t utf8_length(const unsigned char *at)
{
	const size_t length = at[0] < 0x80		       ? 1
			      : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
			      : at[0] >= 0xe0 && at[0] <= 0xef ? 3
			      : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
							       : 0;

	for (size_t i = 1; i < length; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0; /* overlong, a surrogate, or above U+10FFFF */
	return length;
}

/* Of two or three bytes of UTF-8: U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069
 * turn the direction of a line, U+2028 and U+2029 end it. */
static bool text_turns_line(const unsigned char *at)
{
	if (at[0] == 0xd8)
		return at[1] == 0x9c;
	if (at[0] != 0xe2)
		return false;
	return (at[1] == 0x80 &&
		(at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
	       (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

size_t util_text_show(const char *at, char ret_shown[UTIL_TEXT_SHOWN_MAX])
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = (const unsigned char *)at;
	const size_t length = utf8_length(bytes);
	/* C0, DEL, and C1, which is U+0080 to U+009F. */
	const bool is_control = bytes[0] < ' ' || bytes[0] == 0x7f ||
				(bytes[0] == 0xc2 && length == 2 && bytes[1] < 0xa0) ||
				(length > 1 && text_turns_line(bytes));

	if (length > 0 && !is_control) {
		memcpy(ret_shown, at, length);
		ret_shown[length] = '\0';
		return length;
	}
	ret_shown[0] = '\\';
	ret_shown[1] = 'x';
	ret_shown[2] = digits[bytes[0] >> 4];
	ret_shown[3] = digits[bytes[0] & 15];
	ret_shown[4] = '\0';
	return 1;
}

void util_text(char *ret_text, size_t room, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(ret_text, room, format, args);
	va_end(args);
	CHECK(length >= 0 && (size_t)length < room);
}

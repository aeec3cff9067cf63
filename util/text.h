/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

/* Short texts into given room: names, reasons. */
#include <stddef.h>

/* What comes from elsewhere, as it may be shown on a terminal: UTF-8 as it stands, and every byte
 * of a control character, of one that ends a line or turns its direction (UAX #9), or of what is no
 * UTF-8, as "\xNN". Shows what stands at @at, which is not its end; returns how many bytes of it
 * that was. */
enum { UTIL_TEXT_SHOWN_MAX = 5 };
size_t util_text_show(const char *at, char ret_shown[UTIL_TEXT_SHOWN_MAX]);

/* As snprintf(); CHECKs that the text fitted. */
__attribute__((format(printf, 3, 4))) void util_text(char *ret_text, size_t room,
						     const char *format, ...);

#endif

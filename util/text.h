/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

/* Short texts into given room: names, reasons. */
#include <stddef.h>

/* As snprintf(); CHECKs that the text fitted. */
__attribute__((format(printf, 3, 4))) void util_text(char *ret_text, size_t room,
						     const char *format, ...);

#endif

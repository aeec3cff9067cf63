/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_HTML_H
#define TOOLS_REPORT_HTML_H

/* Text that comes from elsewhere, made harmless; numbers as people read them. Write errors are the
 * stream's. */
#include "util/units.h"

#include <stdio.h>

/* Between tags or in an attribute with double quotes. Control characters become U+FFFD. */
void html_text(const char *text, FILE *file);
/* The same, as a shell takes it for one word: in quotes where it takes some. */
void html_word(const char *word, FILE *file);
/* JSON inside of a script element: what could end it is written as \uXXXX. */
void html_json(const char *json, FILE *file);

/* As fprintf() for our own markup, where %s is passed through html_text(), %t is a time in ps_t, %b
 * a number of bytes, %r a rate in bit/s and %n a number with thin spaces in it (all uint64_t).
 * Nothing else. */
void html_put(FILE *file, const char *format, ...);

#endif

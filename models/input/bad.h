/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_BAD_H
#define MODELS_BAD_H

/* Bad input. Readers go on after an error, so that a person sees all of them at once; every reader
 * reports through bad() and nothing else. A line is "FILE:LINE: KEY: found X, expected Y", in a
 * file that another one names with " (named at FILE:LINE)" behind it, and "FILE: KEY: ..." of a
 * file as a whole. A file that names itself was named on the command line. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bad_at {
	const char *file;
	uint32_t line;		    /* from 1; 0: of the file as a whole */
	const struct bad_at *namer; /* where @file was named; NULL: on the command line */
	bool is_copy; /* what stands there is read elsewhere, too: one error of a line will do */
};

struct bad_line {
	char *text; /* without a newline; as util_text_show() shows it */
	uint32_t line, number;
	char *file;
	bool warning;
};

/* Zeroed: empty. */
struct bad_list {
	struct bad_line *lines;
	uint32_t count, room, error_count;
	bool no_memory; /* a line was lost for it */
};

enum { BAD_LINES_MAX = 1000 }; /* further errors are counted only */
static inline bool bad_is_full(const struct bad_list *list)
{
	return list->count >= BAD_LINES_MAX;
}
static inline void bad_count(struct bad_list *list)
{
	list->error_count++;
}

void bad_list_fini(struct bad_list *list);
/* Lines of one file in the order of their numbers, files in the order in which they were met. */
void bad_list_sort(struct bad_list *list);

void bad(struct bad_list *list, const struct bad_at *at, const char *key, const char *found,
	 const char *expected);
/* What was read and does not count: "FILE:LINE: KEY: found X, expected Y; ignored". */
void bad_warn(struct bad_list *list, const struct bad_at *at, const char *key, const char *found,
	      const char *expected);
/* What counts, and yet who reads the result should know: a warning "FILE:LINE: KEY: TEXT". */
void bad_note(struct bad_list *list, const struct bad_at *at, const char *key, const char *text);

/* For @found and @expected, which are made up: as printf(), cut off where it does not fit. Returns
 * the text. What is unprintable is shown as "\xNN". */
struct bad_text {
	char text[640];
};
__attribute__((format(printf, 2, 3))) const char *bad_text(struct bad_text *text,
							   const char *format, ...);
/* Whether @known is so much like @word that it may have been meant, and more so than what was
 * before it: @best begins as 0 and is the caller's to keep. */
bool bad_is_nearer(const char *word, const char *known, uint32_t *best);
/* A piece of a file in quotes, cut off if long; an empty one is "nothing". */
const char *bad_quote(struct bad_text *text, const char *bytes, size_t length);

#endif

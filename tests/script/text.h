/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SCRIPT_TEXT_H
#define TESTS_SCRIPT_TEXT_H

/* One line of a script: words, some of them KEY=VALUE. Whatever is wrong ends the run with
 * FILE:LINE, what was found and what was expected. */
#include "util/units.h"

#include <stdbool.h>

enum { WORDS_MAX = 48 };

struct line {
	const char *file;
	int number;
	char *words[WORDS_MAX];
	bool used[WORDS_MAX];
	int count, next;
};

struct name_value {
	const char *name;
	long value;
};

_Noreturn void line_bad(const struct line *line, const char *found, const char *expected);
void line_split(struct line *line, char *text);		    /* into words; '#' begins a comment */
const char *line_word(struct line *line, const char *what); /* the next one in order */
bool line_flag(struct line *line, const char *name);	    /* the word is there */
const char *line_get(struct line *line, const char *key);   /* NULL: not there */
uint64_t line_number(struct line *line, const char *key, uint64_t otherwise);
void line_end(const struct line *line); /* every word was used */

uint64_t text_number(const struct line *line, const char *text);
ps_t text_time(const struct line *line, const char *text); /* 0, 12ps, 3ns, 4us, 5ms, never */
long text_name(const struct line *line, const char *text, const struct name_value *names,
	       const char *what);
const char *text_of(long value, const struct name_value *names);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SCRIPT_TEXT_H
#define TOOLS_SCRIPT_TEXT_H

/* One line of a packet script: words, some of them KEY=VALUE. What is wrong with a script, and what
 * turned out otherwise than it says, ends the process, with a line on stderr. */
#include "util/units.h"

#include <stdbool.h>

enum { WORDS_MAX = 80 };

enum script_exit { SCRIPT_HELD = 0, SCRIPT_DIFFERS = 1, SCRIPT_BAD = 2 };

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

/* The script is no script: SCRIPT_BAD, as FILE:LINE: found "...", expected ... */
_Noreturn void line_bad(const struct line *line, const char *found, const char *expected);
/* The adapter did something else: SCRIPT_DIFFERS, with FILE:LINE and both, a line each. */
_Noreturn void line_differs(const struct line *line, const char *found, const char *expected);
/* Called by line_differs() first, where it is set: it need not come back. */
extern void (*line_on_difference)(const struct line *line, const char *found, const char *expected);

void line_split(struct line *line, char *text);		    /* into words; '#' begins a comment */
const char *line_word(struct line *line, const char *what); /* the next one in order */
bool line_flag(struct line *line, const char *name);	    /* the word is there */
const char *line_get(struct line *line, const char *key);   /* NULL: not there */
uint64_t line_number(struct line *line, const char *key, uint64_t otherwise);
/* The same where more than @most would be too many. */
uint64_t line_number_to(struct line *line, const char *key, uint64_t otherwise, uint64_t most);
void line_end(const struct line *line); /* every word was used */

uint64_t text_number(const struct line *line, const char *text);
ps_t text_time(const struct line *line, const char *text); /* 0, 12ps, 3ns, 4us, 5ms, never */
long text_name(const struct line *line, const char *text, const struct name_value *names,
	       const char *what);
const char *text_of(long value, const struct name_value *names);

#endif

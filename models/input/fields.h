/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_FIELDS_H
#define MODELS_FIELDS_H

/* Lines of fields between blanks, as simulators keep their traces. */
#include "models/input/bad.h"

enum { FIELDS_MAX = 16 };

struct field {
	const char *text;
	size_t length;
};

struct fields { /* one line */
	struct field field[FIELDS_MAX];
	uint32_t count; /* may be more than FIELDS_MAX: the rest is not kept */
	struct bad_at at;
};

struct fields_reader { /* set up with the text, and at.line 1 */
	const char *next, *end;
	struct bad_at at; /* of the next line */
};

/* The next line that is not blank; false: there is none. */
bool fields_next(struct fields_reader *reader, struct fields *ret_line);
/* One field after another, wherever the lines end; false: there is none. */
bool fields_take(struct fields_reader *reader, struct field *ret_field, struct bad_at *ret_at);
/* Whether it is @word, which is in small letters, in letters of any size. */
bool fields_is(struct field field, const char *word);
/* Lines with something on them that are left. */
uint64_t fields_left(struct fields_reader reader);

#endif

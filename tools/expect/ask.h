/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_ASK_H
#define TOOLS_EXPECT_ASK_H

/* Expressions over results, by libjq, in child processes: whatever one does, it does there, and for
 * a second of CPU at most. Many share a child and a program, since most of what jq does with one is
 * to compile its own library. */
#include "tools/expect/scan.h"

enum {
	EXPECT_SECONDS_MAX = 1, /* of CPU, for one expression over one result */
	EXPECT_ENDLESS_MAX = 4, /* so many may take more, then no other is tried */
};

enum expect_kind {
	EXPECT_TRUE,
	EXPECT_FALSE,
	EXPECT_NO_BOOLEAN, /* text: the value */
	EXPECT_NOTHING,	   /* no value at all */
	EXPECT_SEVERAL,	   /* values */
	EXPECT_MISSING,	   /* text: a field that is not there was asked for */
	EXPECT_NULL,	   /* text: a field that is null was asked for; "": a part of something */
	EXPECT_SYNTAX,	   /* text: what jq says */
	EXPECT_ERROR,	   /* text: what jq says */
	EXPECT_ENDLESS,	   /* more than its time or memory */
	EXPECT_UNTRIED,	   /* after EXPECT_ENDLESS_MAX of those */
	EXPECT_NO_JQ,	   /* this version was built without libjq */
};

struct expect_answer {
	enum expect_kind kind;
	char text[256];
};

struct expect_question {
	const char *expression;
	struct expect_scan scan; /* of @expression */
};

/* Every question over every element of the array @roots, each [result] or, with what $baseline
 * is, [result, baseline]: the answers of the first question, in the
 * order of the roots, then those of the next. @ret_answers has room for them. 0; -ENOMEM, -EIO:
 * there is no child to be had. */
int expect_ask(const struct expect_question *questions, size_t count, const json_t *roots,
	       struct expect_answer *ret_answers);

#endif

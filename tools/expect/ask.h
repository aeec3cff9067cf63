/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_ASK_H
#define TOOLS_EXPECT_ASK_H

/* One expression over one result, by libjq, in a child process: whatever it does, it does there,
 * and for a second of CPU at most. */
#include "tools/expect/scan.h"

enum expect_kind {
	EXPECT_TRUE,
	EXPECT_FALSE,
	EXPECT_NO_BOOLEAN, /* text: the value */
	EXPECT_NOTHING,	   /* no value at all */
	EXPECT_SEVERAL,	   /* values */
	EXPECT_MISSING,	   /* text: a field that is not there was asked for */
	EXPECT_SYNTAX,	   /* text: what jq says */
	EXPECT_ERROR,	   /* text: what jq says */
	EXPECT_ENDLESS,	   /* more than its time or memory */
	EXPECT_NO_JQ,	   /* this version was built without libjq */
};

struct expect_answer {
	enum expect_kind kind;
	char text[256];
};

/* @scan is that of @expression, with @root. 0; -ENOMEM, -EIO: there is no child to be had. */
int expect_ask(const char *expression, const struct expect_scan *scan, const json_t *root,
	       struct expect_answer *ret_answer);

#endif

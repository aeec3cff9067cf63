/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_JQ_H
#define TOOLS_EXPECT_JQ_H

/* The part that needs libjq; with it or without. */
#include "tools/expect/ask.h"

struct expect_jq_ops {
	/* Before each evaluation. */
	void (*on_begin)(void *owner);
	void (*on_answer)(void *owner, const struct expect_answer *answer);
	void *owner;
};

/* Every question over every element of @roots, an array as JSON, each of them [result] or [result,
 * baseline], in the order of expect_ask(). May
 * never come back, and aborts where there is no memory. False: several that make no good program
 * together; nothing was answered. */
bool expect_jq(const struct expect_question *questions, size_t count, const char *roots,
	       const struct expect_jq_ops *ops);

#endif

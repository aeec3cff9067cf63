/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_H
#define TOOLS_EXPECT_H

/* What a scenario expects of its result: jq expressions, each of which must come out as true. They
 * are tried before the run on a result of the scenario's shape in which all numbers are 0, so that
 * a slip of the pen is bad input and not a false expectation an hour later. jq itself lets a field
 * that is not there be null, which is less than any number; here every field that is named must
 * exist.
 *
 * A value over nothing is null, which is less than any number, too. An expression that asks for
 * one, by its name or as a part of something, does not hold. jq has other ways to come to one,
 * which cannot all be seen: it is therefore asked once more with other things in place of every
 * null, and holds where it is true of all of them.
 *
 * And what is said of a run of which flows are unfinished, have failed or are lost, or in which
 * nothing was sent, holds only where it names .flows: it has been thought of. So with .programs,
 * where ranks have not ended. */
#include "tools/result/result.h"

#include <jansson.h>

enum {
	EXPECT_LENGTH_MAX = 4096, /* bytes of an expression */
};

/* Compiles and tries all of a scenario: COMMAND_DONE; COMMAND_BAD or COMMAND_BROKEN, with lines on
 * stderr. @baseline: what $baseline is, a result as back_baseline() has it; NULL: an expression
 * that names it is bad input, unless @is_open: then a result of the scenario's own shape stands for
 * one that is not known yet. */
int expect_check(const struct scenario *scenario, const json_t *baseline, bool is_open);

/* Fills result->expects. A result that is partial is judged by nobody: nothing holds; as does
 * nothing that names $baseline where @baseline is NULL. -ENOMEM. */
int expect_judge(struct result *result, const json_t *baseline);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_JUNIT_H
#define TOOLS_JUNIT_H

/* Verdicts in the form that CI systems read: JUnit XML (the schema of Jenkins' xUnit plugin). */
#include "tools/result/result.h"

enum junit_verdict { JUNIT_GOOD, JUNIT_FAILURE, JUNIT_ERROR };

struct junit_case {
	const char *name;
	enum junit_verdict verdict;
	const char *type;    /* of failures and errors: one word */
	const char *message; /* of a good one: what is told beside it, NULL: nothing */
	double seconds;
};

struct junit_property {
	const char *name, *value;
};

struct junit_suite {
	const char *name; /* also the class of all cases */
	double seconds;
	const struct junit_property *properties;
	uint32_t property_count;
	const struct junit_case *cases;
	uint32_t case_count;
};

/* Each: COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */

/* First of all, so that nobody ever takes what an older run left at @path for what this one has to
 * say, however it ends. */
int junit_clear(const char *path);
/* Before the run: whether it could be written. A FIFO is refused: COMMAND_BAD. */
int junit_try(const char *path);
/* Says that there will be no test case in it. */
void junit_warn_of_nothing(const char *path, const char *scenario);
/* Whole or, where that fails, not at all. */
int junit_write(const char *path, const struct junit_suite *suite);
/* junit_run.c: the same of a run, a test case for each expectation and for each program: a false
 * one is a failure; where the run ended early, so that nothing can be said, all are errors. */
int junit_write_run(const char *path, const struct result *result);

#endif

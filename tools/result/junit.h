/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_JUNIT_H
#define TOOLS_JUNIT_H

/* Expectations in the form that CI systems read: JUnit XML (the schema of Jenkins' xUnit plugin). A
 * test case for each expectation, and for each program: a false one is a failure; where the run
 * ended early, so that nothing can be said, all are errors. */
#include "tools/result/result.h"

/* Each: COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */

/* First of all, so that nobody ever takes what an older run left at @path for what this one has to
 * say, however it ends. */
int junit_clear(const char *path);
/* Before the run: whether it could be written. */
int junit_try(const char *path);
/* Whole or, where that fails, not at all. */
int junit_write(const char *path, const struct result *result);

#endif

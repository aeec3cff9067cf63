/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_JUNIT_H
#define TOOLS_JUNIT_H

/* Expectations in the form that CI systems read: JUnit XML (the schema of Jenkins' xUnit plugin). A
 * test case for each expectation, and for each program: a false one is a failure; where the run
 * ended early, so that nothing can be said, all are errors. */
#include "tools/result/result.h"

#include <stdio.h>

struct junit {
	const char *path;
	FILE *file;
};

/* Makes the file. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int junit_open(struct junit *junit, const char *path);
/* Fills and closes it, once; not opened: allowed. As junit_open(). */
int junit_write(struct junit *junit, const struct result *result);
void junit_close(struct junit *junit); /* without a result; closed already, zeroed: allowed */

#endif

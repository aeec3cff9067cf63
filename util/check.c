/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/check.h"

#include "util/trap.h"
#include <stdio.h>
#include <stdlib.h>

void util_check_failed(const char *cond, const char *file, int line)
{
	util_trap_spring(cond, file, line);
	fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, cond);
	abort();
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/check.h"

#include <stdio.h>
#include <stdlib.h>

void util_check_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, cond);
	abort();
}

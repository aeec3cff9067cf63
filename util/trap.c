/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/trap.h"

#include <stddef.h>

static _Thread_local struct util_trap *innermost;

void util_trap_push(struct util_trap *trap)
{
	trap->outer = innermost;
	trap->cond = NULL;
	innermost = trap;
}

void util_trap_clear(struct util_trap *trap)
{
	innermost = trap->outer;
}

void util_trap_spring(const char *cond, const char *file, int line)
{
	struct util_trap *trap = innermost;

	if (!trap)
		return;
	innermost = trap->outer;
	trap->cond = cond;
	trap->file = file;
	trap->line = line;
	_longjmp(trap->at, 1);
}

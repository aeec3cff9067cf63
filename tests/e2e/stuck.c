/* SPDX-License-Identifier: BSD-2-Clause */

/* Programs that do not end well, for the tests of the command: "fail" returns 7 at rank 1, "wait"
 * waits for what nobody puts on the board, "sleep" sleeps beyond the end of time, "spin" computes for
 * ever. */
#include "tests/programs/prog.h"

#include <string.h>

static volatile int forever = 1;

int prog_main(const struct prog *prog)
{
	const char *how = prog->arg_count > 0 ? prog->args[0] : "";
	uint8_t byte;

	if (prog->rank == 0)
		return 0;
	if (strcmp(how, "wait") == 0)
		return prog->get(prog, "what nobody puts", &byte, sizeof(byte));
	if (strcmp(how, "sleep") == 0) {
		prog->sleep_ns(prog, 1);
		prog->sleep_ns(prog, UINT64_MAX);
	}
	while (strcmp(how, "spin") == 0 && forever)
		;
	return 7;
}

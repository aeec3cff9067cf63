/* SPDX-License-Identifier: BSD-2-Clause */

/* Variables outside of functions: every rank has its own, as it would as a process. Argument spin:
 * waits for one that nobody changes. */
#include <stdlib.h>
#include <string.h>
#include <verbena/program.h>

static int counter = 5, buffer[1000];
static __thread int of_thread = 7;
static volatile int never;

int prog_main(const struct vb_prog *prog)
{
	while (prog->arg_count > 0 && strcmp(prog->args[0], "spin") == 0 && !never)
		;
	for (int i = 0; i < 10; i++) {
		counter++;
		of_thread++;
		buffer[100 * i] = prog->rank;
		prog->sleep_ns(prog, 1000); /* others have their turn */
	}
	for (int i = 0; i < 10; i++)
		if (buffer[100 * i] != prog->rank)
			return -1;
	return counter == 15 && of_thread == 17 ? 0 : -2;
}

VB_MAIN(prog_main)

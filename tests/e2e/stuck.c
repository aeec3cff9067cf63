/* SPDX-License-Identifier: BSD-2-Clause */

/* Programs that do not end well, for the tests of the command: "fail" returns 7 at rank 1, "wait"
 * waits for what nobody puts on the rendezvous, "sleep" sleeps beyond the end of time, "spin"
 * computes for ever, "exit" and "crash" end the process, "deep" uses up its stack, "print" prints
 * and says, "fork" leaves a child behind. */
#include "include/verbena/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int forever = 1;

static int deep(int depth);
static int (*volatile deeper)(int depth) = deep; /* no compiler makes a loop of it */

static int deep(int depth)
{
	volatile char room[1024] = {(char)depth};

	return depth > 0 ? deeper(depth - 1) + room[0] : 0;
}

static int print(const struct vb_prog *prog)
{
	printf("printed\n");
	prog->say(prog, "two\nlines\033[31m");
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	const char *how = prog->arg_count > 0 ? prog->args[0] : "";
	uint8_t byte;

	if (prog->rank == 0)
		return 0;
	if (strcmp(how, "wait") == 0)
		return prog->get(prog, "what nobody puts", &byte, sizeof(byte));
	if (strcmp(how, "sleep") == 0) {
		prog->sleep_ns(prog, 1);
		prog->sleep_ns(prog, prog->arg_count > 1 ? UINT64_MAX / 1500 : UINT64_MAX);
	}
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "crash") == 0)
		abort();
	if (strcmp(how, "deep") == 0)
		return deep(1 << 20);
	if (strcmp(how, "fork") == 0)
		return fork() < 0;
	if (strcmp(how, "print") == 0)
		return print(prog);
	while (strcmp(how, "spin") == 0 && forever)
		;
	return 7;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays one packet script, for tests: with the adapter alone, not the whole command. */
#include "tools/script/script.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	int line = 0;

	if (argc != 2) {
		fputs("usage: script FILE.pkt\n", stderr);
		return SCRIPT_BAD;
	}
	script_play(argv[1], &line);
	return SCRIPT_HELD;
}

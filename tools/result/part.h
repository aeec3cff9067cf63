/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

/* A file that appears whole or not at all: until then it is NAME.part, beside where it will be.
 * That name is nobody else's: what lies there already, such as what a run left that was killed, or
 * a link or a FIFO, is removed and never opened. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct part {
	FILE *file; /* to be written to; NULL: not open */
	int folder;
	char name[NAME_MAX + 1];
};

/* @folder, an open one, stays the caller's, and open. 0 or negative errno. */
int part_open(struct part *part, int folder, const char *name);
/* Gives it its name, unless @is_good is false or something could not be written: then there is
 * neither of the two, and no NAME from before. 0 or negative errno; not open: allowed. */
int part_close(struct part *part, bool is_good);
/* There is no NAME, nor a NAME.part, any more. 0 or negative errno. */
int part_remove(int folder, const char *name);

#endif

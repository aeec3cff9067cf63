/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SERIES_FILE_H
#define TOOLS_SERIES_FILE_H

/* A file of the results that is written during the run: under its name once it is whole. */
#include <stdio.h>

struct series_file {
	const char *folder, *name;
	FILE *file; /* NULL: not open */
};

/* @folder and @name stay the caller's. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int series_file_open(struct series_file *file, const char *folder, const char *name);
/* Gives it its name. As above; not open: allowed. */
int series_file_close(struct series_file *file);
void series_file_fini(struct series_file *file); /* without a name, if it has none yet */

#endif

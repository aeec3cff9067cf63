/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_FOLDER_H
#define TOOLS_FOLDER_H

/* The folder of a run's results. A file appears in it whole or not at all. */
#include <limits.h>
#include <stdio.h>

struct folder {
	char path[PATH_MAX];
};

/* Makes it and those above it. @out NULL: verbena-out/NAME. COMMAND_DONE, or COMMAND_BROKEN with a
 * line on stderr. */
int folder_open(struct folder *folder, const char *out, const char *name);

/* Writes @name by @write; where that fails there is no @name any more. As folder_open(). */
typedef int folder_write_fn(FILE *file, const void *owner); /* 0 or negative errno */
int folder_put(const struct folder *folder, const char *name, folder_write_fn *write,
	       const void *owner);
/* A run before this one may have left @name there. As folder_open(). */
int folder_drop(const struct folder *folder, const char *name);

#endif

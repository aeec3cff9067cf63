/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_FOLDER_H
#define TOOLS_FOLDER_H

/* The folder of a run's results, of which one run at a time has the use. A file appears in it whole
 * or not at all. */
#include "tools/result/part.h"

struct folder {
	char path[PATH_MAX];
	int fd;
	bool is_open;
};

/* Makes it and those above it, and locks it until it is closed or the process ends. @out NULL:
 * verbena-out/NAME. COMMAND_DONE, or COMMAND_BROKEN with a line on stderr, also where another
 * process has it open. */
int folder_open(struct folder *folder, const char *out, const char *name);
void folder_close(struct folder *folder); /* zeroed, or not opened: allowed */
/* The folder @name in an open one, made where there is none; a link is none. Its lock is that of
 * @folder, which has to stay open for as long. As folder_open(). */
int folder_open_in(const struct folder *folder, const char *name, struct folder *ret_folder);

/* Writes @name by @write; where that fails there is no @name any more. As folder_open(). */
typedef int folder_write_fn(FILE *file, const void *owner); /* 0 or negative errno */
int folder_put(const struct folder *folder, const char *name, folder_write_fn *write,
	       const void *owner);
/* The same in two steps, with what part_open() and part_close() say told. */
int folder_begin(const struct folder *folder, const char *name, struct part *ret_part);
int folder_end(const struct folder *folder, struct part *part, bool is_good);
/* A run before this one may have left @name there, or a part of it. As folder_open(). */
int folder_drop(const struct folder *folder, const char *name);

#endif

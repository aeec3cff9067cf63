/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_TARGET_H
#define EXEC_TARGET_H

/* What a command is that shall run on other libraries than it was linked against: whether these
 * reach it at all, which is for the dynamic loader to do. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { TARGET_REASON_MAX = 256, TARGET_SONAME_MAX = 64, TARGET_FOLDER_MAX = 256 };

struct target {
	char path[PATH_MAX]; /* of the program; of a script, the script's */
	/* Of a sanitizer's runtime that it is linked against and that wants to be loaded first, its
	 * name; "": none. */
	char sanitizer[TARGET_SONAME_MAX];
	/* A folder of its DT_RPATH that has a libibverbs.so, which comes before all of the
	 * environment where that is opened by this name, without a version; "": none. */
	char rpath[TARGET_FOLDER_MAX];
};

/* The file that @argv[0] means, as execvp() looks for it, and through "#!" lines up to the program
 * that runs. 0; -ENOENT, -EACCES: there is none that may be run; -ENOEXEC, with a line in
 * @ret_reason: what is preloaded does not reach it, or not what @argv has it start. */
int target_find(char *const *argv, struct target *ret_target, char ret_reason[TARGET_REASON_MAX]);

#endif

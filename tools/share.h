/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SHARE_H
#define TOOLS_SHARE_H

/* Files that come with the command, such as incidents and lessons: they lie where it was installed;
 * or, before that, in the repository, of which it is in the folder build, wherever that was moved;
 * or where it was built, which may be a folder elsewhere. */
#include <limits.h>
#include <stdbool.h>

struct share_room {
	const char *installed; /* in share/verbena */
	const char *source;    /* in the repository */
};

enum { SHARE_PLACES = 3 };
/* The file @name as it would be called in that place, of SHARE_PLACES; false: the path would be too
 * long. */
bool share_path(const struct share_room *room, unsigned place, const char *name,
		char ret_path[PATH_MAX]);
/* The same of the first place that has it; false: none has. */
bool share_find(const struct share_room *room, const char *name, char ret_path[PATH_MAX]);

#endif

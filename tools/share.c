/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/share.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* @below: the command's own folder. */
static bool share_beside(const char *below, const char *folder, const char *name,
			 char ret_path[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (length <= 0)
		return false;
	exe[length] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	return slash &&
	       snprintf(ret_path, PATH_MAX, "%s/%s/%s/%s", exe, below, folder, name) < PATH_MAX;
}

bool share_path(const struct share_room *room, unsigned place, const char *name,
		char ret_path[PATH_MAX])
{
	if (place == 0)
		return share_beside("../share/verbena", room->installed, name, ret_path);
	if (place == 1)
		return share_beside("..", room->source, name, ret_path);
	return snprintf(ret_path, PATH_MAX, PROJECT_SOURCE "/%s/%s", room->source, name) < PATH_MAX;
}

bool share_find(const struct share_room *room, const char *name, char ret_path[PATH_MAX])
{
	for (unsigned i = 0; i < SHARE_PLACES; i++)
		if (share_path(room, i, name, ret_path) && access(ret_path, F_OK) == 0)
			return true;
	return false;
}

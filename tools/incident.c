/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/incident.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where it was installed, from the command's own folder; where it was built. */
static const char *const folders[] = {"../share/verbena/incidents", PROJECT_SOURCE "/traces/incidents"};

const char *incident_path(const char *arg)
{
	static char path[PATH_MAX];
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (strpbrk(arg, "/.") || access(arg, F_OK) == 0 || length <= 0)
		return arg;
	exe[length] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return arg;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (snprintf(path, sizeof(path), "%s%s%s/%s.yaml", folders[i][0] == '/' ? "" : exe,
			     folders[i][0] == '/' ? "" : "/", folders[i], arg) <
			    (int)sizeof(path) &&
		    access(path, F_OK) == 0)
			return path;
	return arg;
}

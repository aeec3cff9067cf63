/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/incident.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where it was installed, from the command's own folder; where it was built. */
static const char *const folders[] = {"../share/verbena/incidents",
				      PROJECT_SOURCE "/traces/incidents"};
enum { FOLDERS = sizeof(folders) / sizeof(folders[0]) };

static const char suffix[] = ".yaml";

/* The i-th folder with @name in it; false: the path would be too long. */
static bool incident_path_of(size_t i, const char *name, char ret_path[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (folders[i][0] == '/')
		return snprintf(ret_path, PATH_MAX, "%s/%s", folders[i], name) < PATH_MAX;
	if (length <= 0)
		return false;
	exe[length] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	return slash && snprintf(ret_path, PATH_MAX, "%s/%s/%s", exe, folders[i], name) < PATH_MAX;
}

const char *incident_find(const char *name)
{
	static char path[PATH_MAX];
	char file[NAME_MAX + 1];

	if (strpbrk(name, "/.") ||
	    snprintf(file, sizeof(file), "%s%s", name, suffix) >= (int)sizeof(file))
		return NULL;
	for (size_t i = 0; i < FOLDERS; i++)
		if (incident_path_of(i, file, path) && access(path, F_OK) == 0)
			return path;
	return NULL;
}

const char *incident_path(const char *arg)
{
	struct stat stat_of;
	const bool is_file = stat(arg, &stat_of) == 0 && !S_ISDIR(stat_of.st_mode);
	const char *path = is_file ? NULL : incident_find(arg);

	return path ? path : arg;
}

static int is_incident(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name), end = strlen(suffix);

	return length > end && strcmp(entry->d_name + length - end, suffix) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct dirent *const *)a)->d_name, (*(struct dirent *const *)b)->d_name);
}

int incident_each(void (*each)(void *owner, const char *name), void *owner)
{
	char path[PATH_MAX];
	struct dirent **entries = NULL;
	int count = -1;

	for (size_t i = 0; i < FOLDERS && count < 0; i++)
		count = incident_path_of(i, "", path) ? scandir(path, &entries, is_incident, NULL)
						      : -1;
	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++)
		entries[i]->d_name[strlen(entries[i]->d_name) - strlen(suffix)] = '\0';
	qsort(entries, (size_t)count, sizeof(struct dirent *), by_name);
	for (int i = 0; i < count; i++) {
		each(owner, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

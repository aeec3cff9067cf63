/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/incident.h"

#include "models/input/bad.h"
#include "tools/share.h"
#include "util/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct share_room room = {"incidents", "traces/incidents"};
static const char suffix[] = ".yaml";

const char *incident_find(const char *name)
{
	static char path[PATH_MAX];
	char file[NAME_MAX + 1];

	if (strpbrk(name, "/.") ||
	    snprintf(file, sizeof(file), "%s%s", name, suffix) >= (int)sizeof(file))
		return NULL;
	return share_find(&room, file, path) ? path : NULL;
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

	for (unsigned i = 0; i < SHARE_PLACES && count < 0; i++)
		count = share_path(&room, i, "", path) ? scandir(path, &entries, is_incident, NULL)
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

struct nearest {
	const char *to;
	uint32_t best;
	char name[NAME_MAX + 1];
};

static void note_nearer(void *owner, const char *name)
{
	struct nearest *nearest = owner;

	if (bad_is_nearer(nearest->to, name, &nearest->best))
		util_text(nearest->name, sizeof(nearest->name), "%s", name);
}

const char *incident_nearest(const char *name)
{
	static struct nearest nearest;

	nearest = (struct nearest){.to = name};
	if (strpbrk(name, "/.") || access(name, F_OK) == 0 ||
	    incident_each(note_nearer, &nearest) != 0)
		return NULL;
	return nearest.name[0] ? nearest.name : NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/series_file.h"

#include "tools/command.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = PATH_MAX + 32 };

static int refuse(const struct series_file *file, int error)
{
	command_say("%s/%s: %s", file->folder, file->name, strerror(error));
	return COMMAND_BROKEN;
}

int series_file_open(struct series_file *file, const char *folder, const char *name)
{
	char part[ROOM];

	*file = (struct series_file){.folder = folder, .name = name};
	snprintf(part, sizeof(part), "%s/%s.part", folder, name);
	file->file = fopen(part, "w");
	return file->file ? COMMAND_DONE : refuse(file, errno);
}

int series_file_close(struct series_file *file)
{
	char part[ROOM], path[ROOM];
	FILE *stream = file->file;
	int error = 0;

	if (!stream)
		return COMMAND_DONE;
	file->file = NULL;
	snprintf(part, sizeof(part), "%s/%s.part", file->folder, file->name);
	snprintf(path, sizeof(path), "%s/%s", file->folder, file->name);
	if (ferror(stream) || fflush(stream) != 0)
		error = errno ? errno : EIO;
	if (fclose(stream) != 0 && !error)
		error = errno;
	if (!error && rename(part, path) != 0)
		error = errno;
	if (error)
		unlink(path); /* of a run before this one */
	return error ? refuse(file, error) : COMMAND_DONE;
}

void series_file_fini(struct series_file *file)
{
	if (file->file)
		fclose(file->file);
	*file = (struct series_file){.folder = NULL};
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/folder.h"

#include "tools/command.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, int error)
{
	command_say("%s: %s", path, strerror(error));
	return COMMAND_BROKEN;
}

static int make(const char *path)
{
	struct stat stat_of;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	if (stat(path, &stat_of) != 0)
		return errno;
	return S_ISDIR(stat_of.st_mode) ? 0 : ENOTDIR;
}

static int make_all(char *path)
{
	int ret = 0;

	for (char *slash = strchr(path + 1, '/'); slash && !ret; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ret = make(path);
		*slash = '/';
	}
	return ret ? ret : make(path);
}

/* A scenario's name is not a way out of verbena-out. */
static void set_default(struct folder *folder, const char *name)
{
	int at = snprintf(folder->path, sizeof(folder->path), "verbena-out/");
	const int first = at;

	for (; *name && at < NAME_MAX + first; name++, at++)
		folder->path[at] = *name == '/' || (*name == '.' && at == first) ? '_' : *name;
	if (at == first)
		folder->path[at++] = '_';
	folder->path[at] = '\0';
}

int folder_open(struct folder *folder, const char *out, const char *name)
{
	int error;

	if (!out)
		set_default(folder, name);
	else if (snprintf(folder->path, sizeof(folder->path), "%s", out) >=
		 (int)sizeof(folder->path))
		return refuse(out, ENAMETOOLONG);
	error = make_all(folder->path);
	if (!error && access(folder->path, W_OK | X_OK) != 0)
		error = errno;
	return error ? refuse(folder->path, error) : COMMAND_DONE;
}

int folder_put(const struct folder *folder, const char *name, folder_write_fn *write,
	       const void *owner)
{
	char path[PATH_MAX + NAME_MAX], part[PATH_MAX + NAME_MAX + 8];
	int error = 0, ret;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	snprintf(part, sizeof(part), "%s.part", path);
	file = fopen(part, "w");
	if (!file)
		return refuse(path, errno);
	errno = 0;
	ret = write(file, owner);
	if (ret == -ENOMEM)
		error = ENOMEM;
	else if (ret || ferror(file) || fflush(file) != 0)
		error = errno ? errno : EIO;
	if (fclose(file) != 0 && !error)
		error = errno;
	if (!error && rename(part, path) != 0)
		error = errno;
	if (error) {
		unlink(part);
		unlink(path); /* of a run before this one */
	}
	return error ? refuse(path, error) : COMMAND_DONE;
}

int folder_drop(const struct folder *folder, const char *name)
{
	char path[PATH_MAX + NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	return unlink(path) == 0 || errno == ENOENT ? COMMAND_DONE : refuse(path, errno);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/folder.h"

#include "tools/command.h"
#include "tools/result/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int folder_refuse(const char *path, int error)
{
	command_say("%s: %s", path, strerror(error));
	return COMMAND_BROKEN;
}

static int folder_make(const char *path)
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
		ret = folder_make(path);
		*slash = '/';
	}
	return ret ? ret : folder_make(path);
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

/* For as long as the folder is open. */
static int lock(const struct folder *folder)
{
	unsigned pid;

	if (lock_take(folder->fd, &pid))
		return COMMAND_DONE;
	if (pid)
		command_say("%s: process %u is writing its results there", folder->path, pid);
	else
		command_say("%s: another run is writing its results there", folder->path);
	return COMMAND_BROKEN;
}

int folder_open(struct folder *folder, const char *out, const char *name)
{
	int error, ret;

	*folder = (struct folder){.fd = -1};
	if (!out)
		set_default(folder, name);
	else if (snprintf(folder->path, sizeof(folder->path), "%s", out) >=
		 (int)sizeof(folder->path))
		return folder_refuse(out, ENAMETOOLONG);
	error = make_all(folder->path);
	if (!error && access(folder->path, W_OK | X_OK) != 0)
		error = errno;
	if (!error) {
		folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = folder->fd < 0 ? errno : 0;
	}
	if (error)
		return folder_refuse(folder->path, error);
	folder->is_open = true;
	ret = lock(folder);
	if (ret)
		folder_close(folder);
	return ret;
}

void folder_close(struct folder *folder)
{
	if (!folder->is_open)
		return;
	lock_give_back(folder->fd);
	close(folder->fd);
	folder->is_open = false;
}

int folder_open_in(const struct folder *folder, const char *name, struct folder *ret_folder)
{
	*ret_folder = (struct folder){.fd = -1};
	if (snprintf(ret_folder->path, sizeof(ret_folder->path), "%s/%s", folder->path, name) >=
	    (int)sizeof(ret_folder->path))
		return folder_refuse(folder->path, ENAMETOOLONG);
	if (mkdirat(folder->fd, name, 0777) != 0 && errno != EEXIST)
		return folder_refuse(ret_folder->path, errno);
	ret_folder->fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret_folder->fd < 0)
		return folder_refuse(ret_folder->path, errno);
	ret_folder->is_open = true;
	return COMMAND_DONE;
}

/* @part: what failed to be opened or closed. */
static int refuse_in(const struct folder *folder, const char *name, const struct part *part,
		     int error)
{
	char path[PATH_MAX + NAME_MAX + 2];

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	part_say(part, path, error);
	return COMMAND_BROKEN;
}

int folder_begin(const struct folder *folder, const char *name, struct part *ret_part)
{
	const int ret = part_open(ret_part, folder->fd, name);

	return ret ? refuse_in(folder, name, ret_part, -ret) : COMMAND_DONE;
}

int folder_end(const struct folder *folder, struct part *part, bool is_good)
{
	const int ret = part_close(part, is_good);

	return ret ? refuse_in(folder, part->name, part, -ret) : COMMAND_DONE;
}

int folder_put(const struct folder *folder, const char *name, folder_write_fn *write,
	       const void *owner)
{
	struct part part;
	int ret = part_open(&part, folder->fd, name), error;

	if (!ret) {
		errno = 0;
		ret = write(part.file, owner);
		part_note(&part);
		if (ret && ret != -ENOMEM && errno)
			ret = -errno;
		error = part_close(&part, !ret);
		ret = ret ? ret : error;
	}
	return ret ? refuse_in(folder, name, &part, -ret) : COMMAND_DONE;
}

int folder_drop(const struct folder *folder, const char *name)
{
	const struct part part = {.trouble = PART_OF_FILE};
	const int ret = part_remove(folder->fd, name);

	return ret ? refuse_in(folder, name, &part, -ret) : COMMAND_DONE;
}

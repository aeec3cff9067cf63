/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/named.h"

#include "tools/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether @path, a link, is the system's, for what this process has open already, however its
 * folder is written. */
static bool is_of_system(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char text[PATH_MAX], folder[PATH_MAX];

	if (snprintf(text, sizeof(text), "%.*s.", (int)(name - path), path) >= (int)sizeof(text) ||
	    !realpath(text, folder))
		return false;
	return strncmp(folder, "/proc/", 6) == 0 ||
	       (strcmp(folder, "/dev") == 0 && strncmp(name, "std", 3) == 0);
}

/* What is at @path, behind a link, too. 0: nothing, or a link to a file, which is replaced unless
 * it is the system's. */
static mode_t mode_of(const char *path, bool *ret_is_of_system)
{
	struct stat stat_of;

	*ret_is_of_system = false;
	if (lstat(path, &stat_of) != 0)
		return 0;
	if (!S_ISLNK(stat_of.st_mode))
		return stat_of.st_mode & S_IFMT;
	*ret_is_of_system = is_of_system(path);
	if (stat(path, &stat_of) != 0 || (S_ISREG(stat_of.st_mode) && !*ret_is_of_system))
		return 0;
	return stat_of.st_mode & S_IFMT;
}

int named_check(const char *option, const char *path)
{
	bool is_open;
	const mode_t kind = mode_of(path, &is_open);
	const char *what = kind == S_IFIFO && !is_open ? "FIFO"
			   : kind == S_IFSOCK	       ? "socket"
			   : kind == S_IFBLK	       ? "block device"
						       : NULL;

	if (!what)
		return COMMAND_DONE;
	command_say("%s: found the %s %s, expected a file", option, what, path);
	return COMMAND_BAD;
}

static int named_refuse(const struct named *named, int error)
{
	part_say(&named->part, named->path, error);
	return COMMAND_BROKEN;
}

/* A pipe that nobody reads any more is no reason to wait. */
static int open_stream(struct named *named)
{
	const int fd = open(named->path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
	int error;

	named->is_stream = true;
	named->part.file = fd < 0 ? NULL : fdopen(fd, "w");
	if (named->part.file && fcntl(fd, F_SETFL, O_APPEND) == 0)
		return 0;
	error = errno;
	if (named->part.file)
		fclose(named->part.file);
	else if (fd >= 0)
		close(fd);
	named->part.file = NULL;
	return -error;
}

static int open_part(struct named *named, unsigned *ret_pid)
{
	const char *name;

	named->folder = part_folder_of(named->path, &name);
	if (named->folder < 0)
		return named->folder;
	return *name ? part_open_alone(&named->part, named->folder, name, ret_pid) : -EISDIR;
}

int named_open(struct named *named, const char *path)
{
	bool is_open;
	const mode_t kind = mode_of(path, &is_open);
	unsigned pid = 0;
	int ret = -EISDIR;

	*named = (struct named){.path = path, .folder = -1};
	if (is_open || kind == S_IFCHR)
		ret = open_stream(named);
	else if (kind != S_IFDIR)
		ret = open_part(named, &pid);
	named->file = named->part.file;
	if (ret == 0)
		return COMMAND_DONE;
	if (named->folder >= 0)
		close(named->folder);
	if (ret != -EWOULDBLOCK)
		return named_refuse(named, -ret);
	if (pid)
		command_say("%s: process %u is writing it", path, pid);
	else
		command_say("%s: another process is writing it", path);
	return COMMAND_BROKEN;
}

void named_note(struct named *named)
{
	part_note(&named->part);
}

int named_close(struct named *named, int error)
{
	int ret;

	if (!named->file)
		return COMMAND_DONE;
	named->file = NULL;
	ret = named->is_stream ? part_end(&named->part) : part_close(&named->part, error == 0);
	if (named->folder >= 0)
		close(named->folder);
	error = error ? error : -ret;
	return error ? named_refuse(named, error) : COMMAND_DONE;
}

void named_drop(struct named *named)
{
	if (!named->file)
		return;
	named->file = NULL;
	if (named->is_stream)
		part_end(&named->part);
	else
		part_drop(&named->part);
	if (named->folder >= 0)
		close(named->folder);
}

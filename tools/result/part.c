/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/part.h"

#include "tools/command.h"
#include "tools/result/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = NAME_MAX + 8 };

static const char *part_name_of(const char *name, char ret_part[ROOM])
{
	snprintf(ret_part, ROOM, "%s.part", name);
	return ret_part;
}

static int unlink_at(int folder, const char *name)
{
	return unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

static int part_begin(struct part *part, int folder, const char *name)
{
	*part = (struct part){.folder = folder};
	if (strlen(name) >= sizeof(part->name))
		return -ENAMETOOLONG;
	memcpy(part->name, name, strlen(name) + 1);
	return 0;
}

/* Opening has failed with @ret. */
static int part_refuse(struct part *part, const char *temporary, int ret)
{
	struct stat stat_of;

	if (fstatat(part->folder, temporary, &stat_of, AT_SYMLINK_NOFOLLOW) == 0)
		part->trouble = PART_OF_FOREIGN;
	return ret;
}

int part_open(struct part *part, int folder, const char *name)
{
	char temporary[ROOM];
	int ret = part_begin(part, folder, name), fd;

	if (ret)
		return ret;
	ret = unlink_at(folder, part_name_of(name, temporary));
	if (ret)
		return part_refuse(part, temporary, ret);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return part_refuse(part, temporary, -errno);
	part->file = fdopen(fd, "w");
	if (part->file)
		return 0;
	ret = -errno;
	close(fd);
	unlink_at(folder, temporary);
	return ret;
}

/* A file that nobody has under another name. */
static bool has_one_name(const struct stat *stat_of)
{
	return S_ISREG(stat_of->st_mode) && stat_of->st_nlink == 1;
}

/* Whether the name still leads to what is open as @fd, *ret_opened. */
static bool part_is_named(int folder, const char *temporary, int fd, struct stat *ret_opened)
{
	struct stat named;

	return fstat(fd, ret_opened) == 0 &&
	       fstatat(folder, temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == ret_opened->st_ino && named.st_dev == ret_opened->st_dev;
}

/* Makes what is open as @fd this process's own, and empty. What another process is writing stays as
 * it is, however many names somebody gave it; what nobody is and has more than one is another file,
 * too. Negative errno; -ESTALE: it has gone. */
static int take(int folder, const char *temporary, int fd, unsigned *ret_pid)
{
	struct stat opened;
	int ret;

	if (!lock_take(fd, ret_pid))
		return -EWOULDBLOCK;
	if (!part_is_named(folder, temporary, fd, &opened))
		return -ESTALE;
	if (!has_one_name(&opened)) {
		ret = unlink_at(folder, temporary);
		return ret ? ret : -ESTALE;
	}
	return ftruncate(fd, 0) == 0 ? 0 : -errno;
}

/* The file descriptor, or as take(). A link or a FIFO is no file that somebody writes. */
static int open_locked(int folder, const char *temporary, unsigned *ret_pid)
{
	const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct stat named;
	int fd, ret = 0;

	if (fstatat(folder, temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(named.st_mode))
		ret = unlink_at(folder, temporary);
	if (ret)
		return ret;
	fd = openat(folder, temporary, flags, 0666);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -ESTALE : -errno;
	ret = take(folder, temporary, fd, ret_pid);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int part_open_alone(struct part *part, int folder, const char *name, unsigned *ret_pid)
{
	enum { TRIES = 100 }; /* at a name that somebody changes all the time */
	char temporary[ROOM];
	int ret = part_begin(part, folder, name), fd = -ESTALE;

	*ret_pid = 0;
	if (ret)
		return ret;
	part_name_of(name, temporary);
	for (int i = 0; i < TRIES && fd == -ESTALE; i++)
		fd = open_locked(folder, temporary, ret_pid);
	if (fd < 0)
		return part_refuse(part, temporary, fd);
	part->lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	part->file = part->lock_fd < 0 ? NULL : fdopen(fd, "w");
	if (part->file) {
		part->is_alone = true;
		return 0;
	}
	ret = -errno;
	if (part->lock_fd >= 0)
		close(part->lock_fd);
	unlink_at(folder, temporary);
	close(fd);
	return ret;
}

int part_folder_of(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
		     slash ? path : ".") >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void part_note(struct part *part)
{
	if (part->file && !part->error && ferror(part->file))
		part->error = errno ? errno : EIO;
}

int part_end(struct part *part)
{
	FILE *file = part->file;
	int error;

	part->file = NULL;
	errno = 0;
	if (fflush(file) != 0 && !part->error)
		part->error = errno;
	error = part->error ? part->error : ferror(file) ? EIO : 0;
	if (fclose(file) != 0 && !error)
		error = errno;
	return -error;
}

/* Others may have the names from now on. */
static void let_go(struct part *part)
{
	if (!part->is_alone)
		return;
	part->is_alone = false;
	lock_give_back(part->lock_fd);
	close(part->lock_fd);
}

/* Somebody may have removed it, and another run may have made its own since. */
static bool part_is_ours(const struct part *part, const char *temporary)
{
	struct stat opened;

	return !part->is_alone || part_is_named(part->folder, temporary, part->lock_fd, &opened);
}

/* What was written gets its name or, where it is not whole, goes, and the one from before with it.
 */
static int settle(struct part *part, const char *temporary, bool is_good)
{
	int ret = 0;

	if (is_good && renameat(part->folder, temporary, part->folder, part->name) != 0)
		ret = -errno;
	if (ret && ret != -ENOENT) {
		part->trouble = PART_IS_KEPT;
	} else if (ret || !is_good) {
		unlink_at(part->folder, temporary);
		unlink_at(part->folder, part->name);
	}
	return ret;
}

int part_close(struct part *part, bool is_good)
{
	char temporary[ROOM];
	int ret, error;

	if (!part->file)
		return 0;
	ret = part_end(part);
	if (part_is_ours(part, part_name_of(part->name, temporary))) {
		error = settle(part, temporary, is_good && !ret);
	} else {
		part->trouble = PART_IS_LOST;
		error = -ESTALE;
	}
	let_go(part);
	return ret ? ret : error;
}

void part_drop(struct part *part)
{
	char temporary[ROOM];

	part_end(part);
	if (part_is_ours(part, part_name_of(part->name, temporary)))
		unlink_at(part->folder, temporary);
	let_go(part);
}

void part_say(const struct part *part, const char *path, int error)
{
	switch (part->trouble) {
	case PART_OF_FILE:
		command_say("%s: %s", path, strerror(error));
		break;
	case PART_OF_FOREIGN:
		command_say("%s.part: %s", path, strerror(error));
		break;
	case PART_IS_LOST:
		command_say("%s: somebody has removed %s.part", path, path);
		break;
	case PART_IS_KEPT:
		command_say("%s: %s; what was to be there is in %s.part", path, strerror(error),
			    path);
		break;
	}
}

int part_remove(int folder, const char *name)
{
	char temporary[ROOM];
	const int ret = unlink_at(folder, part_name_of(name, temporary));
	const int whole = unlink_at(folder, name);

	return whole ? whole : ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/part.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

int part_open(struct part *part, int folder, const char *name)
{
	char temporary[ROOM];
	int fd, ret;

	*part = (struct part){.folder = folder};
	if (strlen(name) >= sizeof(part->name))
		return -ENAMETOOLONG;
	memcpy(part->name, name, strlen(name) + 1);
	ret = unlink_at(folder, part_name_of(name, temporary));
	if (ret)
		return ret;
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	part->file = fdopen(fd, "w");
	if (part->file)
		return 0;
	ret = -errno;
	close(fd);
	unlink_at(folder, temporary);
	return ret;
}

int part_close(struct part *part, bool is_good)
{
	FILE *file = part->file;
	char temporary[ROOM];
	int error = 0;

	if (!file)
		return 0;
	part->file = NULL;
	errno = 0;
	if (ferror(file) || fflush(file) != 0)
		error = errno ? errno : EIO;
	if (fclose(file) != 0 && !error)
		error = errno;
	part_name_of(part->name, temporary);
	if (is_good && !error && renameat(part->folder, temporary, part->folder, part->name) != 0)
		error = errno;
	if (error || !is_good) {
		unlink_at(part->folder, temporary);
		unlink_at(part->folder, part->name);
	}
	return -error;
}

int part_remove(int folder, const char *name)
{
	char temporary[ROOM];
	const int ret = unlink_at(folder, part_name_of(name, temporary));
	const int whole = unlink_at(folder, name);

	return whole ? whole : ret;
}

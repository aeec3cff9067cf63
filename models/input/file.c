/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/file.h"

#include "util/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 20 };

static const char *reason(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "no such file";
	case EACCES:
	case EPERM:
		return "a file that may not be read";
	case EISDIR:
		return "a folder";
	default:
		return "a file that cannot be read";
	}
}

/* 0, an errno, or -ENOMEM. */
static int file_fill(int fd, char **bytes, size_t *length)
{
	size_t room = 1 << 16;

	*bytes = util_alloc(room);
	*length = 0;
	for (;;) {
		char *bigger;
		ssize_t n;

		if (!*bytes)
			return -ENOMEM;
		n = read(fd, *bytes + *length, room - *length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		*length += (size_t)n;
		if (n == 0 || *length > FILE_BYTES_MAX)
			return 0;
		if (*length < room)
			continue;
		room *= 2;
		bigger = util_realloc(*bytes, room, 1);
		if (!bigger)
			return -ENOMEM;
		*bytes = bigger;
	}
}

int read_file_bytes(const char *path, char **ret_bytes, size_t *ret_length)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;
	size_t length = 0;
	int ret;

	if (fd < 0)
		return errno;
	ret = file_fill(fd, &bytes, &length);
	close(fd);
	if (ret) {
		util_free(bytes);
		return ret;
	}
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

int read_file(const struct read_source *source, const char *path, const struct bad_at *at,
	      const char *key, char **ret_bytes, size_t *ret_length, struct bad_list *errors)
{
	struct bad_text found, quoted;
	struct bad_at whole = *at;
	const int ret = source ? source->read(source->owner, path, ret_bytes, ret_length)
			       : read_file_bytes(path, ret_bytes, ret_length);

	if (ret == 0 || ret == -ENOMEM)
		return ret;
	if (strcmp(at->file, path) == 0) /* nothing in it was read */
		whole.line = 0;
	bad_quote(&quoted, path, strlen(path));
	bad(errors, &whole, key, bad_text(&found, "%s: %s", reason(ret), quoted.text),
	    "a file that can be read");
	return -EINVAL;
}

char *read_file_beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	const size_t folder = slash && path[0] != '/' ? (size_t)(slash - file) + 1 : 0;
	const size_t bytes = strlen(path) + 1;
	char *joined = util_alloc(folder + bytes);

	if (!joined)
		return NULL;
	memcpy(joined, file, folder);
	memcpy(joined + folder, path, bytes);
	return joined;
}

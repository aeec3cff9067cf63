/* SPDX-License-Identifier: BSD-2-Clause */

/* Files under /sys and /dev by which programs know RDMA devices, for a process whose devices are
 * Verbena's: the calls of libc that take paths, in front of libc's own, look for them under the
 * folder that VERBENA_TREE names (verbena exec makes it: transport/nic/sysfs.h), and for all others
 * where they are. Without VERBENA_TREE nothing is another file.
 *
 * What libc itself opens on behalf of such a call, as scandir() does, is not heard here: so each
 * call has its path changed on its way in. Calls of the kernel by number are not heard either. */
#undef _FILE_OFFSET_BITS /* or open() would be open64() */
#include "transport/dropin/cdev.h"
#include "transport/dropin/counter.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Each is the path itself and what is below it. */
static const char *const places[] = {
	"/sys/class/infiniband",    "/sys/class/infiniband_verbs", "/sys/class/infiniband_mad",
	"/sys/class/infiniband_cm", "/sys/class/misc/rdma_cm",	   "/sys/devices/pci5645:00",
	"/dev/infiniband",
};
/* What begins like that. */
static const char bus[] = "/sys/bus/pci/devices/5645:00:";

const char *paths_tree(void)
{
	static const char *root;
	static bool is_read;

	if (!__atomic_load_n(&is_read, __ATOMIC_ACQUIRE)) {
		root = getenv("VERBENA_TREE");
		if (root && root[0] != '/')
			root = NULL;
		__atomic_store_n(&is_read, true, __ATOMIC_RELEASE);
	}
	return root;
}

static bool is_redirected(const char *path)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const size_t length = strlen(places[i]);

		if (strncmp(path, places[i], length) == 0 &&
		    (path[length] == '\0' || path[length] == '/'))
			return true;
	}
	return strncmp(path, bus, sizeof(bus) - 1) == 0;
}

/* Where @path is: itself, or in @room. */
static const char *placed(const char *path, char room[PATH_MAX])
{
	const char *root = path && path[0] == '/' ? paths_tree() : NULL;

	if (!root || !is_redirected(path) ||
	    snprintf(room, PATH_MAX, "%s%s", root, path) >= PATH_MAX)
		return path;
	return room;
}

/* The other way: what a program may know of where a file of the tree is. */
static void shown(char *path)
{
	const char *root = paths_tree();
	const size_t length = root ? strlen(root) : 0;

	if (root && strncmp(path, root, length) == 0 && path[length] == '/')
		memmove(path, path + length, strlen(path + length) + 1);
}

/* A descriptor of what is no file of the tree, though its path is one's; -1 and 0: there is none.
 */
static int open_special(const char *path, int flags, bool *ret_is_special)
{
	struct counter counter;
	int fd = -1;

	*ret_is_special = path && path[0] == '/' && paths_tree() && cdev_is(path);
	if (*ret_is_special)
		return cdev_open(flags);
	if (path && path[0] == '/' && counter_is(path, flags, &counter))
		fd = counter_open(&counter, flags);
	*ret_is_special = fd >= 0;
	return fd;
}

#pragma GCC visibility push(default)

/* ---- open ---- */

#define FAILED -1

typedef int open_fn(const char *path, int flags, ...);
typedef int openat_fn(int dir, const char *path, int flags, ...);

/* The third argument is there where a file may be made. */
static mode_t open_mode(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(args, int) : 0;
}

#define OPEN(function)                                                                             \
	int function(const char *path, int flags, ...);                                            \
	int function(const char *path, int flags, ...)                                             \
	{                                                                                          \
		NEXT(open_fn *, #function)                                                         \
		char room[PATH_MAX];                                                               \
		bool is_special;                                                                   \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
		int fd;                                                                            \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = open_mode(flags, args);                                                     \
		va_end(args);                                                                      \
		fd = open_special(path, flags, &is_special);                                       \
		if (is_special)                                                                    \
			return fd;                                                                 \
		return next(placed(path, room), flags, mode);                                      \
	}
#define OPENAT(function)                                                                           \
	int function(int dir, const char *path, int flags, ...);                                   \
	int function(int dir, const char *path, int flags, ...)                                    \
	{                                                                                          \
		NEXT(openat_fn *, #function)                                                       \
		char room[PATH_MAX];                                                               \
		bool is_special;                                                                   \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
		int fd;                                                                            \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = open_mode(flags, args);                                                     \
		va_end(args);                                                                      \
		fd = open_special(path, flags, &is_special);                                       \
		if (is_special)                                                                    \
			return fd;                                                                 \
		return next(dir, placed(path, room), flags, mode);                                 \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What _FORTIFY_SOURCE makes of them. */
#define OPEN_2(function)                                                                           \
	int function(const char *path, int flags);                                                 \
	int function(const char *path, int flags)                                                  \
	{                                                                                          \
		typedef int fn(const char *path, int flags);                                       \
		NEXT(fn *, #function)                                                              \
		char room[PATH_MAX];                                                               \
		bool is_special;                                                                   \
		int fd;                                                                            \
                                                                                                   \
		fd = open_special(path, flags, &is_special);                                       \
		if (is_special)                                                                    \
			return fd;                                                                 \
		return next(placed(path, room), flags);                                            \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)

/* ---- stat, access ---- */

#define STAT(function, type)                                                                       \
	int function(const char *path, struct type *buf);                                          \
	int function(const char *path, struct type *buf)                                           \
	{                                                                                          \
		typedef int fn(const char *path, struct type *buf);                                \
		NEXT(fn *, #function)                                                              \
		char room[PATH_MAX];                                                               \
                                                                                                   \
		return next(placed(path, room), buf);                                              \
	}
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

#define STATAT(function, type)                                                                     \
	int function(int dir, const char *path, struct type *buf, int flags);                      \
	int function(int dir, const char *path, struct type *buf, int flags)                       \
	{                                                                                          \
		typedef int fn(int dir, const char *path, struct type *buf, int flags);            \
		NEXT(fn *, #function)                                                              \
		char room[PATH_MAX];                                                               \
                                                                                                   \
		return next(dir, placed(path, room), buf, flags);                                  \
	}
STATAT(fstatat, stat)
STATAT(fstatat64, stat64)

/* Of programs that were linked against a glibc before 2.33. */
#define XSTAT(function, type)                                                                      \
	int function(int version, const char *path, struct type *buf);                             \
	int function(int version, const char *path, struct type *buf)                              \
	{                                                                                          \
		typedef int fn(int version, const char *path, struct type *buf);                   \
		NEXT(fn *, #function)                                                              \
		char room[PATH_MAX];                                                               \
                                                                                                   \
		return next(version, placed(path, room), buf);                                     \
	}
XSTAT(__xstat, stat)
XSTAT(__lxstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat64, stat64)

int statx(int dir, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict buf)
{
	typedef int fn(int dir, const char *path, int flags, unsigned int mask, struct statx *buf);
	NEXT(fn *, "statx")
	char room[PATH_MAX];

	return next(dir, placed(path, room), flags, mask, buf);
}

int access(const char *path, int mode)
{
	typedef int fn(const char *path, int mode);
	NEXT(fn *, "access")
	char room[PATH_MAX];

	return next(placed(path, room), mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	typedef int fn(int dir, const char *path, int mode, int flags);
	NEXT(fn *, "faccessat")
	char room[PATH_MAX];

	return next(dir, placed(path, room), mode, flags);
}

ssize_t readlink(const char *restrict path, char *restrict buf, size_t size)
{
	typedef ssize_t fn(const char *path, char *buf, size_t size);
	NEXT(fn *, "readlink")
	char room[PATH_MAX];

	return next(placed(path, room), buf, size);
}

ssize_t readlinkat(int dir, const char *restrict path, char *restrict buf, size_t size)
{
	typedef ssize_t fn(int dir, const char *path, char *buf, size_t size);
	NEXT(fn *, "readlinkat")
	char room[PATH_MAX];

	return next(dir, placed(path, room), buf, size);
}

ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room_bytes);
ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room_bytes)
{
	typedef ssize_t fn(const char *path, char *buf, size_t size, size_t room_bytes);
	NEXT(fn *, "__readlink_chk")
	char room[PATH_MAX];

	return next(placed(path, room), buf, size, room_bytes);
}

/* What "ls -l" asks for. */
#define XATTR(function)                                                                            \
	ssize_t function(const char *path, const char *name, void *value, size_t size)             \
	{                                                                                          \
		typedef ssize_t fn(const char *path, const char *name, void *value, size_t size);  \
		NEXT(fn *, #function)                                                              \
		char room[PATH_MAX];                                                               \
                                                                                                   \
		return next(placed(path, room), name, value, size);                                \
	}
XATTR(getxattr)
XATTR(lgetxattr)

int scandir(const char *restrict path, struct dirent ***restrict list,
	    int (*filter)(const struct dirent *entry),
	    int (*compare)(const struct dirent **a, const struct dirent **b))
{
	typedef int fn(const char *path, struct dirent ***list,
		       int (*filter)(const struct dirent *entry),
		       int (*compare)(const struct dirent **a, const struct dirent **b));
	NEXT(fn *, "scandir")
	char room[PATH_MAX];

	return next(placed(path, room), list, filter, compare);
}

#undef FAILED
#define FAILED GLOB_NOSYS

/* The paths that it finds are those of the tree. */
int glob(const char *restrict pattern, int flags, int (*on_error)(const char *path, int error),
	 glob_t *restrict ret_glob)
{
	typedef int fn(const char *pattern, int flags, int (*on_error)(const char *path, int error),
		       glob_t *ret_glob);
	NEXT(fn *, "glob")
	char room[PATH_MAX];
	const size_t before = flags & GLOB_APPEND ? ret_glob->gl_pathc : 0;
	const int ret = next(placed(pattern, room), flags, on_error, ret_glob);

	for (size_t i = before; ret == 0 && i < ret_glob->gl_pathc; i++)
		shown(ret_glob->gl_pathv[i + (flags & GLOB_DOOFFS ? ret_glob->gl_offs : 0)]);
	return ret;
}

/* ---- what gives pointers ---- */

#undef FAILED
#define FAILED NULL

static FILE *fopen_counter(const char *path, const char *mode)
{
	struct counter counter;
	FILE *file = NULL;
	int fd;

	if (!path || path[0] != '/' || mode[0] != 'r' || strchr(mode, '+') ||
	    !counter_is(path, O_RDONLY, &counter))
		return NULL;
	fd = counter_open(&counter, strchr(mode, 'e') ? O_CLOEXEC : 0);
	if (fd >= 0)
		file = fdopen(fd, mode);
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
	typedef FILE *fn(const char *path, const char *mode);
	NEXT(fn *, "fopen")
	char room[PATH_MAX];
	FILE *counter = fopen_counter(path, mode);

	if (counter)
		return counter;
	return next(placed(path, room), mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	typedef FILE *fn(const char *path, const char *mode);
	NEXT(fn *, "fopen64")
	char room[PATH_MAX];
	FILE *counter = fopen_counter(path, mode);

	if (counter)
		return counter;
	return next(placed(path, room), mode);
}

DIR *opendir(const char *path)
{
	typedef DIR *fn(const char *path);
	NEXT(fn *, "opendir")
	char room[PATH_MAX];

	return next(placed(path, room));
}

char *realpath(const char *restrict path, char *restrict ret_path)
{
	typedef char *fn(const char *path, char *ret_path);
	NEXT(fn *, "realpath")
	char room[PATH_MAX];
	char *resolved = next(placed(path, room), ret_path);

	if (resolved)
		shown(resolved);
	return resolved;
}

char *__realpath_chk(const char *path, char *ret_path, size_t room_bytes);
char *__realpath_chk(const char *path, char *ret_path, size_t room_bytes)
{
	typedef char *fn(const char *path, char *ret_path, size_t room_bytes);
	NEXT(fn *, "__realpath_chk")
	char room[PATH_MAX];
	char *resolved = next(placed(path, room), ret_path, room_bytes);

	if (resolved)
		shown(resolved);
	return resolved;
}

char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

#pragma GCC visibility pop

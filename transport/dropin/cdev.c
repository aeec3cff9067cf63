/* SPDX-License-Identifier: BSD-2-Clause */
#undef _FILE_OFFSET_BITS /* or fstat() would be fstat64() */
#include "transport/dropin/cdev.h"

#include "transport/nic/ucma.h"

#include <linux/netlink.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	FILES = 65536,	  /* descriptors from here on are nobody's */
	MISC_MAJOR = 10,  /* linux: Documentation/admin-guide/devices.txt */
	MISC_MINOR = 255, /* one that is chosen at run time */
};

/* A bit a descriptor. */
static uint64_t ours[FILES / 64];
static uint32_t ours_count;

static bool cdev_is_ours(int fd)
{
	return __atomic_load_n(&ours_count, __ATOMIC_ACQUIRE) != 0 && fd >= 0 && fd < FILES &&
	       (__atomic_load_n(&ours[fd / 64], __ATOMIC_ACQUIRE) >> fd % 64 & 1) != 0;
}

static const struct nic_ucma *ucma(void)
{
	typedef const struct nic_ucma *fn(void);
	void *found = dlsym(RTLD_DEFAULT, NIC_UCMA_SYMBOL);
	const struct nic_ucma *ops;
	fn *function;

	if (!found)
		return NULL;
	memcpy(&function, &found, sizeof(found));
	ops = function();
	return ops->bytes == sizeof(*ops) ? ops : NULL;
}

bool cdev_is(const char *path)
{
	return strcmp(path, "/dev/infiniband/rdma_cm") == 0;
}

int cdev_open(int flags)
{
	const struct nic_ucma *ops = ucma();
	int fd;

	if (!ops) {
		errno = ENODEV;
		return -1;
	}
	fd = ops->open(flags);
	if (fd >= 0) {
		__atomic_fetch_or(&ours[fd / 64], (uint64_t)1 << fd % 64, __ATOMIC_RELEASE);
		__atomic_fetch_add(&ours_count, 1, __ATOMIC_RELEASE);
	}
	return fd;
}

#pragma GCC visibility push(default)
#define FAILED -1

ssize_t write(int fd, const void *bytes, size_t count)
{
	typedef ssize_t fn(int fd, const void *bytes, size_t count);
	NEXT(fn *, "write")

	return __builtin_expect(cdev_is_ours(fd), 0) ? ucma()->write(fd, bytes, count)
						     : next(fd, bytes, count);
}

int close(int fd)
{
	typedef int fn(int fd);
	NEXT(fn *, "close")

	if (__builtin_expect(!cdev_is_ours(fd), 1))
		return next(fd);
	ucma()->await_asker(fd);
	__atomic_fetch_and(&ours[fd / 64], ~((uint64_t)1 << fd % 64), __ATOMIC_RELEASE);
	__atomic_fetch_sub(&ours_count, 1, __ATOMIC_RELEASE);
	return ucma()->close(fd);
}

/* Who opens a device looks whether it got one. */
#define FSTAT(function, type)                                                                      \
	int function(int fd, struct type *buf);                                                    \
	int function(int fd, struct type *buf)                                                     \
	{                                                                                          \
		typedef int fn(int fd, struct type *buf);                                          \
		NEXT(fn *, #function)                                                              \
		const int ret = next(fd, buf);                                                     \
                                                                                                   \
		if (ret == 0 && cdev_is_ours(fd)) {                                                \
			buf->st_mode = S_IFCHR | 0666;                                             \
			buf->st_rdev = makedev(MISC_MAJOR, MISC_MINOR);                            \
		}                                                                                  \
		return ret;                                                                        \
	}
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

/* Of programs that were linked against a glibc before 2.33. */
#define FXSTAT(function, type)                                                                     \
	int function(int version, int fd, struct type *buf);                                       \
	int function(int version, int fd, struct type *buf)                                        \
	{                                                                                          \
		typedef int fn(int version, int fd, struct type *buf);                             \
		NEXT(fn *, #function)                                                              \
		const int ret = next(version, fd, buf);                                            \
                                                                                                   \
		if (ret == 0 && cdev_is_ours(fd)) {                                                \
			buf->st_mode = S_IFCHR | 0666;                                             \
			buf->st_rdev = makedev(MISC_MAJOR, MISC_MINOR);                            \
		}                                                                                  \
		return ret;                                                                        \
	}
FXSTAT(__fxstat, stat)
FXSTAT(__fxstat64, stat64)

/* A kernel with RDMA would speak of its own devices there; without it there is none, either. */
int socket(int family, int type, int protocol)
{
	typedef int fn(int family, int type, int protocol);
	NEXT(fn *, "socket")

	if (family == AF_NETLINK && protocol == NETLINK_RDMA && paths_tree()) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return next(family, type, protocol);
}

#pragma GCC visibility pop

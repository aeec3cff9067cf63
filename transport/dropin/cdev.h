/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DROPIN_CDEV_H
#define DROPIN_CDEV_H

/* /dev/infiniband/rdma_cm, for a process whose devices are Verbena's: its descriptor is an eventfd
 * of the drop-in libibverbs.so.1 (transport/nic/ucma.h), and write(), close() and fstat() in front
 * of libc's own see to it. Descriptors that dup() makes of it are eventfds, too, but nothing more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Whether open() with this path, where VERBENA_TREE is set, is for cdev_open(). */
bool cdev_is(const char *path);
int cdev_open(int flags);

/* Whether files of Verbena's are in the place of others: VERBENA_TREE (paths.c). */
const char *paths_tree(void);

/* The libc's own function of the name of the calling one; where there is none, the caller returns
 * FAILED. */
#define NEXT(type, name)                                                                           \
	static type next;                                                                          \
	if (!__atomic_load_n(&next, __ATOMIC_RELAXED)) {                                           \
		void *found = dlsym(RTLD_NEXT, name);                                              \
		type as_function;                                                                  \
                                                                                                   \
		if (!found) {                                                                      \
			errno = ENOSYS;                                                            \
			return FAILED;                                                             \
		}                                                                                  \
		memcpy(&as_function, &found, sizeof(found)); /* POSIX: a function fits */          \
		__atomic_store_n(&next, as_function, __ATOMIC_RELAXED);                            \
	}

#endif

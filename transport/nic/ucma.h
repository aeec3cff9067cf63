/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_UCMA_H
#define NIC_UCMA_H

/* /dev/infiniband/rdma_cm of this process: a descriptor that can be polled (an eventfd), and
 * commands that are written to it and that transport/cm answers, over the first device that the
 * process has. The device has its address while a file is open.
 *
 * For libverbena-paths.so, which finds it in the drop-in libibverbs.so.1 by name; so everything is
 * in one structure. Any thread, any time. */
#include <stddef.h>
#include <sys/types.h>

#define NIC_UCMA_SYMBOL "verbena_rdma_cm"

struct nic_ucma {
	size_t bytes; /* of this structure */
	/* As open(2) with @flags, write(2) and close(2) of what it gave: -1 and errno. */
	int (*open)(int flags);
	ssize_t (*write)(int fd, const void *command, size_t bytes);
	int (*close)(int fd);
	/* Before close(), and before its caller forgets the file. */
	void (*await_asker)(int fd);
	void (*publish)(void); /* nic_world_publish(), for files of counters */
};

extern const struct nic_ucma nic_ucma;

#endif

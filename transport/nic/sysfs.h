/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SYSFS_H
#define NIC_SYSFS_H

/* What a kernel shows of an RDMA device under /sys and /dev, as files in a folder: UCX, NCCL,
 * libibverbs' own tools and the pyverbs suite look there, and not only at verbs. The layout is that
 * of Documentation/ABI/stable/sysfs-class-infiniband; the adapter hangs on a PCI bus of a domain of
 * its own, 5645, so that no real device has its place. */
#include "transport/nic/nic.h"

/* The devices that @params make, under their names in transport/nic/world.c, and the file of their
 * counts (transport/nic/counters.h) into the folder @root, which is there and empty. 0 or -errno;
 * what was made stays. */
int nic_sysfs_write(const struct nic_params *params, const char *root);

#endif

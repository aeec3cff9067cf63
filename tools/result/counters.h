/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COUNTERS_H
#define TOOLS_COUNTERS_H

/* Counters under the names that people know from real machines. counters.json is an array in the
 * shape of "rdma -j statistic": an object for each port, with ifindex, ifname and port, of hosts
 * first. A host's port has the hw_counters of mlx5 (linux drivers/infiniband/hw/mlx5/counters.c)
 * and those of "ethtool -S" (Documentation/networking/device_drivers/ethernet/mellanox/mlx5/
 * counters.rst); one of a switch the latter, and "link", the name of its link.
 *
 * What the names mean here: bytes are those of frames with FCS, without preamble and gap. rx_*_phy
 * is what the other end has sent, less what faults took away. *_prioN_pause counts PFC frames that
 * pause, *_pause_transition those that let go; rx_ are those that came from the other end.
 * *_pause_duration is in microseconds. tx_prioN_ecn_marked is not known elsewhere: marks on the way
 * out. Priorities that nobody has used in the whole run are left out. */
#include "tools/result/result.h"

#include <stdio.h>

int counters_write(const struct result *result, FILE *file); /* -ENOMEM, -EIO */

/* The groups that "verbena stat" knows: whether @name is a counter of the adapter. The others but
 * ifindex, ifname, port and link are of the port. */
bool counters_is_hw(const char *name);
bool counters_is_name(const char *name); /* ifindex, ifname, port, link */

#endif

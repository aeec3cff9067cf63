/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_LINK_RING_H
#define NIC_LINK_RING_H

/* How large the rings of link_uring.c are: nic_link_uring_open() takes what is right for batches of
 * the loop, tests what is not. */
#include "transport/nic/link.h"

struct nic_ring_sizes {
	uint32_t buffers;     /* that datagrams come in: a power of two */
	uint32_t completions; /* that have room: a power of two, at least 2 */
};

int nic_link_ring_open(const struct nic_link_params *params, const struct nic_ring_sizes *sizes,
		       struct nic_link **ret_link);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/* The one name of the drop-in that no libibverbs has: what libverbena-paths.so opens in the place
 * of /dev/infiniband/rdma_cm. */
#include "transport/nic/ucma.h"

#pragma GCC visibility push(default)
const struct nic_ucma *verbena_rdma_cm(void);
#pragma GCC visibility pop

const struct nic_ucma *verbena_rdma_cm(void)
{
	return &nic_ucma;
}

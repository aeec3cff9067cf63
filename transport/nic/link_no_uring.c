/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of link_uring.c where liburing was missing when this was built. */
#include "transport/nic/link.h"

#include <errno.h>

int nic_link_uring_open(const struct nic_link_params *params, struct nic_link **ret_link)
{
	(void)params, (void)ret_link;
	return -ENOSYS;
}

int nic_link_uring_check(void)
{
	return -ENOSYS;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of multicast that a host's queue pairs are in. */
#include "transport/wire/mcast.h"
#include "models/machine/host.h"

#include <errno.h>
#include <string.h>

void host_mcast_ip(const struct host *host, const uint8_t gid[16], uint8_t ret_ip[16])
{
	if (host->table->ipv6)
		memmove(ret_ip, gid, 16);
	else
		wire_mcast_ipv4(gid, ret_ip);
}

int host_hear_mcast(struct host *host, bool hears)
{
	if (hears && host->groups == host->table->mcast_max)
		return -ENOSPC;
	host->groups += hears ? 1 : -1u;
	host->in_groups = host->groups > 0;
	return 0;
}

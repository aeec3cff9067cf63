/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_HOST_INDEX_H
#define TOOLS_HOST_INDEX_H

/* Which host has which address in the fabric, as packets carry it. */
#include "models/fabric/fabric.h"

struct host_index { /* zeroed: of no fabric */
	struct host_address {
		uint32_t address, host;
	} * addresses; /* ascending */
	uint32_t count;
};

/* Of a fabric that is built. -ENOMEM. */
int host_index_init(struct host_index *index, const struct fabric *fabric);
void host_index_fini(struct host_index *index); /* zeroed: allowed */
#define HOST_INDEX_MCAST UINT32_MAX

/* Its position in the host table; @address is that of a host, or multicast: HOST_INDEX_MCAST. From
 * any thread. */
uint32_t host_index_find(const struct host_index *index, uint32_t address);
/* What whoever is at that position is called; "multicast" for HOST_INDEX_MCAST. */
const char *host_index_name(const struct fabric *fabric, uint32_t host);
/* Whom the path of a frame with that destination is asked of: multicast says itself where it goes.
 */
const struct host *host_index_receiver(const struct fabric *fabric, uint32_t host);

#endif

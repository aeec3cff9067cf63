/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/host_index.h"

#include "sim/route.h"

#include <errno.h>
#include <stdlib.h>

static int compare_addresses(const void *a, const void *b)
{
	const struct host_address *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

int host_index_init(struct host_index *index, const struct fabric *fabric)
{
	index->addresses = calloc((size_t)fabric->host_count + 1, sizeof(*index->addresses));
	if (!index->addresses)
		return -ENOMEM;
	index->count = fabric->host_count;
	for (uint32_t i = 0; i < index->count; i++)
		index->addresses[i] = (struct host_address){fabric->table.hosts[i]->address, i};
	qsort(index->addresses, index->count, sizeof(*index->addresses), compare_addresses);
	return 0;
}

void host_index_fini(struct host_index *index)
{
	free(index->addresses);
	*index = (struct host_index){.addresses = NULL};
}

uint32_t host_index_find(const struct host_index *index, uint32_t address)
{
	uint32_t low = 0, high = index->count;

	if (sim_address_is_mcast(address))
		return HOST_INDEX_MCAST;
	while (high - low > 1) {
		const uint32_t middle = (low + high) / 2;

		if (index->addresses[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return index->addresses[low].host;
}

const char *host_index_name(const struct fabric *fabric, uint32_t host)
{
	return host == HOST_INDEX_MCAST ? "multicast" : fabric->table.hosts[host]->node.name;
}

const struct host *host_index_receiver(const struct fabric *fabric, uint32_t host)
{
	return fabric->table.hosts[host == HOST_INDEX_MCAST ? 0 : host];
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/machine.h"

#include "sim/route.h"
#include "transport/wire/mcast.h"
#include "util/siphash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int machine_table_compare_names(const void *a, const void *b)
{
	const struct host *const *x = a, *const *y = b;
	const bool x_is_further = host_is_further(*x), y_is_further = host_is_further(*y);

	if (x_is_further != y_is_further)
		return x_is_further ? 1 : -1;
	return strcmp((*x)->node.name, (*y)->node.name); /* names are unique: a total order */
}

void host_table_init(struct host_table *table, struct host **hosts, uint32_t count,
		     struct machine *machines)
{
	*table = (struct host_table){.hosts = hosts, .count = count, .machines = machines};
	for (uint32_t i = 0; i < count; i++)
		hosts[i]->table = table;
	qsort(hosts, count, sizeof(struct host *), machine_table_compare_names);
	for (uint32_t i = 0; i < count; i++) {
		hosts[i]->number = i;
		table->machine_count += !host_is_further(hosts[i]);
	}
}

static struct host *machine_table_find_in(const struct host_table *table, uint32_t low,
					  uint32_t high, const char *name)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const int order = strcmp(name, table->hosts[middle]->node.name);

		if (order == 0)
			return table->hosts[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

struct host *host_table_find(const struct host_table *table, const char *name)
{
	struct host *host = machine_table_find_in(table, 0, table->machine_count, name);

	return host ? host : machine_table_find_in(table, table->machine_count, table->count, name);
}

static void ip_of(const struct host_table *table, uint32_t number, uint8_t ret_ip[16])
{
	const uint32_t n = number + 1;
	const uint8_t low[4] = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	memset(ret_ip, 0, 16);
	memcpy(ret_ip + 12, low, 4);
	if (table->ipv6) {
		ret_ip[0] = 0xfd;
		ret_ip[12] = 0;
	} else {
		ret_ip[10] = ret_ip[11] = 0xff;
	}
}

void host_ip(const struct host *host, uint8_t ret_ip[16])
{
	ip_of(host->table, host->number, ret_ip);
}

void host_mac(const struct host *host, uint8_t ret_mac[6])
{
	const uint32_t n = host->number + 1;
	const uint8_t mac[6] = {2, 0, 0, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	memcpy(ret_mac, mac, 6);
}

static const struct host *machine_table_find(const struct host_table *table, const uint8_t ip[16])
{
	const uint32_t n = (uint32_t)ip[13] << 16 | (uint32_t)ip[14] << 8 | ip[15];
	uint8_t expected[16];

	if (n == 0 || n > table->count)
		return NULL;
	ip_of(table, n - 1, expected);
	return memcmp(ip, expected, 16) == 0 ? table->hosts[n - 1] : NULL;
}

/* The kernel's way to a source port, for a flow label of 0 (linux include/rdma/ib_verbs.h,
 * rdma_calc_flow_label() and rdma_flow_label_to_udp_sport()). */
static uint16_t udp_sport_of(uint32_t local_qpn, uint32_t remote_qpn)
{
	uint64_t v = (uint64_t)local_qpn * remote_qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	v &= 0xfffff;
	return (uint16_t)(0xc000 | ((v & 0x3fff) ^ v >> 14));
}

/* Where what is for path->dst_ip goes. */
static int resolve_dst(const struct host *host, struct wire_path *path)
{
	const struct host *peer = machine_table_find(host->table, path->dst_ip);

	if (wire_ip_is_multicast(path->dst_ip)) {
		if (host->table->mcast_max == 0)
			return -EHOSTUNREACH;
		host_mcast_ip(host, path->dst_ip, path->dst_ip);
		wire_mcast_mac(path->dst_ip, path->dst_mac);
		path->link_dst = sim_address(SIM_ROUTE_MCAST, 0);
		return 0;
	}
	if (!peer)
		return -EHOSTUNREACH;
	host_mac(peer, path->dst_mac);
	path->link_dst = peer->address;
	return 0;
}

int host_resolve(const struct host *host, struct wire_path *path, uint32_t local_qpn,
		 uint32_t remote_qpn)
{
	const int ret = resolve_dst(host, path);
	uint8_t tuple[34];

	if (ret < 0)
		return ret;
	host_ip(host, path->src_ip);
	host_mac(host, path->src_mac);
	path->udp_sport = udp_sport_of(local_qpn, remote_qpn);
	memcpy(tuple, path->src_ip, 16);
	memcpy(tuple + 16, path->dst_ip, 16);
	memcpy(tuple + 32, (uint8_t[]){(uint8_t)(path->udp_sport >> 8), (uint8_t)path->udp_sport},
	       2);
	path->link_hash = (uint32_t)util_hash_bytes((struct util_key){0}, tuple, sizeof(tuple));
	return 0;
}

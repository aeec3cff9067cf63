/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/siphash.h"

/* Hosts that receive slowly. */

static void scenario_rx_refuse(struct scenario_reader *r, const struct yaml_node *map,
			       const char *key, const char *expected)
{
	const struct yaml_node *node = scenario_node(map, key);

	scenario_refuse(r, map, node ? node : map, "nic.rx", expected);
}

static void hash_hosts(struct scenario_reader *r, const struct scenario_rx *rx)
{
	for (uint32_t i = 0; i < rx->host_count; i++) {
		const uint64_t words[] = {util_hash_name(r->hosts[rx->hosts[i]])};

		scenario_hash_words(r, &r->hash, "nic.rx.hosts", words, 1);
	}
}

void scenario_read_rx(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(scenario_node(r->root, "nic"), "rx");
	struct scenario_rx *rx = &r->scenario->nic.rx;
	struct scenario_hosts hosts;

	if (!map || map->kind != YAML_MAP || r->topology_bad || r->host_count == 0)
		return;
	rx->params = (struct host_rx_params){
		.rate_bps = scenario_get(map, "nic.rx.rate").number,
		.buffer_bytes = (uint32_t)scenario_get(map, "nic.rx.buffer").number,
		.xoff_bytes = (uint32_t)scenario_get(map, "nic.rx.xoff").number,
		.mtt_entries = (uint32_t)scenario_get(map, "nic.rx.mtt_entries").number,
		.page_bytes = (uint32_t)scenario_get(map, "nic.rx.page").number,
		.memory_bytes = scenario_get(map, "nic.rx.memory").number,
		.mtt_miss = scenario_get(map, "nic.rx.mtt_miss").number,
	};
	if (rx->params.xoff_bytes >= rx->params.buffer_bytes)
		scenario_rx_refuse(r, map, scenario_has(map, "xoff") ? "xoff" : "buffer",
				   "xoff less than buffer");
	if (rx->params.page_bytes & (rx->params.page_bytes - 1))
		scenario_rx_refuse(r, map, "page", "a power of two");
	if (r->scenario->switches.fc == SCENARIO_FC_CREDIT)
		scenario_rx_refuse(r, map, "rate", "no switch.credit beside it");
	hosts = scenario_hosts_of(r, scenario_node(map, "hosts"), "nic.rx.hosts", true);
	rx->hosts = hosts.hosts;
	rx->host_count = hosts.count;
	if (scenario_has(map, "hosts"))
		hash_hosts(r, rx);
}

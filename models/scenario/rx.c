/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/siphash.h"

/* Hosts that receive slowly. */

static void scenario_rx_refuse(struct scenario_reader *r, const struct yaml_node *map,
			       enum scenario_key key, const char *expected)
{
	const struct yaml_node *node = scenario_node(map, key);

	if (node)
		scenario_refuse(r, map, node, KEY_NIC_RX, expected);
	else
		scenario_refuse(r, scenario_node(r->root, KEY_NIC), map, KEY_NIC, expected);
}

/* As it says, or two frames below xoff, as switches have it. */
static void scenario_rx_read_xon(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t gap = 2 * scenario_frame_bytes(r->scenario);
	struct host_rx_params *rx = &r->scenario->nic.rx.params;

	rx->xon_bytes = rx->xoff_bytes > gap ? rx->xoff_bytes - gap : 0;
	if (!scenario_has(map, KEY_NIC_RX_XON))
		return;
	rx->xon_bytes = (uint32_t)scenario_get(map, KEY_NIC_RX_XON).number;
	if (rx->xon_bytes > rx->xoff_bytes)
		scenario_rx_refuse(r, map, KEY_NIC_RX_XON, "at most xoff");
}

static void hash_hosts(struct scenario_reader *r, const struct scenario_rx *rx)
{
	for (uint32_t i = 0; i < rx->host_count; i++) {
		const uint64_t words[] = {util_hash_name(r->hosts[rx->hosts[i]])};

		scenario_hash_words(r, &r->hash, scenario_path(KEY_NIC_RX_HOSTS), words, 1);
	}
}

/* Of hosts with a machine: as it says, or as the table has it. */
static void read_by_bus(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct host_rx_params *rx = &r->scenario->nic.rx.params;
	const bool said = map && map->kind == YAML_MAP;
	const uint32_t gap = 2 * scenario_frame_bytes(r->scenario);
	struct host_rx_params *by_bus = &r->scenario->nic.rx_by_bus;

	by_bus->buffer_bytes = (uint32_t)scenario_get(map, KEY_NIC_RX_BUFFER).number;
	by_bus->xoff_bytes = (uint32_t)scenario_get(map, KEY_NIC_RX_XOFF).number;
	by_bus->xon_bytes = said		       ? rx->xon_bytes
			    : by_bus->xoff_bytes > gap ? by_bus->xoff_bytes - gap
						       : 0;
}

/* A machine's bus says how fast its hosts take what they receive. */
static bool all_have_machines(struct scenario_reader *r)
{
	const struct scenario *s = r->scenario;
	bool *have = scenario_alloc(r, r->host_count, sizeof(*have));
	uint32_t count = 0;

	for (uint32_t i = 0; have && i < s->machine_count; i++)
		for (uint32_t a = 0; a < s->machines[i].adapter_count; a++)
			have[s->machines[i].adapters[a].host] = true;
	for (uint32_t h = 0; have && h < s->nic.rx.host_count; h++)
		count += have[s->nic.rx.hosts[h]];
	util_free(have);
	return count > 0 && count == s->nic.rx.host_count;
}

static void check_machines(struct scenario_reader *r, const struct yaml_node *map)
{
	static const enum scenario_key keys[] = {KEY_NIC_RX_RATE, KEY_NIC_RX_MTT_ENTRIES};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (scenario_is_own(map, keys[i]) && all_have_machines(r))
			scenario_rx_refuse(r, map, keys[i], "hosts without a machine beside it");
}

static void read_slow(struct scenario_reader *r, const struct yaml_node *map)
{
	struct scenario_rx *rx = &r->scenario->nic.rx;
	struct scenario_hosts hosts;

	if (!map || map->kind != YAML_MAP || r->topology_bad || r->host_count == 0)
		return;
	scenario_put(map, KEY_NIC_RX, false, &r->scenario->nic);
	if (rx->params.xoff_bytes >= rx->params.buffer_bytes)
		scenario_rx_refuse(r, map,
				   scenario_has(map, KEY_NIC_RX_XOFF) ? KEY_NIC_RX_XOFF
								      : KEY_NIC_RX_BUFFER,
				   "xoff less than buffer");
	scenario_rx_read_xon(r, map);
	if (rx->params.page_bytes & (rx->params.page_bytes - 1))
		scenario_rx_refuse(r, map, KEY_NIC_RX_PAGE, "a power of two");
	if (r->scenario->switches.fc == SCENARIO_FC_CREDIT)
		scenario_rx_refuse(r, map, KEY_NIC_RX_RATE, "no switch.credit beside it");
	hosts = scenario_hosts_of(r, scenario_node(map, KEY_NIC_RX_HOSTS),
				  scenario_path(KEY_NIC_RX_HOSTS), true);
	rx->hosts = hosts.hosts;
	rx->host_count = hosts.count;
	check_machines(r, map);
	if (scenario_has(map, KEY_NIC_RX_HOSTS))
		hash_hosts(r, rx);
}

void scenario_read_rx(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(scenario_node(r->root, KEY_NIC), KEY_NIC_RX);

	read_slow(r, map);
	read_by_bus(r, map);
}

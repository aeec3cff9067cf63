/* SPDX-License-Identifier: BSD-2-Clause */

/* The ways over the lanes of a machine but NVLink, and what of its parts lies where. An NVSwitch
 * is not on any of them; all other parts are, GPUs with NVLink, too: the work of programs and
 * adapters comes to a GPU over its PCI Express, whatever GPUs send each other. */
#include "models/scenario/inside.h"

#include "util/alloc.h"

#include <string.h>

static bool is_nvswitch(const struct scenario_machine *machine, uint32_t part)
{
	return machine->parts[part].kind == SCENARIO_NVSWITCH;
}

void scenario_inside_hops(const struct scenario_machine *machine, uint32_t from, uint32_t *ret_hops)
{
	for (uint32_t i = 0; i < machine->part_count; i++)
		ret_hops[i] = is_nvswitch(machine, i) ? 0 : UINT32_MAX;
	ret_hops[from] = 0;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < machine->lane_count; i++) {
			const uint32_t ends[] = {machine->lanes[i].a, machine->lanes[i].b};

			if (machine->lanes[i].link.kind == BUS_NVLINK)
				break; /* so are all behind it */
			for (int end = 0; end < 2; end++)
				if (ret_hops[ends[end]] != UINT32_MAX &&
				    ret_hops[ends[end]] + 1 < ret_hops[ends[!end]]) {
					ret_hops[ends[!end]] = ret_hops[ends[end]] + 1;
					more = true;
				}
		}
	}
}

/* Of those that a part of its kind needs. */
static bool has_lane(const struct scenario_machine *machine, uint32_t part)
{
	for (uint32_t i = 0; i < machine->lane_count; i++)
		if ((machine->lanes[i].a == part || machine->lanes[i].b == part) &&
		    (machine->lanes[i].link.kind == BUS_NVLINK) == is_nvswitch(machine, part))
			return true;
	return false;
}

/* There is no way from @first to some part: one without any lane, if there is such a one. */
static void refuse_pieces(struct scenario_inside *in, uint32_t first, const uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	bool has_nvlink = false;
	struct bad_text found, expected;
	uint32_t far = 0;

	for (uint32_t i = machine->part_count; i-- > 0;)
		if (hops[i] == UINT32_MAX)
			far = i;
	bad_text(&found, "no way from %s to %s", machine->parts[first].name,
		 machine->parts[far].name);
	for (uint32_t i = machine->part_count; i-- > 0;)
		if (!is_nvswitch(machine, i) && !has_lane(machine, i))
			bad_text(&found, "none to %s", machine->parts[i].name);
	for (uint32_t i = 0; i < machine->lane_count; i++)
		has_nvlink |= machine->lanes[i].link.kind == BUS_NVLINK;
	bad_text(&expected, "lanes that join all parts%s%s",
		 has_nvlink ? ", those of kind: nvlink aside" : "",
		 in->common && scenario_is_own(in->map, KEY_MACHINE_LANES) && in->common->map
			 ? " (those of \"machine\" count beside them where that names a profile or "
			   "file)"
			 : "");
	scenario_inside_refuse(in, in->map, KEY_MACHINE_LANES,
			       scenario_has(in->map, KEY_MACHINE_LANES) ? found.text : NULL,
			       expected.text);
}

/* Parts but NVSwitches; there is a socket. */
static uint32_t first_part(const struct scenario_machine *machine)
{
	uint32_t part = 0;

	while (is_nvswitch(machine, part))
		part++;
	return part;
}

static void check_nvswitches(struct scenario_inside *in)
{
	const struct scenario_machine *machine = in->machine;
	struct bad_text found;

	for (uint32_t i = 0; i < machine->part_count; i++)
		if (is_nvswitch(machine, i) && !has_lane(machine, i)) {
			scenario_inside_refuse(
				in, in->map, KEY_MACHINE_LANES,
				bad_text(&found, "none to %s", machine->parts[i].name),
				"lanes of kind: nvlink to each nvswitch");
			return;
		}
}

static uint32_t farthest_part(const struct scenario_machine *machine, const uint32_t *hops)
{
	uint32_t part = 0;

	for (uint32_t i = 1; i < machine->part_count; i++)
		if (hops[i] > hops[part])
			part = i;
	return part;
}

/* No part that is nowhere, and no way that is too long: the longest one ends at the part that is
 * farthest from any. */
static void check_graph(struct scenario_inside *in, uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	struct bad_text found, expected;
	const uint32_t first = first_part(machine);
	uint32_t from, to;

	scenario_inside_hops(machine, first, hops);
	from = farthest_part(machine, hops);
	if (hops[from] == UINT32_MAX) {
		refuse_pieces(in, first, hops);
		return;
	}
	scenario_inside_hops(machine, from, hops);
	to = farthest_part(machine, hops);
	if (hops[to] > BUS_HOPS_MAX)
		scenario_inside_refuse(
			in, in->map, KEY_MACHINE_LANES,
			bad_text(&found, "%u lanes from %s to %s", hops[to],
				 machine->parts[from].name, machine->parts[to].name),
			bad_text(&expected, "at most %u from any part to another", BUS_HOPS_MAX));
}

static uint32_t nearest_memory(struct scenario_inside *in, uint32_t nic, uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_MEMORY);
	uint32_t nearest = nic;

	if (node)
		return (uint32_t)scenario_inside_find_part(machine, node->text);
	scenario_inside_hops(machine, nic, hops);
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET &&
		    (nearest == nic || hops[i] < hops[nearest]))
			nearest = i;
	return nearest;
}

static void read_nics(struct scenario_inside *in, uint32_t *hops)
{
	struct scenario_machine *machine = in->machine;
	const uint32_t count = scenario_inside_count(machine, SCENARIO_ADAPTER);
	struct bad_text name;

	machine->nics = scenario_alloc(in->r, count, sizeof(*machine->nics));
	if (!machine->nics)
		return;
	machine->nic_count = count;
	for (uint32_t n = 0; n < count; n++) {
		struct host_bus *nic = &machine->nics[n];

		nic->nic =
			(uint32_t)scenario_inside_find_part(machine, bad_text(&name, "nic%u", n));
		nic->memory = nearest_memory(in, nic->nic, hops);
		nic->is_of_machine = count > 1;
		nic->blueflame = scenario_inside_number(in->map, KEY_MACHINE_BLUEFLAME);
		nic->tx_bytes = scenario_inside_number(in->map, KEY_MACHINE_TX);
	}
}

/* The hexadecimal number at *at, which goes on behind it; false: there is none, or @end is not what
 * follows. */
static bool take_hex(const char **at, char end, uint32_t *ret_number)
{
	static const char digits[] = "0123456789abcdef";
	const char *const begun = *at;
	const char *digit;

	*ret_number = 0;
	for (; **at != '\0' && (digit = strchr(digits, **at | 0x20)) != NULL; (*at)++)
		*ret_number = *ret_number << 4 | (uint32_t)(digit - digits);
	return *at > begun && *(*at)++ == end;
}

/* DOMAIN:BUS:DEVICE.FUNCTION, as programs are told it; other texts are only shown. */
static void read_address(const char *text, struct host_gpu_params *ret_gpu)
{
	uint32_t domain, bus, device, function;

	if (!text || !take_hex(&text, ':', &domain) || !take_hex(&text, ':', &bus) ||
	    !take_hex(&text, '.', &device) || !take_hex(&text, '\0', &function))
		return;
	ret_gpu->pci_domain = domain;
	ret_gpu->pci_bus = bus;
	ret_gpu->pci_device = device;
}

static void read_gpus(struct scenario_inside *in)
{
	struct scenario_machine *machine = in->machine;
	const uint32_t count = scenario_inside_count(machine, SCENARIO_GPU);
	struct bad_text name;

	machine->gpus = scenario_alloc(in->r, count + 1, sizeof(*machine->gpus));
	machine->gpu_parts = scenario_alloc(in->r, count + 1, sizeof(*machine->gpu_parts));
	if (!machine->gpus || !machine->gpu_parts)
		return;
	machine->gpu_count = count;
	for (uint32_t n = 0; n < count; n++) {
		const uint32_t part =
			(uint32_t)scenario_inside_find_part(machine, bad_text(&name, "gpu%u", n));

		machine->gpu_parts[n] = (uint16_t)part;
		machine->gpus[n] = (struct host_gpu_params){
			.profile = &gpu_h100,
			.bytes = machine->parts[part].memory_bytes,
			.window = machine->parts[part].window_bytes,
			.writes_ordering = 100u * machine->parts[part].ordering,
			.part = part};
		read_address(machine->parts[part].address, &machine->gpus[n]);
	}
}

/* Sockets that lie before each part on its way from @from, by @hops from there; itself one, too. */
static void count_sockets(const struct scenario_machine *machine, uint32_t from,
			  const uint32_t *hops, uint32_t *ret_sockets)
{
	memset(ret_sockets, 0, machine->part_count * sizeof(*ret_sockets));
	ret_sockets[from] = machine->parts[from].kind == SCENARIO_SOCKET;
	for (uint32_t depth = 1; depth <= BUS_HOPS_MAX; depth++)
		for (uint32_t i = 0; i < machine->lane_count; i++) {
			const struct bus_lane_params *lane = &machine->lanes[i];
			const uint32_t far = hops[lane->a] > hops[lane->b] ? lane->a : lane->b;
			const uint32_t near = far == lane->a ? lane->b : lane->a;

			if (lane->link.kind != BUS_NVLINK && hops[far] == depth)
				ret_sockets[far] = ret_sockets[near] +
						   (machine->parts[far].kind == SCENARIO_SOCKET);
		}
}

/* The GPU behind fewest sockets, then lanes, from part @nic; of several that which is so of fewest
 * adapters so far, by @taken, then the first. Its number; there is one. */
static uint16_t nearest_gpu(const struct scenario_machine *machine, uint32_t nic, uint32_t *hops,
			    const uint32_t *taken)
{
	uint32_t sockets[BUS_PARTS_MAX];
	uint16_t best = 0;

	scenario_inside_hops(machine, nic, hops);
	count_sockets(machine, nic, hops, sockets);
	for (uint16_t n = 1; n < machine->gpu_count; n++) {
		const uint32_t part = machine->gpu_parts[n], than = machine->gpu_parts[best];

		if (sockets[part] != sockets[than] ? sockets[part] < sockets[than]
		    : hops[part] != hops[than]	   ? hops[part] < hops[than]
						   : taken[n] < taken[best])
			best = n;
	}
	return best;
}

/* Of each adapter that which is nearest. */
static void take_nearest(struct scenario_inside *in, uint32_t *hops)
{
	struct scenario_machine *machine = in->machine;
	uint32_t taken[BUS_PARTS_MAX] = {0};

	if (machine->gpu_count == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_FLOW_MEMORY, NULL,
				       "a part of kind: gpu");
	for (uint32_t n = 0; n < machine->nic_count && machine->gpu_count > 0; n++) {
		struct host_bus *nic = &machine->nics[n];
		const uint16_t gpu = nearest_gpu(machine, nic->nic, hops, taken);

		taken[gpu]++;
		nic->flow_place = (uint16_t)(gpu + 1);
	}
}

/* Of flows, which are in no program that could allocate it. */
static void read_flow_memory(struct scenario_inside *in, uint32_t *hops)
{
	struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_FLOW_MEMORY);
	struct bad_text expected;
	uint16_t place = 0;

	if (!node || in->r->no_memory)
		return;
	if (scenario_inside_is_wrong(in->map, KEY_MACHINE_FLOW_MEMORY)) {
		in->is_bad = true;
		return;
	}
	if (strcmp(node->text, "nearest") == 0) {
		take_nearest(in, hops);
		return;
	}
	for (uint32_t n = 0; n < machine->gpu_count; n++)
		if (strcmp(machine->parts[machine->gpu_parts[n]].name, node->text) == 0)
			place = (uint16_t)(n + 1);
	if (place == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_FLOW_MEMORY, NULL,
				       machine->gpu_count == 0 ? "a part of kind: gpu"
				       : machine->gpu_count == 1
					       ? "gpu0"
					       : bad_text(&expected, "gpu0 to gpu%u, or nearest",
							  machine->gpu_count - 1));
	for (uint32_t n = 0; n < machine->nic_count; n++)
		machine->nics[n].flow_place = place;
}

void scenario_inside_read_ways(struct scenario_inside *in)
{
	uint32_t *hops;

	if (in->is_bad || in->r->no_memory)
		return;
	hops = scenario_alloc(in->r, in->machine->part_count, sizeof(*hops));
	if (hops)
		check_graph(in, hops);
	if (hops && !in->is_bad)
		check_nvswitches(in);
	if (hops && !in->is_bad) {
		read_nics(in, hops);
		read_gpus(in);
		read_flow_memory(in, hops);
	}
	util_free(hops);
}

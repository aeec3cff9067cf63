/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/inventory/inventory.h"

#include "models/inventory/devices.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void inventory_fini(struct inventory *inventory)
{
	util_free(inventory->parts);
	util_free(inventory->lanes);
	*inventory = (struct inventory){0};
}

/* ---- which devices become parts ---- */

static bool is_device(const struct device *device)
{
	return device->kind == INVENTORY_NIC || device->kind == INVENTORY_GPU;
}

/* Switches with nothing below them are left away; what is above stands before what is below. */
static void mark_used(struct devices *d)
{
	for (uint32_t i = d->count; i-- > 0;) {
		struct device *device = &d->all[i];

		device->is_used |= is_device(device) || device->kind == INVENTORY_SOCKET;
		if (device->is_used)
			d->all[device->up].is_used = true;
	}
}

/* Its number among those of its kind: as the file counts them where it counts each, else in the
 * order of the file. */
static uint32_t inventory_number(const struct devices *d, uint32_t place)
{
	const struct device *own = &d->all[place];
	bool is_counted = true;
	uint32_t before = 0;

	for (uint32_t i = 0; i < d->count; i++)
		is_counted &= d->all[i].kind != own->kind || d->all[i].order_count > 0;
	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *other = &d->all[i];

		if (other->kind != own->kind || !other->is_used || i == place)
			continue;
		before += is_counted && other->order != own->order ? other->order < own->order
								   : i < place;
	}
	return before;
}

/* Two sockets of one number are told. */
static void name_socket(struct devices *d, uint32_t place, struct inventory_part *part)
{
	const struct device *own = &d->all[place];
	struct bad_text found;

	part->numa = own->numa < 0 ? 0 : (uint8_t)own->numa;
	snprintf(part->name, sizeof(part->name), "cpu%u", part->numa);
	for (uint32_t i = 0; i < place; i++)
		if (d->all[i].kind == INVENTORY_SOCKET && d->all[i].numa == own->numa)
			devices_refuse(d, own->line, "cpu",
				       bad_text(&found, "NUMA node %d a second time", own->numa),
				       "each once");
}

static void check_address(struct devices *d, uint32_t place)
{
	const struct device *own = &d->all[place];
	struct bad_text found;

	for (uint32_t i = 0; own->address[0] && i < place; i++)
		if (d->all[i].is_used && strcmp(d->all[i].address, own->address) == 0) {
			devices_refuse(d, own->line, "address",
				       bad_text(&found, "%s a second time", own->address),
				       "each device once");
			return;
		}
}

/* ---- parts ---- */

struct inventory_build {
	struct devices *d;
	struct inventory *inventory;
	uint32_t *parts; /* by place; UINT32_MAX: none */
};

static void inventory_add_part(struct inventory_build *b, const struct inventory_part *part)
{
	struct inventory *inventory = b->inventory;
	struct bad_text expected;

	if (inventory->part_count < INVENTORY_PARTS_MAX) {
		inventory->parts[inventory->part_count++] = *part;
		return;
	}
	if (devices_are_good(b->d))
		devices_refuse(b->d, part->line, "parts", "too many",
			       bad_text(&expected, "at most %u sockets, switches and devices",
					(uint32_t)INVENTORY_PARTS_MAX));
}

static void add_parts(struct inventory_build *b)
{
	static const char *const named[] = {
		[INVENTORY_SWITCH] = "sw", [INVENTORY_NIC] = "nic", [INVENTORY_GPU] = "gpu"};

	for (uint32_t i = 0; i < b->d->count && devices_are_good(b->d); i++) {
		const struct device *device = &b->d->all[i];
		struct inventory_part part = {.kind = device->kind,
					      .line = device->line,
					      .memory_bytes = device->memory_bytes};

		b->parts[i] = UINT32_MAX;
		if (!device->is_used)
			continue;
		if (device->kind == INVENTORY_SOCKET)
			name_socket(b->d, i, &part);
		else
			snprintf(part.name, sizeof(part.name), "%s%u", named[device->kind],
				 inventory_number(b->d, i));
		check_address(b->d, i);
		memcpy(part.address, device->address, sizeof(part.address));
		if (device->kind == INVENTORY_GPU && device->memory_bytes == 0)
			b->inventory->unsaid |= INVENTORY_NO_MEMORY;
		b->parts[i] = b->inventory->part_count;
		inventory_add_part(b, &part);
	}
}

/* ---- lanes ---- */

static void inventory_add_lane(struct inventory_build *b, const struct inventory_lane *lane)
{
	struct inventory *inventory = b->inventory;

	if (inventory->lane_count < INVENTORY_LANES_MAX)
		inventory->lanes[inventory->lane_count++] = *lane;
}

static void add_pcie(struct inventory_build *b, uint32_t above, uint32_t below,
		     const struct device *device)
{
	const struct inventory_lane lane = {.a = above,
					    .b = below,
					    .line = device->line,
					    .gen = device->gen,
					    .width = device->width};

	if (device->gen == 0 || device->width == 0)
		b->inventory->unsaid |= INVENTORY_NO_LINK;
	inventory_add_lane(b, &lane);
}

/* As between old sockets of Intel's: 6 GB/s of payload (devices_sockets()). */
#define SOCKET_RATE_BPS 60000000000

static void add_lanes(struct inventory_build *b)
{
	struct devices *d = b->d;
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *device = &d->all[i];
		struct inventory_lane lane = {.kind = d->socket_kind,
					      .b = b->parts[i],
					      .line = device->line,
					      .rate_bps = d->socket_rate_bps ? d->socket_rate_bps
									     : SOCKET_RATE_BPS};

		if (!device->is_used)
			continue;
		if (device->kind != INVENTORY_SOCKET) {
			add_pcie(b, b->parts[device->up], b->parts[i], device);
			continue;
		}
		lane.a = first;
		if (first == UINT32_MAX)
			first = b->parts[i];
		else
			inventory_add_lane(b, &lane);
	}
}

/* ---- NVLink ---- */

/* The NVSwitch of that address, which is a part from when it is first named. */
static uint32_t nvswitch_of(struct inventory_build *b, const struct device_link *link)
{
	struct inventory *inventory = b->inventory;
	struct inventory_part part = {.kind = INVENTORY_NVSWITCH, .line = link->line};
	uint32_t count = 0;

	for (uint32_t i = 0; i < inventory->part_count; i++) {
		if (inventory->parts[i].kind != INVENTORY_NVSWITCH)
			continue;
		if (strcmp(inventory->parts[i].address, link->target) == 0)
			return i;
		count++;
	}
	snprintf(part.name, sizeof(part.name), "nvsw%u", count);
	memcpy(part.address, link->target, sizeof(part.address));
	inventory_add_part(b, &part);
	return inventory->part_count - 1;
}

/* A GPU's part; UINT32_MAX: nothing is at that address, which is told, or it is no GPU. */
static uint32_t neighbour_of(struct inventory_build *b, const struct device_link *link)
{
	struct bad_text found;

	if (link->to != UINT32_MAX)
		return b->parts[link->to];
	if (link->is_switch)
		return nvswitch_of(b, link);
	for (uint32_t i = 0; i < b->d->count; i++)
		if (strcmp(b->d->all[i].address, link->target) == 0)
			return b->d->all[i].kind == INVENTORY_GPU ? b->parts[i] : UINT32_MAX;
	devices_refuse(b->d, link->line, "target",
		       bad_quote(&found, link->target, strlen(link->target)),
		       "the address of a GPU of this file");
	return UINT32_MAX;
}

/* The lane of that kind between two parts, either of which may be a; NULL: none. */
static struct inventory_lane *lane_between(struct inventory *inventory, uint32_t a, uint32_t b,
					   enum inventory_lane_kind kind)
{
	for (uint32_t i = 0; i < inventory->lane_count; i++) {
		struct inventory_lane *lane = &inventory->lanes[i];

		if (lane->kind == kind &&
		    ((lane->a == a && lane->b == b) || (lane->a == b && lane->b == a)))
			return lane;
	}
	return NULL;
}

/* Both ends tell a link between GPUs: it counts once. */
static void join_gpus(struct inventory_build *b)
{
	for (uint32_t i = 0; i < b->d->link_count && devices_are_good(b->d); i++) {
		const struct device_link *link = &b->d->links[i];
		const uint32_t to = neighbour_of(b, link);
		const struct inventory_lane lane = {.kind = link->kind,
						    .a = b->parts[link->from],
						    .b = to,
						    .line = link->line,
						    .gen = link->gen,
						    .links = link->links,
						    .rate_bps = link->rate_bps};

		if (to == UINT32_MAX || to == lane.a ||
		    lane_between(b->inventory, lane.a, to, link->kind))
			continue;
		if (link->kind == INVENTORY_NVLINK && link->gen == 0)
			b->inventory->unsaid |= INVENTORY_NO_NVLINK;
		inventory_add_lane(b, &lane);
	}
}

/* ---- the whole ---- */

static bool has_kind(const struct inventory *inventory, enum inventory_kind kind)
{
	for (uint32_t i = 0; i < inventory->part_count; i++)
		if (inventory->parts[i].kind == kind)
			return true;
	return false;
}

/* At the first socket, which is the first part. */
static void add_adapter(struct inventory_build *b)
{
	const struct inventory_part part = {
		.kind = INVENTORY_NIC, .name = "nic0", .line = b->inventory->parts[0].line};
	const struct inventory_lane lane = {.b = b->inventory->part_count, .line = part.line};

	inventory_add_part(b, &part);
	inventory_add_lane(b, &lane);
	b->inventory->unsaid |= INVENTORY_NO_ADAPTER | INVENTORY_NO_LINK;
}

static void assemble(struct inventory_build *b, uint32_t root_line)
{
	struct inventory *inventory = b->inventory;

	mark_used(b->d);
	add_parts(b);
	if (!has_kind(inventory, INVENTORY_GPU) && !has_kind(inventory, INVENTORY_NIC) &&
	    devices_are_good(b->d))
		devices_refuse(b->d, root_line, "devices", "none", "a GPU or an adapter at least");
	if (!devices_are_good(b->d))
		return;
	add_lanes(b);
	if (!has_kind(inventory, INVENTORY_NIC))
		add_adapter(b);
	join_gpus(b);
}

static int inventory_build(struct devices *d, uint32_t root_line, struct inventory *inventory)
{
	const uint32_t lanes = d->count + d->link_count + 1;
	struct inventory_build b = {.d = d, .inventory = inventory};

	b.parts = util_calloc(d->count + 1, sizeof(*b.parts));
	inventory->parts = util_calloc(INVENTORY_PARTS_MAX, sizeof(*inventory->parts));
	inventory->lanes = util_calloc(lanes < INVENTORY_LANES_MAX ? INVENTORY_LANES_MAX : lanes,
				       sizeof(*inventory->lanes));
	d->no_memory |= !b.parts || !inventory->parts || !inventory->lanes;
	if (!d->no_memory)
		assemble(&b, root_line);
	util_free(b.parts);
	return d->no_memory ? -ENOMEM : devices_are_good(d) ? 0 : -EINVAL;
}

static int read_root(struct devices *d, struct xml_node *root, struct inventory *inventory)
{
	struct bad_text found;

	if (xml_is(root, "system")) {
		nccl_read(d, root);
	} else if (xml_is(root, "topology")) {
		hwloc_read(d, root);
	} else {
		devices_refuse(d, root->line, "document", bad_text(&found, "<%.60s>", root->name),
			       "<system> of NCCL or <topology> of hwloc");
		return -EINVAL;
	}
	if (d->no_memory)
		return -ENOMEM;
	return devices_are_good(d) ? inventory_build(d, root->line, inventory) : -EINVAL;
}

int inventory_read(const char *bytes, size_t length, const struct bad_at *at,
		   struct inventory *ret_inventory, struct bad_list *errors)
{
	struct devices d = {.at = at,
			    .errors = errors,
			    .errors_before = errors->error_count,
			    .socket_kind = INVENTORY_UPI};
	struct inventory inventory = {.parts = NULL};
	struct xml_node *root;
	int ret = xml_parse(bytes, length, at, &root, errors);

	if (ret)
		return ret;
	ret = read_root(&d, root, &inventory);
	xml_free(root);
	util_free(d.all);
	util_free(d.links);
	if (ret)
		inventory_fini(&inventory);
	else
		*ret_inventory = inventory;
	return ret;
}

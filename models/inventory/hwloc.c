/* SPDX-License-Identifier: BSD-2-Clause */

/* Topologies of hwloc: <topology> with <object> in <object>. A socket is a NUMA node; a bridge
 * hangs at the first of the nearest object around it that has one. Below a bridge from the host
 * (type 0-1) bridges are ports in turn: one of the root, the one up of a switch, those down of it,
 * which may have the one up of another switch behind them. A switch is its port up. */
#include "models/inventory/hwloc.h"

#include <string.h>

static bool is_object(const struct xml_node *node, const char *type)
{
	const char *is = xml_attribute(node, "type");

	return xml_is(node, "object") && is && strcmp(is, type) == 0;
}

static const char *hwloc_info(const struct xml_node *node, const char *name)
{
	for (const struct xml_node *info = node->child; info; info = info->next) {
		const char *is = xml_is(info, "info") ? xml_attribute(info, "name") : NULL;

		if (is && strcmp(is, name) == 0)
			return xml_attribute(info, "value");
	}
	return NULL;
}

/* ---- sockets ---- */

static bool is_numa_node(const struct xml_node *node)
{
	const char *subtype = xml_attribute(node, "subtype");

	/* Memory of GPUs may be a node, too. */
	return is_object(node, "NUMANode") && !(subtype && strstr(subtype, "GPUMemory"));
}

/* What is around a socket, and the socket, has its place and one as a mark, unless it has that of
 * one before it. */
static void read_socket(struct devices *d, struct xml_node *node)
{
	struct device device = {.kind = INVENTORY_SOCKET, .up = d->count, .line = node->line};
	int64_t index = d->count;
	uint32_t place;

	if (!devices_number(d, node, "os_index", 0, 255, &index))
		return;
	device.numa = (int32_t)index;
	place = devices_add(d, &device);
	for (; place != UINT32_MAX && node && !node->mark; node = node->parent)
		node->mark = place + 1;
}

/* NUMA nodes, or of a machine that has none packages, or the machine. */
static void read_sockets(struct devices *d, struct xml_node *root)
{
	static const char *const others[] = {"Package", "Socket", "Machine"};

	for (struct xml_node *node = root; node && !d->is_full; node = xml_next(root, node))
		if (is_numa_node(node))
			read_socket(d, node);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && d->count == 0; i++)
		for (struct xml_node *node = root; node && !d->is_full; node = xml_next(root, node))
			if (is_object(node, others[i]))
				read_socket(d, node);
}

/* The first socket of the nearest object around @node that has one in it, or is one. */
static uint32_t socket_of(const struct xml_node *node)
{
	while (!node->mark)
		node = node->parent; /* the root has one, where there are sockets */
	return node->mark - 1;
}

static void read_vendor(struct devices *d, struct xml_node *root)
{
	for (struct xml_node *node = root; node; node = xml_next(root, node)) {
		const char *vendor = xml_is(node, "object") ? hwloc_info(node, "CPUVendor") : NULL;
		const char *model = vendor ? hwloc_info(node, "CPUModelNumber") : NULL;
		const char *family = vendor ? hwloc_info(node, "CPUFamilyNumber") : NULL;
		int64_t number = 0;

		if (!vendor)
			continue;
		for (; model && *model >= '0' && *model <= '9' && number < 1000; model++)
			number = number * 10 + (*model - '0');
		devices_sockets(d, vendor, family && strcmp(family, "6") == 0 ? 6 : 0, number);
		return;
	}
}

/* ---- devices ---- */

static bool is_of_class(const struct xml_node *pci, const char *begins)
{
	const char *type = xml_attribute(pci, "pci_type");

	return type && strncmp(type, begins, strlen(begins)) == 0;
}

/* "0300 [10de:1db4] ...": those of NVIDIA and AMD, not what shows the console of a server. */
static bool is_display_of(const struct xml_node *pci, const char *vendor)
{
	const char *type = xml_attribute(pci, "pci_type");
	const char *ids = type ? strchr(type, '[') : NULL;

	return is_of_class(pci, "0300") && ids && strncmp(ids + 1, vendor, strlen(vendor)) == 0;
}

static bool is_gpu(const struct xml_node *pci)
{
	return is_of_class(pci, "0302") || is_of_class(pci, "0380") || is_of_class(pci, "1200") ||
	       is_display_of(pci, "10de") || is_display_of(pci, "1002");
}

/* An OpenFabrics device: type 3, and from version 3 on, where types are bits, 32. */
static bool is_openfabrics(const struct devices *d, const struct xml_node *node)
{
	const char *type = xml_attribute(node, "osdev_type");
	uint32_t number = 0;

	if (!is_object(node, "OSDev") || !type)
		return false;
	for (; *type >= '0' && *type <= '9' && number < 1000; type++)
		number = number * 10 + (uint32_t)(*type - '0');
	return d->has_bits ? (number & 32) != 0 : number == 3;
}

static bool has_openfabrics(const struct devices *d, const struct xml_node *pci)
{
	for (const struct xml_node *node = pci->child; node; node = node->next)
		if (is_openfabrics(d, node))
			return true;
	return false;
}

/* Adapters are those with an OpenFabrics device; where there is none, those of InfiniBand, and
 * where there are none either, all of a network. */
enum hwloc_nics { HWLOC_OPENFABRICS, HWLOC_INFINIBAND, HWLOC_NETWORK };

static bool is_nic(const struct devices *d, const struct xml_node *pci, enum hwloc_nics nics)
{
	switch (nics) {
	case HWLOC_OPENFABRICS:
		return has_openfabrics(d, pci);
	case HWLOC_INFINIBAND:
		return is_of_class(pci, "0207");
	case HWLOC_NETWORK:
	default:
		return is_of_class(pci, "02");
	}
}

static enum hwloc_nics find_nics(const struct devices *d, struct xml_node *root)
{
	for (int nics = HWLOC_OPENFABRICS; nics < HWLOC_NETWORK; nics++)
		for (struct xml_node *node = root; node; node = xml_next(root, node))
			if (is_object(node, "PCIDev") && is_nic(d, node, (enum hwloc_nics)nics))
				return (enum hwloc_nics)nics;
	return HWLOC_NETWORK;
}

/* GB/s, "15.753846": the widest link of so much, and of those the oldest, within a hundredth.
 * Zeroes where there is none. */
static void hwloc_link_of(const char *speed, uint8_t *ret_gen, uint8_t *ret_width)
{
	static const uint32_t megabytes[] = {250, 500, 985, 1969, 3938, 7563}; /* a lane */
	static const uint8_t widths[] = {16, 8, 4, 2, 1};
	uint64_t whole = 0, thousandths = 0, scale = 100;

	*ret_gen = *ret_width = 0;
	if (!speed)
		return;
	for (; *speed >= '0' && *speed <= '9' && whole < 10000; speed++)
		whole = whole * 10 + (uint64_t)(*speed - '0');
	if (*speed == '.')
		for (speed++; *speed >= '0' && *speed <= '9' && scale > 0; speed++, scale /= 10)
			thousandths += (uint64_t)(*speed - '0') * scale;
	whole = whole * 1000 + thousandths;
	for (size_t w = 0; w < sizeof(widths); w++)
		for (size_t g = 0; g < sizeof(megabytes) / sizeof(megabytes[0]); g++) {
			const uint64_t rate = (uint64_t)megabytes[g] * widths[w];

			if (whole + rate / 100 < rate || whole > rate + rate / 100)
				continue;
			*ret_gen = (uint8_t)(g + 1);
			*ret_width = widths[w];
			return;
		}
}

/* CUDA says it in KiB, with or without the unit. False: told. */
static bool read_memory(struct devices *d, const struct xml_node *pci, struct device *device)
{
	for (const struct xml_node *node = pci->child; node; node = node->next) {
		const char *size =
			is_object(node, "OSDev") ? hwloc_info(node, "CUDAGlobalMemorySize") : NULL;
		uint64_t kib = 0;

		for (; size && *size >= '0' && *size <= '9' && kib < (1u << 31); size++)
			kib = kib * 10 + (uint64_t)(*size - '0');
		if (size && ((*size && strcmp(size, "KiB") != 0) || kib > 1u << 30)) {
			devices_refuse(d, node->line, "CUDAGlobalMemorySize", "no such size",
				       "KiB, at most 1073741824");
			return false;
		}
		if (kib > 0)
			device->memory_bytes = kib * 1024;
	}
	return true;
}

/* ---- the walk ---- */

struct hwloc_walk {
	struct devices *d;
	struct hwloc_devices *devices;
	enum hwloc_nics nics;
};

/* Below @up, which is @ports bridges from the host; 0: it is outside of any. */
struct hwloc_here {
	uint32_t up, ports;
};

static void hwloc_device(const struct hwloc_walk *walk, const struct xml_node *pci, uint32_t up)
{
	struct devices *d = walk->d;
	struct device device = {.up = up, .line = pci->line};
	uint32_t place;

	if (is_gpu(pci))
		device.kind = INVENTORY_GPU;
	else if (is_nic(d, pci, walk->nics))
		device.kind = INVENTORY_NIC;
	else
		return;
	hwloc_link_of(xml_attribute(pci, "pci_link_speed"), &device.gen, &device.width);
	if (!devices_address(d, pci, "pci_busid", device.address) ||
	    (device.kind == INVENTORY_GPU && !read_memory(d, pci, &device)))
		return;
	place = devices_add(d, &device);
	if (place != UINT32_MAX && walk->devices->count < HWLOC_DEVICES_MAX)
		walk->devices->all[walk->devices->count++] =
			(struct hwloc_device){.node = pci, .place = place};
}

/* What is below a bridge. */
static struct hwloc_here hwloc_bridge(const struct hwloc_walk *walk, const struct xml_node *bridge,
				      struct hwloc_here here)
{
	const char *type = xml_attribute(bridge, "bridge_type");
	struct device device = {.kind = INVENTORY_SWITCH, .line = bridge->line};

	if (type && strcmp(type, "0-1") == 0)
		return (struct hwloc_here){socket_of(bridge), 1};
	/* 1: the host's, below which are ports of the root, and below these ports up; then ports
	 * down and up in turn. */
	if (here.ports < 2 || here.ports % 2 == 1)
		return (struct hwloc_here){here.up, here.ports + 1};
	device.up = here.up;
	hwloc_link_of(xml_attribute(bridge, "pci_link_speed"), &device.gen, &device.width);
	if (!devices_address(walk->d, bridge, "pci_busid", device.address))
		return here;
	device.up = devices_add(walk->d, &device);
	return (struct hwloc_here){device.up == UINT32_MAX ? here.up : device.up, here.ports + 1};
}

static void hwloc_walk(const struct hwloc_walk *walk, const struct xml_node *node,
		       struct hwloc_here here)
{
	for (const struct xml_node *child = node->child; child && !walk->d->is_full;
	     child = child->next) {
		if (is_object(child, "Bridge")) {
			hwloc_walk(walk, child, hwloc_bridge(walk, child, here));
			continue;
		}
		if (is_object(child, "PCIDev"))
			hwloc_device(walk, child, here.ports ? here.up : socket_of(child));
		hwloc_walk(walk, child, here);
	}
}

void hwloc_read(struct devices *d, struct xml_node *root)
{
	const char *version = xml_attribute(root, "version");
	struct hwloc_devices devices = {.count = 0};
	struct hwloc_walk walk = {.d = d, .devices = &devices};

	d->has_bits = version && version[0] >= '3';
	walk.nics = find_nics(d, root);
	read_vendor(d, root);
	read_sockets(d, root);
	if (d->count == 0) {
		devices_refuse(d, root->line, "topology", "no object of type NUMANode or Machine",
			       "what lstopo writes as XML");
		return;
	}
	hwloc_walk(&walk, root, (struct hwloc_here){0, 0});
	hwloc_read_links(d, root, &devices);
}

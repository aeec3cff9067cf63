/* SPDX-License-Identifier: BSD-2-Clause */

/* Topologies of NCCL: <system> with a <cpu> for each NUMA node, in which <pci> stand in each other,
 * those of GPUs with <gpu> and those of adapters with <nic> inside. Files that are written by hand
 * leave these away: then the class of the device says what it is. */
#include "models/inventory/devices.h"

#include <string.h>

/* "16.0 GT/s PCIe"; 0: nothing that says it. */
static uint8_t gen_of(const char *speed)
{
	static const char *const speeds[] = {"2.5", "5", "8", "16", "32", "64", "128"};

	for (uint8_t i = 0; speed && i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		const size_t length = strlen(speeds[i]);
		const char *rest = speed + length;

		if (strncmp(speed, speeds[i], length) != 0)
			continue;
		if (strncmp(rest, ".0", 2) == 0)
			rest += 2;
		if (*rest == '\0' || *rest == ' ')
			return (uint8_t)(i + 1);
	}
	return 0;
}

/* False: told. */
static bool read_link(struct devices *d, const struct xml_node *pci, struct device *device)
{
	static const uint8_t widths[] = {1, 2, 4, 8, 12, 16, 32};
	int64_t width = 0;

	device->gen = gen_of(xml_attribute(pci, "link_speed"));
	if (!devices_number(d, pci, "link_width", 0, 255, &width))
		return false;
	for (size_t i = 0; i < sizeof(widths); i++)
		if (width == widths[i])
			device->width = widths[i];
	return true;
}

static bool has_class(const struct xml_node *pci, const char *begins)
{
	const char *class = xml_attribute(pci, "class");

	return class && strncmp(class, begins, strlen(begins)) == 0;
}

/* False: neither an adapter, a GPU nor a switch. */
static bool nccl_kind(const struct xml_node *pci, enum inventory_kind *ret_kind)
{
	*ret_kind = INVENTORY_SWITCH;
	if (xml_child(pci, "gpu"))
		*ret_kind = INVENTORY_GPU;
	else if (xml_child(pci, "nic"))
		*ret_kind = INVENTORY_NIC;
	else if (xml_child(pci, "pci"))
		return true;
	else if (has_class(pci, "0x03") || has_class(pci, "0x12"))
		*ret_kind = INVENTORY_GPU;
	else if (has_class(pci, "0x02"))
		*ret_kind = INVENTORY_NIC;
	else
		return has_class(pci, "0x0604");
	return true;
}

/* The bridge that MI200 and MI300 have inside, with nothing but their GPU behind it. */
static bool is_inside_gpu(const struct xml_node *pci)
{
	const char *vendor = xml_attribute(pci, "vendor");
	const struct xml_node *only = pci->child;
	enum inventory_kind kind;

	return vendor && strcmp(vendor, "0x1022") == 0 && only && !only->next &&
	       xml_is(only, "pci") && nccl_kind(only, &kind) && kind == INVENTORY_GPU;
}

/* Generation of NVLink by the compute capability, 0: not said. */
static uint8_t nvlink_gen(int64_t sm)
{
	return sm >= 100 ? 5 : sm >= 90 ? 4 : sm >= 80 ? 3 : sm >= 70 ? 2 : sm >= 60 ? 1 : 0;
}

/* xGMI: 64 GB/s a link of MI300 (gfx94), 50 before. */
static uint64_t xgmi_rate(const char *gcn)
{
	return gcn && strncmp(gcn, "gfx94", 5) == 0 ? 512000000000 : 400000000000;
}

static void read_nvlink(struct devices *d, uint32_t from, const struct xml_node *gpu,
			const struct xml_node *node, int64_t sm)
{
	const bool is_xgmi = xml_is(node, "xgmi");
	const char *class = xml_attribute(node, "tclass");
	struct device_link link = {.kind = is_xgmi ? INVENTORY_XGMI : INVENTORY_NVLINK,
				   .from = from,
				   .to = UINT32_MAX,
				   .line = node->line};
	int64_t count = 1;

	if (!devices_number(d, node, "count", 1, INVENTORY_LINKS_MAX, &count) ||
	    !devices_address(d, node, "target", link.target))
		return;
	if (!link.target[0]) {
		devices_refuse(d, node->line, "target", "nothing", "the address of a GPU");
		return;
	}
	link.links = (uint8_t)count;
	link.is_switch = class && strncmp(class, "0x0680", 6) == 0;
	if (is_xgmi)
		link.rate_bps = xgmi_rate(xml_attribute(gpu, "gcn")) * (uint64_t)count;
	else
		link.gen = nvlink_gen(sm);
	devices_link(d, &link);
}

static void read_gpu(struct devices *d, uint32_t place, const struct xml_node *gpu)
{
	int64_t sm = 0;

	if (!devices_number(d, gpu, "sm", 0, 1000000, &sm))
		return;
	for (const struct xml_node *node = gpu->child; node; node = node->next)
		if (xml_is(node, "nvlink") || xml_is(node, "xgmi"))
			read_nvlink(d, place, gpu, node, sm);
}

/* How NCCL counts it. False: told. */
static bool read_order(struct devices *d, const struct xml_node *node, struct device *device)
{
	int64_t order = -1;

	if (!node || !devices_number(d, node, "dev", 0, INT32_MAX, &order))
		return !node;
	device->order = (uint32_t)order;
	device->order_count = order >= 0;
	return true;
}

/* @outer: where its link to above is told, itself or the bridge inside of it. UINT32_MAX: it is of
 * no use, or told. */
static uint32_t read_pci(struct devices *d, const struct xml_node *pci,
			 const struct xml_node *outer, uint32_t up)
{
	struct device device = {.up = up, .line = pci->line};
	const struct xml_node *gpu = xml_child(pci, "gpu"), *nic = xml_child(pci, "nic");
	uint32_t place;

	if (!nccl_kind(pci, &device.kind) || !read_link(d, outer, &device) ||
	    !devices_address(d, pci, "busid", device.address) || !read_order(d, gpu, &device) ||
	    !read_order(d, nic ? xml_child(nic, "net") : NULL, &device))
		return UINT32_MAX;
	place = devices_add(d, &device);
	if (gpu && place != UINT32_MAX)
		read_gpu(d, place, gpu);
	return place;
}

/* An adapter without a place on a bus, as virtual machines have them. */
static void read_nic(struct devices *d, const struct xml_node *nic, uint32_t up)
{
	struct device device = {.kind = INVENTORY_NIC, .up = up, .line = nic->line};

	if (read_order(d, xml_child(nic, "net"), &device))
		devices_add(d, &device);
}

/* All below @node, which is @up; no deeper than XML may be. */
static void read_below(struct devices *d, const struct xml_node *node, uint32_t up)
{
	for (const struct xml_node *child = node->child; child && !d->is_full;
	     child = child->next) {
		uint32_t place;

		if (xml_is(child, "nic") && xml_is(node, "cpu"))
			read_nic(d, child, up);
		if (!xml_is(child, "pci"))
			continue;
		if (is_inside_gpu(child)) {
			read_pci(d, child->child, child, up);
			continue;
		}
		place = read_pci(d, child, child, up);
		if (place != UINT32_MAX)
			read_below(d, child, place);
	}
}

static void read_cpu(struct devices *d, const struct xml_node *cpu)
{
	struct device device = {.kind = INVENTORY_SOCKET, .up = d->count, .line = cpu->line};
	int64_t numa = 0, family = 0, model = 0;
	uint32_t place;

	/* -1: a system of one node. */
	if (!devices_number(d, cpu, "numaid", -1, 255, &numa) ||
	    !devices_number(d, cpu, "familyid", -1, INT32_MAX, &family) ||
	    !devices_number(d, cpu, "modelid", -1, INT32_MAX, &model))
		return;
	device.numa = (int32_t)numa;
	devices_sockets(d, xml_attribute(cpu, "vendor"), family, model);
	place = devices_add(d, &device);
	if (place != UINT32_MAX)
		read_below(d, cpu, place);
}

/* NVLink between hosts has files with the processors of several. */
static bool is_of_one_host(struct devices *d, const struct xml_node *root)
{
	const struct xml_node *first = xml_child(root, "cpu");
	const char *host = first ? xml_attribute(first, "host_hash") : NULL;

	for (const struct xml_node *cpu = first; host && cpu; cpu = cpu->next) {
		const char *other = xml_is(cpu, "cpu") ? xml_attribute(cpu, "host_hash") : host;

		if (!other || strcmp(other, host) == 0)
			continue;
		devices_refuse(d, cpu->line, "cpu.host_hash", "a second host",
			       "one machine in a file");
		return false;
	}
	return true;
}

void nccl_read(struct devices *d, const struct xml_node *root)
{
	if (!is_of_one_host(d, root))
		return;
	for (const struct xml_node *node = root->child; node && !d->is_full; node = node->next)
		if (xml_is(node, "cpu"))
			read_cpu(d, node);
}

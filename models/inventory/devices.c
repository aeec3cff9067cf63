/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/inventory/devices.h"

#include "util/alloc.h"

#include <string.h>

enum { DEVICES_MAX = 4096 }; /* those that are of no use, too */

bool devices_are_good(const struct devices *d)
{
	return d->errors->error_count == d->errors_before;
}

/* Room for one more in an array of a power of two. */
static bool device_room(struct devices *d, void **array, uint32_t count, uint32_t *room,
			size_t bytes)
{
	const uint32_t more = *room ? 2 * *room : 16;
	void *grown;

	if (count < *room)
		return true;
	grown = util_realloc(*array, more, bytes);
	if (!grown) {
		d->no_memory = d->is_full = true;
		return false;
	}
	*array = grown;
	*room = more;
	return true;
}

uint32_t devices_add(struct devices *d, const struct device *device)
{
	struct bad_text expected;
	void *all = d->all;

	if (d->count == DEVICES_MAX) {
		d->is_full = true;
		devices_refuse(d, device->line, "devices", "too many",
			       bad_text(&expected, "at most %u", (uint32_t)DEVICES_MAX));
		return UINT32_MAX;
	}
	if (!device_room(d, &all, d->count, &d->room, sizeof(*d->all)))
		return UINT32_MAX;
	d->all = all;
	d->all[d->count] = *device;
	return d->count++;
}

void devices_link(struct devices *d, const struct device_link *link)
{
	struct bad_text expected;
	void *links = d->links;

	if (d->link_count == INVENTORY_LANES_MAX) {
		d->is_full = true;
		devices_refuse(d, link->line, "links", "too many",
			       bad_text(&expected, "at most %u", (uint32_t)INVENTORY_LANES_MAX));
		return;
	}
	if (!device_room(d, &links, d->link_count, &d->link_room, sizeof(*d->links)))
		return;
	d->links = links;
	d->links[d->link_count++] = *link;
}

void devices_refuse(struct devices *d, uint32_t line, const char *key, const char *found,
		    const char *expected)
{
	const struct bad_at at = {.file = d->at->file, .line = line, .namer = d->at->namer};

	bad(d->errors, &at, key, found, expected);
}

/* ---- attributes ---- */

static void refuse_attribute(struct devices *d, const struct xml_node *node, const char *name,
			     const char *expected)
{
	const char *value = xml_attribute(node, name);
	struct bad_text key, found;

	devices_refuse(d, node->line, bad_text(&key, "%.80s.%.80s", node->name, name),
		       bad_quote(&found, value, strlen(value)), expected);
}

bool devices_number(struct devices *d, const struct xml_node *node, const char *name, int64_t min,
		    int64_t max, int64_t *ret_value)
{
	const char *value = xml_attribute(node, name), *digit;
	struct bad_text expected;
	int64_t number = 0;

	if (!value)
		return true;
	digit = value + (value[0] == '-');
	for (; *digit >= '0' && *digit <= '9' && number <= max; digit++)
		number = number * 10 + (*digit - '0');
	number = value[0] == '-' ? -number : number;
	if (*digit || digit == value || digit[-1] == '-' || number < min || number > max) {
		refuse_attribute(d, node, name,
				 bad_text(&expected, "a number, %lld to %lld", (long long)min,
					  (long long)max));
		return false;
	}
	*ret_value = number;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* How many digits @at begins with. */
static size_t hex_digits(const char *at)
{
	size_t count = 0;

	while (is_hex(at[count]))
		count++;
	return count;
}

/* Domain, bus, device and function; hypervisors write domains, and NCCL for NVSwitches all of it,
 * that no hardware has. */
static bool is_address(const char *text)
{
	static const char ends[] = {':', ':', '.', '\0'};

	for (size_t i = 0; i < sizeof(ends); i++) {
		const size_t digits = hex_digits(text);

		if (digits == 0 || digits > 8)
			return false;
		text += digits;
		if (i == 2 && *text == '\0')
			return true;
		if (*text != ends[i])
			return false;
		text++;
	}
	return true;
}

bool devices_address(struct devices *d, const struct xml_node *node, const char *name,
		     char ret_address[INVENTORY_ADDRESS_MAX])
{
	const char *value = xml_attribute(node, name);
	size_t length = 0;

	ret_address[0] = '\0';
	if (!value)
		return true;
	for (; value[length] && length < INVENTORY_ADDRESS_MAX - 1; length++) {
		const char c = value[length];

		ret_address[length] = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
	}
	ret_address[length] = '\0';
	if (!value[length] && is_address(ret_address))
		return true;
	refuse_attribute(d, node, name, "a PCI address such as 0000:1b:00.0");
	return false;
}

/* What NCCL plans with between sockets (src/graph/topo.h): 6 GB/s of Intel's until Broadwell, 10 of
 * Skylake (model 85) and after, 22 of Sapphire Rapids (143), 40 of Emerald Rapids (207) and after,
 * and of AMD's 16; of which 64 of 80 bytes are payload here. */
void devices_sockets(struct devices *d, const char *vendor, int64_t family, int64_t model)
{
	static const struct {
		int64_t model;
		uint64_t gigabytes;
	} intel[] = {{207, 40}, {143, 22}, {85, 10}, {0, 6}};
	uint64_t gigabytes = 16;
	size_t i = 0;

	if (d->socket_rate_bps > 0 || !vendor)
		return;
	d->socket_kind = INVENTORY_XGMI;
	if (strcmp(vendor, "AuthenticAMD") != 0) {
		d->socket_kind = INVENTORY_UPI;
		while (family == 6 && intel[i].model > model)
			i++;
		gigabytes = family == 6 ? intel[i].gigabytes : 6;
	}
	d->socket_rate_bps = gigabytes * 8000000000 * 80 / 64;
}

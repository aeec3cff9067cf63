/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_INVENTORY_DEVICES_H
#define MODELS_INVENTORY_DEVICES_H

/* What a reader of a format finds, in the order of the file, before it has names and lanes. Not for
 * other folders. */
#include "models/inventory/inventory.h"
#include "models/inventory/xml.h"

struct device {
	enum inventory_kind kind;
	uint32_t up;		     /* the device above, a place; of a socket its own */
	uint32_t order, order_count; /* how the file counts its kind; count 0: it does not */
	uint32_t line;
	int32_t numa;	    /* of a socket */
	uint8_t gen, width; /* of the link to above; 0: not said */
	uint64_t memory_bytes;
	char address[INVENTORY_ADDRESS_MAX];
	bool is_used; /* it is an adapter or GPU, or such are below it */
};

/* NVLink or xGMI as it is told at one of its ends. */
struct device_link {
	enum inventory_lane_kind kind;
	uint32_t from; /* a place */
	uint32_t to;   /* a place; UINT32_MAX: by @target */
	bool is_switch;
	uint8_t gen, links;
	uint64_t rate_bps;
	uint32_t line;
	char target[INVENTORY_ADDRESS_MAX];
};

struct devices {
	const struct bad_at *at;
	struct bad_list *errors;
	struct device *all;
	struct device_link *links;
	uint32_t count, room, link_count, link_room;
	uint32_t errors_before;		      /* in @errors, of others */
	enum inventory_lane_kind socket_kind; /* of lanes between sockets, ... */
	uint64_t socket_rate_bps;	      /* ... each direction; 0: no vendor was told */
	bool has_bits;			      /* hwloc 3: types of OS devices are bits */
	bool no_memory;
	bool is_full; /* told, and nothing more is read; as without memory */
};

/* Whether nothing was refused so far. */
bool devices_are_good(const struct devices *d);
/* Puts it behind the others; its place, or UINT32_MAX: no memory, or too many, which is told. */
uint32_t devices_add(struct devices *d, const struct device *device);
void devices_link(struct devices *d, const struct device_link *link);
/* Reports at a line of the file. */
void devices_refuse(struct devices *d, uint32_t line, const char *key, const char *found,
		    const char *expected);

/* Values of attributes: @ret_value stays as it was where there is none of that @name. False: it is
 * bad, and told. */
bool devices_number(struct devices *d, const struct xml_node *node, const char *name, int64_t min,
		    int64_t max, int64_t *ret_value);
/* An address such as 0000:1b:00.0, in lower case; "" where there is none. */
bool devices_address(struct devices *d, const struct xml_node *node, const char *name,
		     char ret_address[INVENTORY_ADDRESS_MAX]);
/* What lies between sockets of such a processor; the first one told counts. @vendor: as CPUID says
 * it, or NULL. */
void devices_sockets(struct devices *d, const char *vendor, int64_t family, int64_t model);

/* nccl.c, hwloc.c: what is inside of @root. */
void nccl_read(struct devices *d, const struct xml_node *root);
void hwloc_read(struct devices *d, struct xml_node *root);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_INVENTORY_HWLOC_H
#define MODELS_INVENTORY_HWLOC_H

/* What the readers of hwloc's XML share. Not for other folders. */
#include "models/inventory/devices.h"

enum { HWLOC_DEVICES_MAX = 256 };

struct hwloc_devices { /* GPUs and adapters */
	struct hwloc_device {
		const struct xml_node *node;
		uint32_t place;
	} all[HWLOC_DEVICES_MAX];
	uint32_t count;
};

/* hwloc_links.c: the bandwidths between GPUs over NVLink and xGMI, which stand as "distances". */
void hwloc_read_links(struct devices *d, struct xml_node *root,
		      const struct hwloc_devices *devices);

#endif

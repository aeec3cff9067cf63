/* SPDX-License-Identifier: BSD-2-Clause */
/* The readers of machines in XML over any bytes; what they take is sound, and the same each time.
 */
#include "models/inventory/inventory.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void are_parts(const struct inventory *inventory)
{
	bool has_nic = false;

	CHECK(inventory->part_count >= 2 && inventory->part_count <= INVENTORY_PARTS_MAX);
	CHECK(inventory->parts[0].kind == INVENTORY_SOCKET);
	for (uint32_t i = 0; i < inventory->part_count; i++) {
		const struct inventory_part *part = &inventory->parts[i];

		CHECK(part->line > 0 && part->name[0]);
		CHECK(memchr(part->name, '\0', sizeof(part->name)));
		CHECK(memchr(part->address, '\0', sizeof(part->address)));
		for (uint32_t k = 0; k < i; k++)
			CHECK(strcmp(part->name, inventory->parts[k].name) != 0);
		has_nic |= part->kind == INVENTORY_NIC;
	}
	CHECK(has_nic);
}

static void are_lanes(const struct inventory *inventory)
{
	CHECK(inventory->lane_count <= INVENTORY_LANES_MAX);
	for (uint32_t i = 0; i < inventory->lane_count; i++) {
		const struct inventory_lane *lane = &inventory->lanes[i];

		CHECK(lane->a < inventory->part_count && lane->b < inventory->part_count);
		CHECK(lane->a != lane->b && lane->line > 0);
		if (lane->kind == INVENTORY_NVLINK)
			CHECK(lane->links >= 1 && lane->links <= INVENTORY_LINKS_MAX);
		else if (lane->kind != INVENTORY_PCIE)
			CHECK(lane->rate_bps > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bad_at at = {.file = "fuzz.xml", .line = 1};
	struct inventory inventory, again;
	struct bad_list errors = {0}, more = {0};
	const int ret = inventory_read((const char *)data, size, &at, &inventory, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	CHECK(inventory_read((const char *)data, size, &at, &again, &more) == ret);
	if (ret == 0) {
		are_parts(&inventory);
		are_lanes(&inventory);
		CHECK(inventory.part_count == again.part_count);
		CHECK(inventory.lane_count == again.lane_count);
		for (uint32_t i = 0; i < inventory.lane_count; i++)
			CHECK(inventory.lanes[i].a == again.lanes[i].a &&
			      inventory.lanes[i].b == again.lanes[i].b);
		inventory_fini(&inventory);
		inventory_fini(&again);
	}
	bad_list_fini(&errors);
	bad_list_fini(&more);
	return 0;
}

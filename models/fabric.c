/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/fabric.h"

#include "sim/port.h"
#include "sim/route.h"
#include "sim/switch.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static int between(struct sim *sim, void *owner)
{
	struct fabric *fabric = owner;

	(void)sim;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		if (fabric->hosts[i].stats.slabs_refused)
			return -ENOMEM;
	packet_pools_balance(&fabric->pools);
	return board_between(fabric->table.board);

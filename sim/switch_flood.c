/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch_internal.h"
#include "util/alloc.h"

#include <errno.h>

/* Hosts whose port a switch does not know any more, and copies of what is for them, and of
 * multicast. */

int sim_switch_forget(struct sim_switch *sw, uint32_t address, ps_t from, ps_t until)
{
	struct sim_switch_more *more = sw->more;
	struct sim_forgotten *forgotten;

	CHECK(more && more->params.forgets && !more->edge);
	CHECK(!sw->all);
	CHECK(address >> 16 == sw->table.own_group);
	forgotten = util_realloc(more->forgotten, more->forgotten_count + 1, sizeof(*forgotten));
	if (!forgotten)
		return -ENOMEM;
	more->forgotten = forgotten;
	forgotten[more->forgotten_count++] =
		(struct sim_forgotten){.address = address, .from = from, .until = until};
	return 0;
}

bool sim_switch_has_forgotten(const struct sim_switch *sw, uint32_t address, ps_t at)
{
	for (uint32_t i = 0; i < sw->more->forgotten_count; i++) {
		const struct sim_forgotten *forgotten = &sw->more->forgotten[i];

		if (forgotten->address == address && at >= forgotten->from && at < forgotten->until)
			return true;
	}
	return false;
}

struct sim_pkt *sim_switch_copy(struct engine_thread *et, struct sim_switch *sw,
				const struct sim_pkt *pkt)
{
	struct sim_pkt *frame = engine_frame_get(et);

	if (!frame)
		return NULL;
	*frame = *pkt;
	if (sw->node.sim->params.body_ops->duplicate(&et->pub, pkt, frame))
		return frame;
	engine_frame_put(et, frame);
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch_internal.h"
#include "util/alloc.h"

#include <errno.h>

/* Where a switch cuts through, a frame for a faster port still has to come in as a whole. Frames of
 * several ports wait, so a heap in the order in which they arrive. */

bool sim_switch_before(const struct sim_switch *sw, const struct sim_pkt *a,
		       const struct sim_pkt *b)
{
	const struct sim_port *x = &sw->node.ports[a->port], *y = &sw->node.ports[b->port];
	uint64_t mix_x, mix_y;

	if (a->at != b->at)
		return a->at < b->at;
	mix_x = sim_tie(sw->node.tie_key, x->link_id, a->at);
	mix_y = sim_tie(sw->node.tie_key, y->link_id, b->at);
	if (mix_x != mix_y)
		return mix_x < mix_y;
	if (a->port != b->port)
		return a->port < b->port;
	return (int16_t)(a->number - b->number) < 0;
}

void sim_switch_wait(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt)
{
	struct sim_switch_more *more = sw->more;
	const struct sim_port *in = &sw->node.ports[pkt->port];
	uint32_t i = more->partial_count;

	if (more->partial_count == more->partial_max) {
		const uint32_t max = more->partial_max ? 2 * more->partial_max : 16;
		void *partial = util_realloc(more->partial, max, sizeof(struct sim_pkt *));

		if (!partial) {
			sim_fail(&et->pub, -ENOMEM);
			sim_switch_drop(et, sw, pkt);
			return;
		}
		more->partial = partial;
		more->partial_max = max;
	}
	pkt->at += sim_port_tx_time(in, pkt->bytes) - sim_port_tx_time(in, more->params.head_bytes);
	for (more->partial_count++; i > 0; i = (i - 1) / 2) {
		if (!sim_switch_before(sw, pkt, more->partial[(i - 1) / 2]))
			break;
		more->partial[i] = more->partial[(i - 1) / 2];
	}
	more->partial[i] = pkt;
}

struct sim_pkt *sim_switch_partial_take(struct sim_switch *sw)
{
	struct sim_switch_more *more = sw->more;
	struct sim_pkt *first = more->partial[0], *last = more->partial[--more->partial_count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < more->partial_count) {
		if (child + 1 < more->partial_count &&
		    sim_switch_before(sw, more->partial[child + 1], more->partial[child]))
			child++;
		if (!sim_switch_before(sw, more->partial[child], last))
			break;
		more->partial[i] = more->partial[child];
		i = child;
	}
	more->partial[i] = last;
	return first;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch_internal.h"
#include "util/alloc.h"

#include <errno.h>

/* Deficit round robin, as if rounds were played one by one. */

/* The largest share gets one frame a round, so that the others wait as briefly as can be. */
int sim_switch_turns_init(struct sim_switch *sw)
{
	struct sim_switch_more *more = sw->more;
	const struct sim_switch_params *params = &more->params;
	uint32_t most = 0;

	for (uint32_t q = 0; q < sw->priority_count; q++)
		most = params->weights[q] > most ? params->weights[q] : most;
	if (most == 0)
		return 0;
	CHECK(params->frame_bytes_max >= most);
	for (uint32_t q = 0; q < sw->priority_count; q++)
		more->quantum[q] = params->frame_bytes_max * params->weights[q] / most;
	more->strict = 1u << SIM_CONTROL_QUEUE;
	for (uint32_t q = 0; q < sw->priority_count; q++)
		if (params->weights[q] == 0)
			more->strict |= 1u << q;
	more->turns = util_calloc(sw->node.port_count, sizeof(*more->turns));
	return more->turns ? 0 : -ENOMEM;
}

static uint32_t switch_ets_head_bytes(const struct sim_switch *sw, const struct sim_port *port,
				      uint32_t queue)
{
	return class_of(sw, port->index, queue)->head->bytes;
}

/* The rounds in which nobody gets far enough to send, in one step. */
static void skip_rounds(struct sim_switch *sw, const struct sim_port *port, struct sim_turns *turns,
			uint32_t ready)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t rest = ready; rest; rest &= rest - 1) {
		const uint32_t q = (uint32_t)__builtin_ctz(rest);
		const uint32_t lack = switch_ets_head_bytes(sw, port, q) - turns->deficit[q];
		const uint32_t rounds = (lack - 1) / sw->more->quantum[q];

		least = rounds < least ? rounds : least;
	}
	for (uint32_t rest = ready; rest; rest &= rest - 1) {
		const uint32_t q = (uint32_t)__builtin_ctz(rest);

		turns->deficit[q] += least * sw->more->quantum[q];
	}
}

uint32_t sim_switch_turn(struct sim_switch *sw, const struct sim_port *port, uint32_t ready)
{
	struct sim_turns *turns = &sw->more->turns[port->index];
	const uint32_t strict = ready & sw->more->strict;
	uint32_t passed = 0;

	if (strict)
		return 31 - (uint32_t)__builtin_clz(strict);
	for (;;) {
		const uint32_t q = turns->at;

		if (ready >> q & 1) {
			if (!turns->begun)
				turns->deficit[q] += sw->more->quantum[q];
			turns->begun = true;
			if (turns->deficit[q] >= switch_ets_head_bytes(sw, port, q)) {
				turns->deficit[q] -= switch_ets_head_bytes(sw, port, q);
				return q;
			}
		} else if (class_of(sw, port->index, q)->count == 0) {
			turns->deficit[q] = 0;
		}
		turns->at = (uint8_t)((q + 1) % sw->priority_count);
		turns->begun = false;
		if (++passed == sw->priority_count) {
			skip_rounds(sw, port, turns, ready);
			passed = 0;
		}
	}
}

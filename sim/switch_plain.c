/* SPDX-License-Identifier: BSD-2-Clause */
#define FULL false
#include "sim/switch_run.inc"

const struct sim_fc_user sim_switch_user_plain = {
	.control = switch_control, .gate = switch_gate, .shut = switch_shut};

void sim_switch_run_plain(struct sim_thread *th, struct sim_node *node,
			  struct sim_pkt *const *arrivals, uint32_t count)
{
	struct sim_switch *sw = container_of(node, struct sim_switch, node);

	if (unlikely(!sw->fc)) /* no links */
		return;
	if (unlikely(sw->more != NULL))
		sim_switch_run_full(th, node, arrivals, count);
	else
		run(th, sw, arrivals, count);
}

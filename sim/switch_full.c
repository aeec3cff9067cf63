/* SPDX-License-Identifier: BSD-2-Clause */
#define FULL true
#include "sim/switch_run.inc"

const struct sim_fc_user sim_switch_user_full = {
	.control = switch_control, .gate = switch_gate, .shut = switch_shut};

void sim_switch_run_full(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	run(th, container_of(node, struct sim_switch, node), arrivals, count);
}

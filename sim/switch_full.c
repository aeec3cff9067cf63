/* SPDX-License-Identifier: BSD-2-Clause */
#define FULL true
#include "sim/switch_run.inc"

void sim_conweave_on_frame(struct sim_agent *agent, struct sim_thread *th, struct sim_switch *sw,
			   const struct sim_pkt *frame)
{
	const struct sim_note note = sw->node.sim->params.body_ops->read_note(frame);
	struct engine_thread *et = engine_of(th);
	struct sim_note answer;
	struct sim_conweave_rx *rx;

	(void)agent;
	sw->more->conweave->stats.notes_heard++;
	sim_conweave_hear(sw, &note, frame->at, &rx, &answer);
	if (rx) {
		settle(et, sw, &sw->node.ports[sim_route_port(&sw->table, rx->key.dst, 0)],
		       frame->at);
		let_kept_go(et, sw, rx, frame->at);
	}
	send_answer(et, sw, &answer, frame);
}

const struct sim_fc_user sim_switch_user_full = {
	.control = switch_control, .gate = switch_gate, .shut = switch_shut};

void sim_switch_run_full(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	run(th, container_of(node, struct sim_switch, node), arrivals, count);
}

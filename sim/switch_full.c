/* SPDX-License-Identifier: BSD-2-Clause */
#define FULL true
#include "sim/switch_run.inc"

void sim_switch_pass(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		     uint32_t to)
{
	const uint32_t priority = class_here(sw, priority_of(sw, pkt));

	pass_on(et, sw, pkt, to, priority, priority);
}

bool sim_switch_charge(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt)
{
	return charge(et, sw, pkt, class_here(sw, priority_of(sw, pkt)));
}

void sim_switch_settle(struct engine_thread *et, struct sim_switch *sw, uint32_t to, ps_t until)
{
	settle(et, sw, &sw->node.ports[to], until);
}

void sim_switch_resume(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		       uint32_t to, ps_t at)
{
	const uint32_t priority = class_here(sw, priority_of(sw, pkt));

	queue_up(sw, &sw->node.ports[to], class_of(sw, to, priority), priority, priority, pkt);
	kick(et, sw, &sw->node.ports[to], at);
}

void sim_switch_send(struct engine_thread *et, struct sim_switch *sw, const struct sim_pkt *frame,
		     uint32_t to)
{
	struct sim_pkt own = *frame, *pkt = engine_frame_get(et);

	CHECK(!sw->all);
	if (!pkt) {
		sw->node.sim->params.body_ops->release(&et->pub, &own);
		return;
	}
	*pkt = own;
	sim_switch_pass(et, sw, pkt, to);
}

const struct sim_fc_user sim_switch_user_full = {
	.control = switch_control, .gate = switch_gate, .shut = switch_shut};

void sim_switch_run_full(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	run(th, container_of(node, struct sim_switch, node), arrivals, count);
}

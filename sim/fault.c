/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/fault.h"

#include "sim/internal.h"
#include "sim/tap.h"
#include "util/rand.h"

enum purpose { LOSS, CORRUPT, BIT, DUPLICATE, REORDER, JITTER };

void sim_fault_attach(struct sim_fault *fault, struct sim_port *port,
		      const struct sim_fault_params *params)
{
	CHECK(!port->fault);
	CHECK(params->duplicate_ppb == 0 || params->duplicate_delay > 0);
	*fault = (struct sim_fault){.params = *params};
	if (fault->params.until == 0)
		fault->params.until = PS_NEVER;
	port->fault = fault;
	port->hooked |= SIM_HOOK_FAULT;
}

void sim_tap_attach(struct sim_tap *tap, struct sim_port *port)
{
	tap->next = port->tap;
	port->tap = tap;
	port->hooked |= SIM_HOOK_TAP;
}

static struct util_rand stream(const struct engine_thread *et, const struct sim_port *port,
			       enum purpose purpose)
{
	return (struct util_rand){.seed = et->pub.sim->params.seed,
				  .entity = port->link_id,
				  .purpose = purpose,
				  .counter = port->fault->number};
}

static bool happens(const struct engine_thread *et, const struct sim_port *port,
		    enum purpose purpose, uint32_t ppb)
{
	struct util_rand rand = stream(et, port, purpose);

	return ppb > 0 && util_rand_below(&rand, 1000000000) < ppb;
}

static bool listed(const struct sim_fault *fault)
{
	uint32_t low = 0, high = fault->params.lost_count;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (fault->params.lost_numbers[middle] == fault->number)
			return true;
		if (fault->params.lost_numbers[middle] < fault->number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static bool applies(const struct sim_fault *fault, const struct sim_pkt *pkt, ps_t start)
{
	return (pkt->frame == SIM_DATA || fault->params.control) && start >= fault->params.from &&
	       start < fault->params.until;
}

static void lose(struct engine_thread *et, struct sim_pkt *pkt)
{
	if (pkt->frame == SIM_DATA)
		et->pub.sim->params.body_ops->release(&et->pub, pkt);
}

/* False: the receiver would drop it. A control frame has a check sequence, so it is lost. */
static bool survives_corruption(struct engine_thread *et, struct sim_port *port,
				struct sim_pkt *pkt)
{
	struct util_rand bit = stream(et, port, BIT);

	port->fault->corrupted++;
	if (pkt->frame == SIM_DATA &&
	    et->pub.sim->params.body_ops->corrupt(&et->pub, pkt, util_rand_next(&bit)))
		return true;
	port->fault->refused++;
	return false;
}

static ps_t more_delay(const struct engine_thread *et, struct sim_port *port)
{
	struct sim_fault *fault = port->fault;
	struct util_rand jitter = stream(et, port, JITTER);
	ps_t delay = fault->params.delay;

	if (fault->params.jitter > 0)
		delay += util_rand_below(&jitter, fault->params.jitter + 1);
	if (happens(et, port, REORDER, fault->params.reorder_ppb)) {
		fault->reordered++;
		delay += fault->params.reorder_delay;
	}
	return delay;
}

static void send_faulty(struct engine_thread *et, struct sim_port *port, const struct sim_pkt *pkt,
			ps_t at, uint16_t number)
{
	const struct sim_body_ops *body = et->pub.sim->params.body_ops;
	struct sim_fault *fault = port->fault;
	struct sim_pkt own = *pkt, copy;

	if (listed(fault) || happens(et, port, LOSS, fault->params.loss_ppb)) {
		fault->lost++;
		lose(et, &own);
		return;
	}
	if (happens(et, port, CORRUPT, fault->params.corrupt_ppb) &&
	    !survives_corruption(et, port, &own)) {
		lose(et, &own);
		return;
	}
	at += more_delay(et, port);
	if (happens(et, port, DUPLICATE, fault->params.duplicate_ppb)) {
		fault->duplicated++;
		copy = own;
		if (own.frame != SIM_DATA || body->duplicate(&et->pub, &own, &copy))
			engine_deliver(et, port->peer_slot, &copy, port->peer_port, number,
				       at + fault->params.duplicate_delay);
	}
	engine_deliver(et, port->peer_slot, &own, port->peer_port, number, at);
}

__attribute__((noinline)) void sim_engine_send_hooked(struct engine_thread *et,
						      struct sim_port *port,
						      const struct sim_pkt *pkt, ps_t start,
						      ps_t at)
{
	const struct sim_other *other = et->pub.sim->other;
	const uint16_t number = (uint16_t)(port->sent_count - 1);
	struct sim_fault *fault = port->fault;

	for (struct sim_tap *tap = port->tap; tap; tap = tap->next)
		tap->on_start(tap, &et->pub, port, pkt, start);
	if (port->hooked & SIM_HOOK_ENGINE) {
		other->send(other->context, port, pkt, start);
		return;
	}
	if (fault && (pkt->frame == SIM_DATA || fault->params.control))
		fault->number++;
	if (fault && applies(fault, pkt, start))
		send_faulty(et, port, pkt, at, number);
	else
		engine_deliver(et, port->peer_slot, pkt, port->peer_port, number, at);
}

void sim_take_over(struct sim *sim, const struct sim_other *other)
{
	CHECK(sim->sealed);
	sim->other = other;
	for (uint32_t i = 0; i < sim->node_count; i++)
		for (uint32_t p = 0; p < sim->nodes[i]->port_count; p++)
			sim->nodes[i]->ports[p].hooked |= SIM_HOOK_ENGINE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/fault.h"

#include "sim/internal.h"
#include "sim/loss.h"
#include "sim/tap.h"
#include "util/rand.h"

enum purpose { LOSS, CORRUPT, BIT, DUPLICATE, REORDER, JITTER, BITS };

void sim_fault_attach(struct sim_fault *fault, struct sim_port *port,
		      const struct sim_fault_params *params)
{
	struct sim_fault **link = &port->fault;

	CHECK(params->duplicate_ppb == 0 || params->duplicate_delay > 0);
	*fault = (struct sim_fault){.params = *params};
	if (fault->params.until == 0)
		fault->params.until = PS_NEVER;
	for (; *link; link = &(*link)->next)
		fault->place++;
	*link = fault;
	port->hooked |= SIM_HOOK_FAULT;
}

void sim_tap_attach(struct sim_tap *tap, struct sim_port *port)
{
	tap->next = port->tap;
	port->tap = tap;
	port->hooked |= SIM_HOOK_TAP;
}

/* A fault at work: @first counts for all of the port. */
struct work {
	struct engine_thread *et;
	struct sim_port *port;
	struct sim_fault *first, *fault;
	enum sim_loss why; /* it does not get through */
};

static struct util_rand fault_stream(const struct work *w, enum purpose purpose)
{
	return (struct util_rand){.seed = w->et->pub.sim->params.seed,
				  .entity = w->port->link_id,
				  .purpose = purpose | (uint64_t)w->fault->place << 8,
				  .counter = w->fault->number};
}

static bool happens(const struct work *w, enum purpose purpose, uint32_t ppb)
{
	struct util_rand rand = fault_stream(w, purpose);

	return ppb > 0 && util_rand_below(&rand, 1000000000) < ppb;
}

/* 1 - (1 - p)^bits: the power by squaring, in parts of 2^64, rounded down at each step. */
static bool bit_is_wrong(const struct work *w, uint32_t bytes)
{
	const uint64_t ppt = w->fault->params.bit_error_ppt;
	struct util_rand rand = fault_stream(w, BITS);
	u128 right, all = (u128)1 << 64;

	if (ppt == 0)
		return false;
	right = all - all * ppt / 1000000000000u;
	for (uint64_t bits = (uint64_t)bytes * 8; bits > 0; bits >>= 1) {
		if (bits & 1)
			all = all >> 64 ? right : all * (uint64_t)right >> 64;
		right = right * (uint64_t)right >> 64; /* p > 0, so right < 2^64 */
	}
	return util_rand_next(&rand) >= (uint64_t)all;
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

static void lose(const struct work *w, struct sim_pkt *pkt, enum sim_loss why, ps_t start)
{
	const struct engine_thread *et = w->et;
	const struct sim_node *node = w->port->peer->ports[w->port->peer_port].peer;

	sim_tell_loss(node, w->port->index, pkt, why, start);
	if (pkt->frame == SIM_DATA)
		et->pub.sim->params.body_ops->release(&w->et->pub, pkt);
}

/* False: the receiver would drop it. A control frame has a check sequence, so it is lost. */
static bool survives_corruption(const struct work *w, struct sim_pkt *pkt)
{
	struct util_rand bit = fault_stream(w, BIT);

	w->first->corrupted++;
	if (pkt->frame == SIM_DATA &&
	    w->et->pub.sim->params.body_ops->corrupt(&w->et->pub, pkt, util_rand_next(&bit)))
		return true;
	w->first->refused++;
	return false;
}

static ps_t more_delay(const struct work *w)
{
	const struct sim_fault_params *params = &w->fault->params;
	struct util_rand jitter = fault_stream(w, JITTER);
	ps_t delay = params->delay;

	if (params->jitter > 0)
		delay += util_rand_below(&jitter, params->jitter + 1);
	if (happens(w, REORDER, params->reorder_ppb)) {
		w->first->reordered++;
		delay += params->reorder_delay;
	}
	return delay;
}

/* False: nothing of it arrives. */
static bool gets_through(struct work *w, struct sim_pkt *pkt)
{
	const struct sim_fault_params *params = &w->fault->params;

	if (listed(w->fault) || happens(w, LOSS, params->loss_ppb)) {
		w->first->lost++;
		w->why = params->is_down ? SIM_LOSS_DOWN : SIM_LOSS_FAULT;
		return false;
	}
	w->why = SIM_LOSS_CORRUPT;
	if (happens(w, CORRUPT, params->corrupt_ppb) || bit_is_wrong(w, pkt->bytes))
		return survives_corruption(w, pkt);
	return true;
}

static inline void fault_arrive(struct engine_thread *et, const struct sim_port *port,
				struct sim_pkt *frame, uint16_t number, ps_t at)
{
	frame->port = port->peer_place;
	frame->number = number;
	if (port->hooked & SIM_HOOK_WITHIN)
		sim_engine_island_post(island_of(et), port->peer_slot, frame, at);
	else
		engine_post(port->hooked & SIM_HOOK_OUT ? et->outer : et, port->peer_slot, frame,
			    at);
}

/* A copy of @pkt reaches the other end of @port. */
static void fault_deliver(struct engine_thread *et, const struct sim_port *port,
			  const struct sim_pkt *pkt, uint16_t number, ps_t at)
{
	struct sim_pkt *frame = engine_frame_get(et);

	if (!frame)
		return;
	*frame = *pkt;
	fault_arrive(et, port, frame, number, at);
}

static void fault_send_again(const struct work *w, const struct sim_pkt *pkt, ps_t at,
			     uint16_t number)
{
	const struct sim_body_ops *body = w->et->pub.sim->params.body_ops;
	struct sim_pkt copy = *pkt;

	w->first->duplicated++;
	if (pkt->frame != SIM_DATA || body->duplicate(&w->et->pub, pkt, &copy))
		fault_deliver(w->et, w->port, &copy, number, at);
}

static void send_faulty(struct engine_thread *et, struct sim_port *port, const struct sim_pkt *pkt,
			ps_t start, ps_t at, uint16_t number)
{
	struct work w = {.et = et, .port = port, .first = port->fault};
	struct sim_pkt own = *pkt;
	ps_t copy_at;

	for (w.fault = w.first; w.fault; w.fault = w.fault->next) {
		if (!applies(w.fault, pkt, start))
			continue;
		if (!gets_through(&w, &own)) {
			lose(&w, &own, w.why, start);
			return;
		}
		at += more_delay(&w);
	}
	/* One behind the other, and behind the original: frames of one number never meet. */
	copy_at = at;
	for (w.fault = w.first; w.fault; w.fault = w.fault->next)
		if (applies(w.fault, pkt, start) &&
		    happens(&w, DUPLICATE, w.fault->params.duplicate_ppb)) {
			copy_at += w.fault->params.duplicate_delay;
			fault_send_again(&w, &own, copy_at, number);
		}
	fault_deliver(et, port, &own, number, at);
}

/* How much longer than on a link in order the frame takes, if it starts at @start. */
ps_t sim_fault_slows(const struct sim_port *port, const struct sim_pkt *pkt, ps_t start)
{
	const ps_t usual = sim_port_tx_time(port, pkt->bytes);
	ps_t longest = usual;

	for (const struct sim_fault *fault = port->fault; fault; fault = fault->next) {
		const uint64_t rate = fault->params.rate_bps;
		const ps_t time =
			rate > 0 && start >= fault->params.from && start < fault->params.until
				? util_tx_time(pkt->bytes, rate)
				: 0;

		longest = time > longest ? time : longest;
	}
	return longest - usual;
}

/* How much before its end a frame is heard of. */
static ps_t head_start(const struct sim_port *port, const struct sim_pkt *pkt)
{
	if (pkt->frame != SIM_DATA || pkt->bytes <= port->head_bytes)
		return 0;
	return sim_port_tx_time(port, pkt->bytes) - sim_port_tx_time(port, port->head_bytes);
}

__attribute__((noinline)) void sim_engine_send_hooked(struct engine_thread *et,
						      struct sim_port *port,
						      const struct sim_pkt *pkt, ps_t start,
						      ps_t at)
{
	const struct sim_other *other = et->pub.sim->other;
	const uint16_t number = (uint16_t)(port->sent_packets - 1);

	for (struct sim_tap *tap = port->tap; tap; tap = tap->next)
		tap->on_start(tap, &et->pub, port, pkt, start);
	if (port->hooked & SIM_HOOK_FAULT) {
		const ps_t more = sim_fault_slows(port, pkt, start);

		port->free_at += more;
		at += more;
	}
	if (port->hooked & SIM_HOOK_ENGINE) {
		other->send(other->context, port, pkt, start);
		return;
	}
	if (port->hooked & SIM_HOOK_HEAD)
		at -= head_start(port, pkt);
	for (struct sim_fault *fault = port->fault; fault; fault = fault->next)
		fault->number += pkt->frame == SIM_DATA || fault->params.control;
	if (port->fault)
		send_faulty(et, port, pkt, start, at, number);
	else
		fault_deliver(et, port, pkt, number, at);
}

__attribute__((noinline)) void sim_engine_forward_hooked(struct engine_thread *et,
							 struct sim_port *port,
							 struct sim_pkt *frame, ps_t start, ps_t at)
{
	if (likely(!(port->hooked & ~(SIM_HOOK_WITHIN | SIM_HOOK_OUT)))) {
		fault_arrive(et, port, frame, (uint16_t)(port->sent_packets - 1), at);
		return;
	}
	sim_engine_send_hooked(et, port, frame, start, at);
	engine_frame_put(et, frame);
}

void sim_take_over(struct sim *sim, const struct sim_other *other)
{
	CHECK(sim->sealed);
	sim->other = other;
	for (uint32_t i = 0; i < sim->node_count; i++)
		for (uint32_t p = 0; p < sim->nodes[i]->port_count; p++)
			sim->nodes[i]->ports[p].hooked |= SIM_HOOK_ENGINE;
}

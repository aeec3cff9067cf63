/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/credit.h"

#include "sim/sim.h"
#include "util/alloc.h"
#include "util/check.h"

enum { CONTROL_BYTES = 84 };

/* What this end has to say about one priority of one port. */
struct room {
	uint64_t freed;	 /* bytes that came in and went on */
	uint64_t stated; /* the limit that was sent last */
};

struct credit {
	struct sim_fc fc; /* first */
	uint64_t buffers[SIM_PRIORITIES_MAX];
	uint32_t update_bytes[SIM_PRIORITIES_MAX];
	uint32_t control_bytes;
	struct room *rooms; /* by port * priority_count + priority */
};

static struct credit *credit_of(struct sim_fc *fc)
{
	return container_of(fc, struct credit, fc);
}

/* ---- the gate ---- */

static bool credit_may_send(const struct sim_fc *fc, uint32_t port, uint8_t priority,
			    uint32_t bytes)
{
	const struct sim_lane *lane = sim_fc_lane(fc, port, priority);

	return lane->sent + bytes <= lane->limit;
}

static void credit_on_sent(struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes)
{
	struct sim_lane *lane = sim_fc_lane(fc, port, priority);

	lane->sent += bytes;
	CHECK(lane->sent <= lane->limit);
}

static void credit_on_control(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
			      const struct sim_pkt *pkt)
{
	const struct sim_control_body body = sim_control_read(pkt);
	struct sim_lane *lane;

	if (body.kind != SIM_CONTROL_CREDIT || body.classes >= fc->priority_count)
		return;
	sim_fc_gate(fc, port)->controls_received++;
	lane = sim_fc_lane(fc, port, body.classes);
	if (body.value > lane->limit)
		lane->limit = body.value;
	fc->user->gate(th, fc->node, port, pkt->at);
}

/* ---- the buffer ---- */

static bool credit_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress)
{
	(void)fc;
	(void)priority;
	(void)used;
	(void)ingress;
	return false; /* every frame counts */
}

static enum sim_fc_verdict credit_on_buffered(struct sim_fc *fc, struct sim_thread *th,
					      uint32_t port, uint8_t priority, uint32_t bytes,
					      ps_t at)
{
	struct sim_class *class = sim_fc_class(fc, port, priority);

	(void)th;
	(void)at;
	if (class->ingress_bytes + bytes > credit_of(fc)->buffers[priority]) {
		class->dropped++;
		fc->dropped_buffer++;
		return SIM_FC_DROPPED;
	}
	class->ingress_bytes += bytes;
	fc->used += bytes;
	return SIM_FC_TAKEN;
}

static void credit_on_freed(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
			    uint8_t priority, uint32_t bytes, ps_t at)
{
	struct credit *credit = credit_of(fc);
	struct room *room = &credit->rooms[port * fc->priority_count + priority];
	struct sim_class *class = sim_fc_class(fc, port, priority);
	struct sim_pkt pkt;
	uint64_t limit;

	CHECK(class->ingress_bytes >= bytes);
	class->ingress_bytes -= bytes;
	fc->used -= bytes;
	room->freed += bytes;
	limit = room->freed + credit->buffers[priority];
	if (limit - room->stated < credit->update_bytes[priority])
		return;
	room->stated = limit;
	sim_control_make(&pkt, credit->control_bytes, SIM_CONTROL_CREDIT, priority, limit);
	sim_fc_gate(fc, port)->controls_sent++;
	fc->user->control(th, fc->node, port, &pkt, at);
}

static void credit_on_timer(struct sim_fc *fc, struct sim_thread *th, ps_t at)
{
	(void)th;
	(void)at;
	fc->timer_at = PS_NEVER;
}

/* ---- creation ---- */

static void credit_destroy(struct sim_fc *fc)
{
	struct credit *credit = credit_of(fc);

	sim_fc_fini(fc);
	util_free(credit->rooms);
	util_free(credit);
}

static const struct sim_fc_ops credit_ops = {
	.name = "credit",
	.heads = true,
	.all = true,
	.may_send = credit_may_send,
	.on_sent = credit_on_sent,
	.on_control = credit_on_control,
	.quiet = credit_quiet,
	.on_buffered = credit_on_buffered,
	.on_freed = credit_on_freed,
	.on_timer = credit_on_timer,
	.destroy = credit_destroy,
};

/* An update may be held back only while the sender can still send a whole frame, or both would wait
 * for ever; a quarter of the buffer keeps updates rare. */
static uint32_t update_bytes(const struct credit_params *params, uint64_t buffer)
{
	const uint64_t spare = buffer - params->frame_bytes_max + 1;
	const uint64_t wanted = params->update_bytes ? params->update_bytes : buffer / 4 + 1;

	return (uint32_t)(wanted < spare ? wanted : spare);
}

/* Returns the bytes of a port's buffers. */
static uint64_t divide(struct credit *credit, const struct credit_params *params,
		       uint32_t priority_count)
{
	uint64_t sum = 0;

	for (uint32_t q = 0; q < priority_count; q++) {
		const uint64_t buffer = params->buffers ? params->buffers[q] : params->buffer_bytes;

		CHECK(buffer >= params->frame_bytes_max);
		credit->buffers[q] = buffer;
		credit->update_bytes[q] = update_bytes(params, buffer);
		sum += buffer;
	}
	return sum;
}

struct sim_fc *credit_create(struct sim_node *node, const struct credit_params *params)
{
	const uint32_t priorities = sim_priority_count(node->sim);
	const uint32_t count = node->port_count * priorities;
	struct credit *credit = util_calloc(1, sizeof(*credit));
	uint64_t bytes;

	CHECK(params->frame_bytes_max > 0);
	if (!credit)
		return NULL;
	bytes = node->port_count * divide(credit, params, priorities);
	credit->control_bytes = params->control_bytes ? params->control_bytes : CONTROL_BYTES;
	credit->rooms = util_calloc(count, sizeof(*credit->rooms));
	if (sim_fc_init(&credit->fc, &credit_ops, node, bytes) != 0 || !credit->rooms) {
		credit_destroy(&credit->fc);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		credit->rooms[i].stated = credit->buffers[i % priorities];
		sim_fc_class(&credit->fc, i / priorities, i % priorities)->watched = 1;
	}
	for (uint32_t i = 0; i < node->port_count; i++) {
		credit_meet(&credit->fc, i, &credit->fc);
		node->ports[i].control_delay = params->response_delay;
	}
	credit->fc.eager_count = 1; /* every departure may send an update at its own instant */
	return &credit->fc;
}

void credit_meet(struct sim_fc *fc, uint32_t port, const struct sim_fc *peer)
{
	const struct credit *other = (const struct credit *)(const void *)peer;

	CHECK(peer->ops == &credit_ops);
	for (uint32_t q = 0; q < fc->priority_count; q++)
		sim_fc_lane(fc, port, q)->limit = other->buffers[q];
}

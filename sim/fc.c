/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/fc.h"

#include "sim/sim.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct sim_control_body) == 16, "two words of the body");

int sim_fc_init(struct sim_fc *fc, const struct sim_fc_ops *ops, struct sim_node *node,
		uint64_t buffer_bytes)
{
	static const uint32_t no_reserve[SIM_PRIORITIES_MAX];
	uint32_t priorities;
	size_t classes;

	CHECK(node->sim != NULL);
	priorities = sim_priority_count(node->sim);
	classes = (size_t)node->port_count * (priorities + 1);
	*fc = (struct sim_fc){.ops = ops,
			      .node = node,
			      .buffer_bytes = buffer_bytes,
			      .timer_at = PS_NEVER,
			      .priority_count = priorities,
			      .full = priorities > SIM_PRIORITIES,
			      .reserve = no_reserve};
	fc->classes = util_calloc(classes, sizeof(*fc->classes));
	fc->gate_bytes = sizeof(struct sim_gate) + priorities * sizeof(struct sim_lane);
	fc->gates = util_calloc(node->port_count, fc->gate_bytes);
	if (!fc->classes || !fc->gates)
		return -ENOMEM;
	for (size_t i = 0; i < classes; i++)
		fc->classes[i].mark_above = UINT32_MAX;
	return 0;
}

void sim_fc_fini(struct sim_fc *fc)
{
	util_free(fc->classes);
	util_free(fc->gates);
	util_free(fc->storms_of);
}

void sim_fc_destroy(struct sim_fc *fc)
{
	if (fc)
		fc->ops->destroy(fc);
}

void sim_fc_pause(struct sim_fc *fc, uint32_t port, uint8_t priority, bool paused, ps_t at)
{
	struct sim_port *p = &fc->node->ports[port];
	struct sim_lane *lane = sim_fc_lane(fc, port, priority);

	if ((p->paused >> priority & 1) == paused)
		return;
	p->paused ^= (uint16_t)(1u << priority);
	if (fc->listener)
		fc->listener->on_gate(fc->listener, fc, port, priority, paused, at);
	if (paused)
		lane->paused_since = at;
	else
		lane->paused_time += at - lane->paused_since;
}

ps_t sim_fc_paused_time(const struct sim_fc *fc, uint32_t port, uint8_t priority, ps_t now)
{
	const struct sim_lane *lane = sim_fc_lane(fc, port, priority);
	ps_t time = lane->paused_time;

	/* A gate that waits for credit may have closed when a frame left, after @now. */
	if (fc->node->ports[port].paused >> priority & 1 && now > lane->paused_since)
		time += now - lane->paused_since;
	return time;
}

void sim_fc_receive(struct sim_fc *fc, struct sim_thread *th, const struct sim_pkt *pkt)
{
	if (pkt->frame == SIM_CONTROL) {
		fc->ops->on_control(fc, th, pkt->port, pkt);
	} else if (fc->ops->all) {
		const uint8_t priority = sim_pkt_priority(pkt, fc->priority_count);
		const enum sim_fc_verdict verdict =
			fc->ops->on_buffered(fc, th, pkt->port, priority, pkt->bytes, pkt->at);

		CHECK(verdict == SIM_FC_TAKEN);
		fc->ops->on_freed(fc, th, pkt->port, priority, pkt->bytes, pkt->at);
	}
}

void sim_control_make(struct sim_pkt *ret_pkt, uint32_t bytes, enum sim_control kind,
		      uint8_t classes, uint64_t value)
{
	const struct sim_control_body body = {
		.kind = (uint8_t)kind, .classes = classes, .value = value};

	*ret_pkt = (struct sim_pkt){
		.bytes = (uint16_t)bytes, .priority = 7, .frame = SIM_CONTROL, .ttl = 1};
	ret_pkt->body_words[0] = (uint64_t)body.classes << 8 | body.kind;
	ret_pkt->body_words[1] = body.value;
}

struct sim_control_body sim_control_read(const struct sim_pkt *pkt)
{
	return (struct sim_control_body){
		.kind = (uint8_t)pkt->body_words[0],
		.classes = (uint8_t)(pkt->body_words[0] >> 8),
		.value = pkt->body_words[1],
	};
}

/* ---- none: what does not fit is dropped ---- */

static bool none_may_send(const struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes)
{
	(void)fc;
	(void)port;
	(void)priority;
	(void)bytes;
	return true;
}

static void none_on_sent(struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes)
{
	(void)fc;
	(void)port;
	(void)priority;
	(void)bytes;
}

static void none_on_control(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
			    const struct sim_pkt *pkt)
{
	(void)th;
	(void)pkt;
	sim_fc_gate(fc, port)->controls_received++;
}

static bool none_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress)
{
	(void)priority;
	(void)ingress;
	return used <= fc->buffer_bytes;
}

static enum sim_fc_verdict none_on_buffered(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
					    uint8_t priority, uint32_t bytes, ps_t at)
{
	struct sim_class *class = sim_fc_class(fc, port, priority);

	(void)th;
	(void)at;
	if (fc->used + bytes > fc->buffer_bytes) {
		class->dropped++;
		fc->dropped_buffer++;
		return SIM_FC_DROPPED;
	}
	fc->used += bytes;
	class->ingress_bytes += bytes;
	return SIM_FC_TAKEN;
}

static void none_on_freed(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
			  uint32_t bytes, ps_t at)
{
	(void)th;
	(void)at;
	fc->used -= bytes;
	sim_fc_class(fc, port, priority)->ingress_bytes -= bytes;
}

static void none_on_timer(struct sim_fc *fc, struct sim_thread *th, ps_t at)
{
	(void)th;
	(void)at;
	fc->timer_at = PS_NEVER;
}

static void none_destroy(struct sim_fc *fc)
{
	sim_fc_fini(fc);
	util_free(fc);
}

static const struct sim_fc_ops none_ops = {
	.name = "none",
	.may_send = none_may_send,
	.on_sent = none_on_sent,
	.on_control = none_on_control,
	.quiet = none_quiet,
	.on_buffered = none_on_buffered,
	.on_freed = none_on_freed,
	.on_timer = none_on_timer,
	.destroy = none_destroy,
};

struct sim_fc *sim_fc_none(struct sim_node *node, uint64_t buffer_bytes)
{
	struct sim_fc *fc = util_alloc(sizeof(*fc));

	if (!fc)
		return NULL;
	if (sim_fc_init(fc, &none_ops, node, buffer_bytes) != 0) {
		none_destroy(fc);
		return NULL;
	}
	fc->quiet_used = buffer_bytes;
	fc->quiet_ingress = UINT32_MAX;
	return fc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/pfc.h"

#include "util/alloc.h"
#include "util/check.h"

enum { PAUSE_MAX = 65535, QUANTUM_BITS = 512 };

struct pfc {
	struct sim_fc fc; /* first */
	struct pfc_params params;
	uint64_t pool_bytes; /* the buffer less headrooms and reserves */
	uint32_t *headroom;  /* by port */
	ps_t *refresh_at;    /* by port and priority; PS_NEVER: none */
};

static struct pfc *pfc_of(struct sim_fc *fc)
{
	return container_of(fc, struct pfc, fc);
}

static bool lossless(const struct pfc *pfc, uint8_t priority)
{
	return pfc->params.lossless >> priority & 1;
}

/* ---- thresholds ---- */

static uint64_t xoff_threshold(const struct pfc *pfc, uint64_t used)
{
	const struct pfc_params *p = &pfc->params;

	if (!p->dynamic)
		return p->xoff_bytes;
	if (used >= pfc->pool_bytes)
		return 0;
	return (pfc->pool_bytes - used) * p->alpha_num / p->alpha_den;
}

static uint64_t xon_threshold(const struct pfc *pfc, uint64_t used)
{
	const uint64_t xoff = xoff_threshold(pfc, used);

	return xoff > pfc->params.resume_bytes ? xoff - pfc->params.resume_bytes : 0;
}

/* Everything within this rectangle is below its threshold; a sixteenth of what is free lies between
 * here and its edge. */
static void move_bounds(struct pfc *pfc, uint64_t used)
{
	uint64_t edge = pfc->pool_bytes, ingress;

	if (pfc->params.dynamic)
		edge = used + (pfc->pool_bytes - used) / 16;
	ingress = xoff_threshold(pfc, edge);
	pfc->fc.quiet_used = edge;
	pfc->fc.quiet_ingress = ingress > UINT32_MAX ? UINT32_MAX : (uint32_t)ingress;
}

static bool pfc_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress)
{
	struct pfc *pfc = pfc_of(fc);

	if (used > pfc->pool_bytes)
		return false;
	if (lossless(pfc, priority) && ingress > xoff_threshold(pfc, used))
		return false;
	move_bounds(pfc, used);
	return true;
}

/* ---- pause frames ---- */

static ps_t pause_time(const struct sim_port *port, uint64_t quanta)
{
	return (ps_t)(((u128)quanta * QUANTUM_BITS * PS_S + port->rate_bps - 1) / port->rate_bps);
}

static uint16_t pause_quanta(const struct pfc *pfc)
{
	return pfc->params.pause_quanta ? pfc->params.pause_quanta : PAUSE_MAX;
}

static void send_pause(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
		       uint16_t quanta, ps_t at)
{
	struct sim_pkt pkt;

	sim_control_make(&pkt, PFC_FRAME_BYTES, SIM_CONTROL_PFC, (uint8_t)(1u << priority), quanta);
	fc->gates[port].controls_sent += quanta > 0;
	fc->gates[port].resumes_sent += quanta == 0;
	fc->user->control(th, fc->node, port, &pkt, at);
}

/* The earliest refresh or end of a pause. */
static void find_timer(struct pfc *pfc)
{
	struct sim_fc *fc = &pfc->fc;

	fc->timer_at = PS_NEVER;
	if (!pfc->params.quanta)
		return;
	for (uint32_t i = 0; i < fc->node->port_count * SIM_PRIORITIES; i++) {
		const ps_t until = fc->gates[i / SIM_PRIORITIES].until[i % SIM_PRIORITIES];

		if (pfc->refresh_at[i] < fc->timer_at)
			fc->timer_at = pfc->refresh_at[i];
		if (until > 0 && until < fc->timer_at)
			fc->timer_at = until;
	}
}

static void refresh(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
		    ps_t at)
{
	const struct sim_port *p = &pfc->fc.node->ports[port];

	if (pfc->params.quanta)
		pfc->refresh_at[port * SIM_PRIORITIES + priority] =
			at + pause_time(p, pause_quanta(pfc)) / 2;
	send_pause(&pfc->fc, th, port, priority, pause_quanta(pfc), at);
}

/* ---- the buffer ---- */

static void stop_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
		      ps_t at)
{
	sim_fc_class(&pfc->fc, port, priority)->watched = 1;
	pfc->fc.eager_count++;
	refresh(pfc, th, port, priority, at);
	find_timer(pfc);
}

static void release_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
			 ps_t at)
{
	sim_fc_class(&pfc->fc, port, priority)->watched = 0;
	CHECK(pfc->fc.eager_count > 0);
	pfc->fc.eager_count--;
	pfc->refresh_at[port * SIM_PRIORITIES + priority] = PS_NEVER;
	find_timer(pfc);
	send_pause(&pfc->fc, th, port, priority, 0, at);
}

static enum sim_fc_verdict drop(struct sim_fc *fc, struct sim_class *class, uint64_t *counter)
{
	(void)fc;
	class->dropped++;
	++*counter;
	return SIM_FC_DROPPED;
}

static enum sim_fc_verdict pfc_on_buffered(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
					   const struct sim_pkt *pkt, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);
	struct sim_class *class = sim_fc_class(fc, port, pkt->priority);
	const uint64_t used = fc->used + pkt->bytes;
	const uint32_t ingress = class->ingress_bytes + pkt->bytes;
	const bool fits = used <= pfc->pool_bytes;
	const bool below = fits && ingress <= xoff_threshold(pfc, used);
	bool shared = fits;

	if (lossless(pfc, pkt->priority)) {
		/* What comes after XOFF and is in excess has its own place. */
		shared = class->watched ? below : fits;
		if (!shared && class->headroom_bytes + pkt->bytes > pfc->headroom[port])
			return drop(fc, class, &fc->dropped_headroom);
	} else if (!fits) {
		return drop(fc, class, &fc->dropped_buffer);
	}
	if (shared) {
		fc->used = used;
		class->ingress_bytes = ingress;
	} else {
		class->headroom_bytes += pkt->bytes;
	}
	if (fits)
		move_bounds(pfc, used);
	if (lossless(pfc, pkt->priority) && !below && !class->watched)
		stop_peer(pfc, th, port, pkt->priority, at);
	return SIM_FC_TAKEN;
}

/* The headroom empties first. */
static void pfc_on_freed(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
			 uint32_t bytes, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);
	struct sim_class *class = sim_fc_class(fc, port, priority);
	const uint32_t headroom = bytes < class->headroom_bytes ? bytes : class->headroom_bytes;

	CHECK(class->ingress_bytes >= bytes - headroom);
	class->headroom_bytes -= headroom;
	class->ingress_bytes -= bytes - headroom;
	fc->used -= bytes - headroom;
	if (class->headroom_bytes == 0 && class->ingress_bytes <= xon_threshold(pfc, fc->used))
		release_peer(pfc, th, port, priority, at);
}

/* ---- the gate ---- */

static bool pfc_may_send(const struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes)
{
	(void)bytes;
	return !(fc->node->ports[port].paused >> priority & 1);
}

static void pfc_on_sent(struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes)
{
	(void)fc;
	(void)port;
	(void)priority;
	(void)bytes;
}

/* A pause that runs out by itself is a timer, and timers are played in order. */
static void set_until(struct pfc *pfc, uint32_t port, uint8_t priority, ps_t until)
{
	ps_t *old = &pfc->fc.gates[port].until[priority];

	if (!pfc->params.quanta)
		return;
	pfc->fc.eager_count += until > 0;
	pfc->fc.eager_count -= *old > 0;
	*old = until;
}

static void pfc_on_control(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
			   const struct sim_pkt *pkt)
{
	struct pfc *pfc = pfc_of(fc);
	const struct sim_control_body body = sim_control_read(pkt);
	const ps_t time = pause_time(&fc->node->ports[port], body.value & PAUSE_MAX);

	if (body.kind != SIM_CONTROL_PFC)
		return;
	fc->gates[port].controls_received += body.value > 0;
	fc->gates[port].resumes_received += body.value == 0;
	for (uint8_t q = 0; q < SIM_PRIORITIES; q++) {
		if (!(body.classes >> q & 1))
			continue;
		set_until(pfc, port, q, body.value > 0 ? pkt->at + time : 0);
		sim_fc_pause(fc, port, q, body.value > 0, pkt->at);
	}
	find_timer(pfc);
	fc->user->gate(th, fc->node, port, pkt->at);
}

static void pfc_on_timer(struct sim_fc *fc, struct sim_thread *th, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);

	for (uint32_t port = 0; port < fc->node->port_count; port++)
		for (uint8_t q = 0; q < SIM_PRIORITIES; q++) {
			if (pfc->refresh_at[port * SIM_PRIORITIES + q] == at)
				refresh(pfc, th, port, q, at);
			if (fc->gates[port].until[q] != at)
				continue;
			set_until(pfc, port, q, 0);
			sim_fc_pause(fc, port, q, false, at);
			fc->user->gate(th, fc->node, port, at);
		}
	find_timer(pfc);
}

/* ---- creation ---- */

static void pfc_destroy(struct sim_fc *fc)
{
	struct pfc *pfc = pfc_of(fc);

	sim_fc_fini(fc);
	util_free(pfc->headroom);
	util_free(pfc->refresh_at);
	util_free(pfc);
}

static const struct sim_fc_ops pfc_ops = {
	.name = "pfc",
	.may_send = pfc_may_send,
	.on_sent = pfc_on_sent,
	.on_control = pfc_on_control,
	.quiet = pfc_quiet,
	.on_buffered = pfc_on_buffered,
	.on_freed = pfc_on_freed,
	.on_timer = pfc_on_timer,
	.destroy = pfc_destroy,
};

static void divide_buffer(struct pfc *pfc, uint32_t port_count)
{
	const struct pfc_params *p = &pfc->params;
	uint64_t taken = (uint64_t)p->reserve_bytes * port_count;

	if (p->buffer_bytes == 0)
		return;
	for (uint32_t i = 0; i < port_count; i++) {
		pfc->headroom[i] = p->headrooms ? p->headrooms[i] : p->headroom_bytes;
		taken += (uint64_t)pfc->headroom[i] * (uint32_t)__builtin_popcount(p->lossless);
	}
	CHECK(p->buffer_bytes > taken);
	CHECK(!p->dynamic || (p->alpha_num > 0 && p->alpha_den > 0));
	pfc->pool_bytes = p->buffer_bytes - taken;
	move_bounds(pfc, 0);
}

struct sim_fc *pfc_create(struct sim_node *node, const struct pfc_params *params)
{
	struct pfc *pfc = util_calloc(1, sizeof(*pfc));

	if (!pfc)
		return NULL;
	pfc->params = *params;
	pfc->headroom = util_calloc(node->port_count, sizeof(*pfc->headroom));
	pfc->refresh_at = util_calloc((size_t)node->port_count * SIM_PRIORITIES, sizeof(ps_t));
	if (sim_fc_init(&pfc->fc, &pfc_ops, node, params->buffer_bytes) != 0 || !pfc->headroom ||
	    !pfc->refresh_at) {
		pfc_destroy(&pfc->fc);
		return NULL;
	}
	for (uint32_t i = 0; i < node->port_count * SIM_PRIORITIES; i++)
		pfc->refresh_at[i] = PS_NEVER;
	for (uint32_t i = 0; i < node->port_count; i++)
		node->ports[i].control_delay = params->response_delay;
	divide_buffer(pfc, node->port_count);
	pfc->params.headrooms = NULL;
	return &pfc->fc;
}

static uint64_t bytes_in(uint64_t rate_bps, ps_t time)
{
	return (uint64_t)(((u128)rate_bps * time + 8 * PS_S - 1) / (8 * PS_S));
}

uint32_t pfc_headroom_bytes(const struct pfc_headroom *link)
{
	const uint64_t bytes = (uint64_t)link->frame_bytes_max + PFC_FRAME_BYTES +
			       bytes_in(link->rate_bps, 2 * link->delay + link->response_delay) +
			       link->lossless_bytes_max;

	return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

#include "sim/sim.h"
#include "util/alloc.h"

#include <errno.h>

static bool lossless(const struct pfc *pfc, uint8_t priority)
{
	return (uint32_t)pfc->params.lossless >> priority & 1;
}

/* ---- thresholds ---- */

static uint64_t share_of(const struct pfc *pfc, uint64_t used, uint32_t num, uint32_t den)
{
	return used < pfc->pool_bytes ? (pfc->pool_bytes - used) * num / den : 0;
}

static uint64_t xoff_threshold(const struct pfc *pfc, uint8_t priority, uint64_t used)
{
	const struct pfc_class *class = &pfc->classes[priority];

	return class->alpha_den ? share_of(pfc, used, class->alpha_num, class->alpha_den)
				: class->xoff_bytes;
}

static uint64_t xon_threshold(const struct pfc *pfc, uint8_t priority, uint64_t used)
{
	const uint64_t xoff = xoff_threshold(pfc, priority, used);
	const uint32_t below = pfc->classes[priority].resume_bytes;

	return xoff > below ? xoff - below : 0;
}

/* Everything within this rectangle is below its threshold; a sixteenth of what is free lies between
 * here and its edge. */
static void move_bounds(struct pfc *pfc, uint64_t used)
{
	uint64_t edge = pfc->pool_bytes, ingress = UINT32_MAX;

	if (pfc->dynamic)
		edge = used + (pfc->pool_bytes - used) / 16;
	for (uint8_t i = 0; i < pfc->kind_count; i++) {
		const uint64_t xoff = xoff_threshold(pfc, pfc->kinds[i], edge);

		ingress = xoff < ingress ? xoff : ingress;
	}
	pfc->fc.quiet_used = edge;
	pfc->fc.quiet_ingress = (uint32_t)ingress;
}

static bool pfc_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress)
{
	struct pfc *pfc = pfc_of(fc);

	if (used > pfc->pool_bytes || ingress > xoff_threshold(pfc, priority, used))
		return false;
	move_bounds(pfc, used);
	return true;
}

static bool pfc_may_queue(const struct sim_fc *fc, uint8_t priority, uint32_t queue_bytes)
{
	const struct pfc *pfc = (const struct pfc *)(const void *)fc;
	const struct pfc_class *class = &pfc->classes[priority];

	return !class->queue_den ||
	       queue_bytes <= share_of(pfc, fc->used, class->queue_num, class->queue_den);
}

static uint64_t pfc_limit(const struct sim_fc *fc, uint8_t priority)
{
	const struct pfc *pfc = (const struct pfc *)(const void *)fc;

	return lossless(pfc, priority) ? xoff_threshold(pfc, priority, fc->used) : 0;
}

/* ---- the buffer ---- */

static enum sim_fc_verdict link_pfc_drop(struct sim_fc *fc, uint32_t port, uint8_t priority,
					 uint32_t bytes, ps_t at, uint64_t *counter)
{
	sim_fc_class(fc, port, priority)->dropped++;
	++*counter;
	if (fc->listener)
		fc->listener->on_drop(fc->listener, fc, port, priority, bytes, at);
	return SIM_FC_DROPPED;
}

static void tell_limit(struct pfc *pfc, uint32_t port, uint8_t priority, bool paused,
		       uint64_t limit, ps_t at)
{
	const struct sim_class *class = sim_fc_class(&pfc->fc, port, priority);
	struct sim_fc_listener *listener = pfc->fc.listener;

	if (listener)
		listener->on_limit(listener, &pfc->fc, port, priority, paused,
				   (uint64_t) class->ingress_bytes + class->headroom_bytes, limit,
				   at);
}

static bool headroom_fits(const struct pfc *pfc, uint32_t port, const struct sim_class *class,
			  uint32_t bytes)
{
	return class->headroom_bytes + bytes <= pfc->headroom[port] &&
	       (!pfc->params.headroom_pool_bytes || bytes <= pfc->headroom_left);
}

static enum sim_fc_verdict pfc_on_buffered(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
					   uint8_t priority, uint32_t bytes, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);
	struct sim_class *class = sim_fc_class(fc, port, priority);
	const uint64_t used =
		fc->used + (fc->full ? sim_fc_shared(fc, class, priority, bytes) : bytes);
	const uint32_t ingress = class->ingress_bytes + bytes;
	const bool fits = used <= pfc->pool_bytes;
	const bool below = fits && ingress <= xoff_threshold(pfc, priority, used);
	bool shared = fits;

	if (lossless(pfc, priority)) {
		/* What comes after XOFF and is in excess has its own place. */
		shared = class->watched ? below : fits;
		if (!shared && !headroom_fits(pfc, port, class, bytes))
			return link_pfc_drop(fc, port, priority, bytes, at, &fc->dropped_headroom);
	} else if (!below) {
		return link_pfc_drop(fc, port, priority, bytes, at, &fc->dropped_buffer);
	}
	if (shared) {
		fc->used = used;
		class->ingress_bytes = ingress;
	} else {
		class->headroom_bytes += bytes;
		pfc->headroom_left -= bytes;
	}
	if (fits)
		move_bounds(pfc, used);
	if (lossless(pfc, priority) && !below && !class->watched) {
		tell_limit(pfc, port, priority, true, xoff_threshold(pfc, priority, used), at);
		pfc_stop_peer(pfc, th, port, priority, at);
	}
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
	pfc->headroom_left += headroom;
	class->ingress_bytes -= bytes - headroom;
	fc->used -=
		fc->full ? sim_fc_shared(fc, class, priority, bytes - headroom) : bytes - headroom;
	if (class->headroom_bytes == 0 &&
	    class->ingress_bytes <= xon_threshold(pfc, priority, fc->used)) {
		tell_limit(pfc, port, priority, false, xon_threshold(pfc, priority, fc->used), at);
		pfc_release_peer(pfc, th, port, priority, at);
	}
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

/* ---- creation ---- */

static void pfc_destroy(struct sim_fc *fc)
{
	struct pfc *pfc = pfc_of(fc);

	sim_fc_fini(fc);
	util_free(pfc->reserve);
	util_free(pfc->headroom);
	util_free(pfc->refresh_at);
	util_free(pfc->watch);
	util_free(pfc->outages);
	util_free(pfc);
}

static const struct sim_fc_ops pfc_ops = {
	.name = "pfc",
	.may_send = pfc_may_send,
	.on_sent = pfc_on_sent,
	.on_control = pfc_on_control,
	.quiet = pfc_quiet,
	.may_queue = pfc_may_queue,
	.limit = pfc_limit,
	.on_buffered = pfc_on_buffered,
	.on_freed = pfc_on_freed,
	.on_timer = pfc_on_timer,
	.outage = pfc_outage,
	.destroy = pfc_destroy,
};

/* Where the classes are not given, lossless ones have the common threshold and others none. */
static void link_pfc_classify(struct pfc *pfc)
{
	const struct pfc_params *p = &pfc->params;

	for (uint8_t q = 0; q < pfc->fc.priority_count; q++) {
		struct pfc_class *class = &pfc->classes[q];

		if (p->classes)
			*class = p->classes[q];
		else if (!lossless(pfc, q))
			*class = (struct pfc_class){.xoff_bytes = UINT32_MAX};
		else
			*class = (struct pfc_class){.alpha_num = p->alpha_num,
						    .alpha_den = p->dynamic ? p->alpha_den : 0,
						    .xoff_bytes = p->xoff_bytes,
						    .resume_bytes = p->resume_bytes,
						    .reserve_bytes = p->reserve_bytes};
		pfc->fc.full |= class->reserve_bytes > 0 || class->queue_den > 0;
		pfc->dynamic = pfc->dynamic || class->alpha_den > 0;
	}
	pfc->fc.full |= p->watchdog != NULL;
	pfc->params.classes = NULL;
}

/* Once they are classified. -ENOMEM. */
static int set_reserves(struct pfc *pfc)
{
	bool any = false;

	for (uint32_t q = 0; q < pfc->fc.priority_count; q++)
		any = any || pfc->classes[q].reserve_bytes > 0;
	if (!any)
		return 0;
	pfc->reserve = util_calloc(pfc->fc.priority_count, sizeof(*pfc->reserve));
	for (uint32_t q = 0; pfc->reserve && q < pfc->fc.priority_count; q++)
		pfc->reserve[q] = pfc->classes[q].reserve_bytes;
	pfc->fc.reserve = pfc->reserve;
	return pfc->reserve ? 0 : -ENOMEM;
}

static bool same_threshold(const struct pfc_class *a, const struct pfc_class *b)
{
	return a->alpha_num == b->alpha_num && a->alpha_den == b->alpha_den &&
	       a->xoff_bytes == b->xoff_bytes;
}

/* One priority for each threshold that there is. */
static void find_kinds(struct pfc *pfc)
{
	for (uint8_t q = 0; q < pfc->fc.priority_count; q++) {
		const struct pfc_class *class = &pfc->classes[q];
		bool known = !class->alpha_den && class->xoff_bytes == UINT32_MAX;

		for (uint8_t i = 0; i < pfc->kind_count; i++)
			known = known || same_threshold(&pfc->classes[pfc->kinds[i]], class);
		if (!known)
			pfc->kinds[pfc->kind_count++] = q;
	}
}

static void divide_buffer(struct pfc *pfc, uint32_t port_count)
{
	const struct pfc_params *p = &pfc->params;
	uint64_t reserves = 0, headrooms = 0;

	if (p->buffer_bytes == 0)
		return;
	for (uint8_t q = 0; q < pfc->fc.priority_count; q++)
		reserves += (uint64_t)pfc->classes[q].reserve_bytes * port_count;
	for (uint32_t i = 0; i < port_count; i++) {
		pfc->headroom[i] = p->headrooms ? p->headrooms[i] : p->headroom_bytes;
		headrooms += (uint64_t)pfc->headroom[i] * (uint32_t)__builtin_popcount(p->lossless);
	}
	pfc->headroom_left = p->headroom_pool_bytes ? p->headroom_pool_bytes : headrooms;
	CHECK(p->buffer_bytes > reserves + pfc->headroom_left);
	pfc->pool_bytes = p->buffer_bytes - reserves - pfc->headroom_left;
	find_kinds(pfc);
	move_bounds(pfc, 0);
}

struct sim_fc *pfc_create(struct sim_node *node, const struct pfc_params *params)
{
	const uint32_t priorities = sim_priority_count(node->sim);
	struct pfc *pfc = util_calloc(1, sizeof(*pfc) + priorities * sizeof(pfc->classes[0]));

	CHECK(priorities == SIM_PRIORITIES || params->lossless == 0);
	if (!pfc)
		return NULL;
	pfc->params = *params;
	pfc->outage_at = PS_NEVER;
	pfc->headroom = util_calloc(node->port_count, sizeof(*pfc->headroom));
	if (sim_fc_init(&pfc->fc, &pfc_ops, node, params->buffer_bytes) != 0 || !pfc->headroom ||
	    pfc_refresh_init(pfc) != 0 || pfc_watch_init(pfc) != 0) {
		pfc_destroy(&pfc->fc);
		return NULL;
	}
	for (uint32_t i = 0; i < node->port_count; i++)
		node->ports[i].control_delay = params->response_delay;
	link_pfc_classify(pfc);
	if (set_reserves(pfc) != 0) {
		pfc_destroy(&pfc->fc);
		return NULL;
	}
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

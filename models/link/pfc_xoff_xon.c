/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

/* When the other end is to stop (XOFF) and when it may go on (XON, the resume): thresholds over
 * what waits here of its packets, the shared buffer and the headroom behind it. */

/* ---- thresholds ---- */

static uint64_t share_of(const struct pfc *pfc, uint64_t used, uint32_t num, uint32_t den)
{
	return used < pfc->pool_bytes ? (pfc->pool_bytes - used) * num / den : 0;
}

static uint64_t xoff_threshold(const struct pfc *pfc, const struct pfc_class *class, uint64_t used)
{
	return class->alpha_den ? share_of(pfc, used, class->alpha_num, class->alpha_den)
				: class->xoff_bytes;
}

static uint64_t xon_threshold(const struct pfc *pfc, const struct pfc_class *class, uint64_t used)
{
	const uint64_t xoff = xoff_threshold(pfc, class, used);
	const uint32_t below = class->resume_bytes;

	return xoff > below ? xoff - below : 0;
}

/* Everything within this rectangle is below its threshold; a sixteenth of what is free lies between
 * here and its edge. */
void pfc_move_bounds(struct pfc *pfc, uint64_t used)
{
	uint64_t edge = pfc->pool_bytes, ingress = UINT32_MAX;

	if (pfc->dynamic)
		edge = used + (pfc->pool_bytes - used) / 16;
	for (uint8_t i = 0; i < pfc->kind_count; i++) {
		const uint64_t xoff = xoff_threshold(pfc, &pfc->classes[pfc->kinds[i]], edge);

		ingress = xoff < ingress ? xoff : ingress;
	}
	pfc->fc.quiet_used = edge;
	pfc->fc.quiet_ingress = (uint32_t)ingress;
}

bool pfc_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress)
{
	struct pfc *pfc = pfc_of(fc);

	if (used > pfc->pool_bytes || ingress > xoff_threshold(pfc, &pfc->classes[priority], used))
		return false;
	pfc_move_bounds(pfc, used);
	return true;
}

bool pfc_may_queue(const struct sim_fc *fc, uint8_t priority, uint32_t queue_bytes)
{
	const struct pfc *pfc = (const struct pfc *)(const void *)fc;
	const struct pfc_class *class = &pfc->classes[priority];

	return !class->queue_den ||
	       queue_bytes <= share_of(pfc, fc->used, class->queue_num, class->queue_den);
}

uint64_t pfc_limit(const struct sim_fc *fc, uint32_t port, uint8_t priority)
{
	const struct pfc *pfc = (const struct pfc *)(const void *)fc;

	return pfc_is_lossless(pfc, priority)
		       ? xoff_threshold(pfc, pfc_class_at(pfc, port, priority), fc->used)
		       : 0;
}

/* ---- the buffer ---- */

static enum sim_fc_verdict link_pfc_drop(struct sim_fc *fc, uint32_t port, uint8_t priority,
					 uint64_t *counter)
{
	sim_fc_class(fc, port, priority)->dropped++;
	++*counter;
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

enum sim_fc_verdict pfc_on_buffered(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
				    uint8_t priority, uint32_t bytes, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);
	struct sim_class *class = sim_fc_class(fc, port, priority);
	const struct pfc_class *rules = pfc_class_at(pfc, port, priority);
	const uint64_t used =
		fc->used + (fc->full ? sim_fc_shared(fc, class, priority, bytes) : bytes);
	const uint32_t ingress = class->ingress_bytes + bytes;
	const bool fits = used <= pfc->pool_bytes;
	const bool below = fits && ingress <= xoff_threshold(pfc, rules, used);
	bool shared = fits;

	if (pfc_is_lossless(pfc, priority)) {
		/* What comes after XOFF and is in excess has its own place. */
		shared = class->watched ? below : fits;
		if (!shared && !headroom_fits(pfc, port, class, bytes))
			return link_pfc_drop(fc, port, priority, &fc->dropped_headroom);
	} else if (!below) {
		return link_pfc_drop(fc, port, priority, &fc->dropped_buffer);
	}
	if (shared) {
		fc->used = used;
		class->ingress_bytes = ingress;
	} else {
		class->headroom_bytes += bytes;
		pfc->headroom_left -= bytes;
	}
	if (fits)
		pfc_move_bounds(pfc, used);
	if (pfc_is_lossless(pfc, priority) && !below && !class->watched) {
		tell_limit(pfc, port, priority, true, xoff_threshold(pfc, rules, used), at);
		pfc_stop_peer(pfc, th, port, priority, at);
	}
	return SIM_FC_TAKEN;
}

/* The headroom empties first. */
void pfc_on_freed(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
		  uint32_t bytes, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);
	struct sim_class *class = sim_fc_class(fc, port, priority);
	const struct pfc_class *rules = pfc_class_at(pfc, port, priority);
	const uint32_t headroom = bytes < class->headroom_bytes ? bytes : class->headroom_bytes;

	CHECK(class->ingress_bytes >= bytes - headroom);
	class->headroom_bytes -= headroom;
	pfc->headroom_left += headroom;
	class->ingress_bytes -= bytes - headroom;
	fc->used -=
		fc->full ? sim_fc_shared(fc, class, priority, bytes - headroom) : bytes - headroom;
	if (class->headroom_bytes == 0 &&
	    class->ingress_bytes <= xon_threshold(pfc, rules, fc->used)) {
		tell_limit(pfc, port, priority, false, xon_threshold(pfc, rules, fc->used), at);
		pfc_release_peer(pfc, th, port, priority, at);
	}
}

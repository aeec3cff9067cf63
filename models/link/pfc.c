/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

#include "sim/sim.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

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
		else if (!pfc_is_lossless(pfc, q))
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

static bool less_share(const struct pfc_share *a, const struct pfc_share *b)
{
	return (uint64_t)a->num * b->den < (uint64_t)b->num * a->den;
}

/* Where shares go by port each has classes of its own; those of all have the least share, for
 * bounds that hold at any. */
static void classify_ports(struct pfc *pfc, uint32_t port_count)
{
	const struct pfc_params *p = &pfc->params;
	const uint32_t priorities = pfc->fc.priority_count;
	const struct pfc_share *least = p->shares;

	pfc->at_port = pfc->classes;
	if (!p->shares)
		return;
	pfc->at_port += priorities;
	pfc->port_stride = priorities;
	for (uint32_t port = 0; port < port_count; port++) {
		struct pfc_class *own = &pfc->classes[(port + 1) * priorities];

		memcpy(own, pfc->classes, priorities * sizeof(*own));
		for (uint32_t q = 0; q < priorities; q++)
			if ((uint32_t)p->alpha_by_port >> q & 1) {
				own[q].alpha_num = p->shares[port].num;
				own[q].alpha_den = p->shares[port].den;
			}
		least = less_share(&p->shares[port], least) ? &p->shares[port] : least;
	}
	for (uint32_t q = 0; q < priorities; q++)
		if ((uint32_t)p->alpha_by_port >> q & 1) {
			pfc->classes[q].alpha_num = least->num;
			pfc->classes[q].alpha_den = least->den;
		}
	pfc->params.shares = NULL;
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
	pfc_move_bounds(pfc, 0);
}

uint64_t pfc_pool_bytes(const struct sim_fc *fc)
{
	return ((const struct pfc *)fc)->pool_bytes;
}

struct sim_fc *pfc_create(struct sim_node *node, const struct pfc_params *params)
{
	const uint32_t priorities = sim_priority_count(node->sim);
	const size_t rows = params->shares ? 1 + (size_t)node->port_count : 1;
	struct pfc *pfc =
		util_calloc(1, sizeof(*pfc) + rows * priorities * sizeof(pfc->classes[0]));

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
	classify_ports(pfc, node->port_count);
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

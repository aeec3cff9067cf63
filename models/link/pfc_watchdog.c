/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"
#include "util/alloc.h"

#include <errno.h>

/* Looks every so often, as SONiC's pfcwd does: a port and priority that has been paused without a
 * break for the detection time, with frames waiting, is in a storm; one in a storm at which no
 * pause came in for the restoration time is well again. */

int pfc_watch_init(struct pfc *pfc)
{
	const size_t count = (size_t)pfc->fc.node->port_count * pfc->fc.priority_count;

	pfc->poll_at = PS_NEVER;
	if (!pfc->params.watchdog)
		return 0;
	CHECK(pfc->params.watchdog->poll > 0);
	pfc->watch = util_calloc(count, sizeof(*pfc->watch));
	pfc->fc.storms_of = util_calloc(count, sizeof(*pfc->fc.storms_of));
	return pfc->watch && pfc->fc.storms_of ? 0 : -ENOMEM;
}

/* The next look is at a multiple of the period, and a timer. */
static void look_again(struct pfc *pfc, ps_t at)
{
	const ps_t poll = pfc->params.watchdog->poll;

	if (pfc->poll_at == PS_NEVER)
		pfc->fc.eager_count++;
	pfc->poll_at = (at / poll + 1) * poll;
}

static void look_no_more(struct pfc *pfc)
{
	pfc->poll_at = PS_NEVER;
	CHECK(pfc->fc.eager_count > 0);
	pfc->fc.eager_count--;
}

bool pfc_watch_pause(struct pfc *pfc, uint32_t port, uint8_t priority, ps_t at)
{
	struct pfc_watch *watch = &pfc->watch[port * pfc->fc.priority_count + priority];

	watch->heard_at = at;
	if (pfc->poll_at == PS_NEVER)
		look_again(pfc, at);
	return !watch->storm;
}

static void begin_storm(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
			ps_t at)
{
	struct sim_fc *fc = &pfc->fc;

	pfc->watch[port * pfc->fc.priority_count + priority].storm = true;
	fc->storms++;
	fc->storms_of[port * pfc->fc.priority_count + priority].found++;
	if (pfc->params.watchdog->drops)
		fc->user->shut(th, fc->node, port, priority, at);
	pfc_set_until(pfc, port, priority, 0);
	sim_fc_pause(fc, port, priority, false, at);
	fc->user->gate(th, fc->node, port, at);
}

static void end_storm(struct pfc *pfc, uint32_t port, uint8_t priority)
{
	pfc->watch[port * pfc->fc.priority_count + priority].storm = false;
	pfc->fc.storms_of[port * pfc->fc.priority_count + priority].over++;
	sim_fc_class(&pfc->fc, port, priority)->shut = 0;
}

void pfc_watch_poll(struct pfc *pfc, struct sim_thread *th, ps_t at)
{
	const struct pfc_watchdog *dog = pfc->params.watchdog;
	struct sim_fc *fc = &pfc->fc;
	bool more = false;

	for (uint32_t port = 0; port < fc->node->port_count; port++)
		for (uint8_t q = 0; q < fc->priority_count; q++) {
			struct pfc_watch *watch = &pfc->watch[port * pfc->fc.priority_count + q];
			const bool paused = fc->node->ports[port].paused >> q & 1;

			if (watch->storm && at - watch->heard_at >= dog->restoration)
				end_storm(pfc, port, q);
			else if (!watch->storm && paused && sim_fc_class(fc, port, q)->count > 0 &&
				 at - sim_fc_lane(fc, port, q)->paused_since >= dog->detection)
				begin_storm(pfc, th, port, q, at);
			more = more || paused || watch->storm;
		}
	if (more)
		look_again(pfc, at);
	else
		look_no_more(pfc);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

#include "util/alloc.h"

#include <errno.h>

/* Links that go down and come back. Who sends nothing that arrives obeys no pause: what waits for
 * the link goes the way of all frames on it, and holds up nobody else. Whose pauses and resumes
 * were lost says how things are as soon as he is heard again. */

int pfc_outage(struct sim_fc *fc, uint32_t port, ps_t at, bool back)
{
	struct pfc *pfc = pfc_of(fc);
	uint32_t i = pfc->outage_count;
	void *outages = util_realloc(pfc->outages, i + 1, sizeof(*pfc->outages));

	if (!outages)
		return -ENOMEM;
	pfc->outages = outages;
	for (; i > 0 && pfc->outages[i - 1].at > at; i--)
		pfc->outages[i] = pfc->outages[i - 1];
	pfc->outages[i] = (struct pfc_outage){.at = at, .port = port, .back = back};
	pfc->outage_count++;
	return 0;
}

static bool has_said(const struct pfc *pfc, uint32_t port, uint8_t priority)
{
	return sim_fc_lane(&pfc->fc, port, priority)->pauses_sent > 0;
}

/* Whether anything would come of it, as things are. */
static bool matters(const struct pfc *pfc, const struct pfc_outage *outage)
{
	bool said = false;

	for (uint8_t q = 0; outage->back && q < pfc->fc.priority_count; q++)
		said = said || has_said(pfc, outage->port, q);
	return said || (!outage->back && pfc->fc.node->ports[outage->port].paused != 0);
}

void pfc_outage_find(struct pfc *pfc)
{
	const ps_t old = pfc->outage_at;
	uint32_t i = pfc->outage_next;

	while (i < pfc->outage_count && !matters(pfc, &pfc->outages[i]))
		i++;
	pfc->outage_at = i < pfc->outage_count ? pfc->outages[i].at : PS_NEVER;
	pfc->fc.eager_count += pfc->outage_at != PS_NEVER;
	pfc->fc.eager_count -= old != PS_NEVER;
}

void pfc_outage_pass(struct pfc *pfc, ps_t at)
{
	while (pfc->outage_next < pfc->outage_count && pfc->outages[pfc->outage_next].at <= at)
		pfc->outage_next++;
}

static void forget(struct pfc *pfc, struct sim_thread *th, uint32_t port, ps_t at)
{
	struct sim_fc *fc = &pfc->fc;

	for (uint8_t q = 0; q < pfc->fc.priority_count; q++) {
		pfc_set_until(pfc, port, q, 0);
		sim_fc_pause(fc, port, q, false, at);
	}
	fc->user->gate(th, fc->node, port, at);
}

static void say_again(struct pfc *pfc, struct sim_thread *th, uint32_t port, ps_t at)
{
	for (uint8_t q = 0; q < pfc->fc.priority_count; q++)
		if (has_said(pfc, port, q))
			pfc_say(pfc, th, port, q, at);
}

void pfc_outage_timer(struct pfc *pfc, struct sim_thread *th, ps_t at)
{
	pfc_outage_pass(pfc, at - 1);
	for (uint32_t i = pfc->outage_next; i < pfc->outage_count; i++) {
		const struct pfc_outage *outage = &pfc->outages[i];

		if (outage->at > at)
			break;
		if (outage->back)
			say_again(pfc, th, outage->port, at);
		else
			forget(pfc, th, outage->port, at);
	}
	pfc_outage_pass(pfc, at);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

#include "util/alloc.h"

#include <errno.h>

/* A pause: the frames that say it, and until when one holds that was heard. */

enum { QUANTUM_BITS = 512 };

ps_t pfc_pause_time(const struct sim_port *port, uint64_t quanta)
{
	return (ps_t)(((u128)quanta * QUANTUM_BITS * PS_S + port->rate_bps - 1) / port->rate_bps);
}

static uint16_t pause_quanta(const struct pfc *pfc)
{
	return pfc->params.pause_quanta ? pfc->params.pause_quanta : PFC_QUANTA_MAX;
}

/* ---- sent ---- */

void pfc_send(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
	      uint16_t quanta, ps_t at)
{
	struct sim_pkt pkt;

	sim_control_make(&pkt, PFC_FRAME_BYTES, SIM_CONTROL_PFC, (uint8_t)(1u << priority), quanta);
	sim_fc_gate(fc, port)->controls_sent += quanta > 0;
	sim_fc_gate(fc, port)->resumes_sent += quanta == 0;
	sim_fc_lane(fc, port, priority)->pauses_sent += quanta > 0;
	sim_fc_lane(fc, port, priority)->resumes_sent += quanta == 0;
	fc->user->control(th, fc->node, port, &pkt, at);
}

int pfc_refresh_init(struct pfc *pfc)
{
	const size_t count = (size_t)pfc->fc.node->port_count * pfc->fc.priority_count;

	if (!pfc->params.quanta)
		return 0;
	pfc->refresh_at = util_calloc(count, sizeof(ps_t));
	for (size_t i = 0; pfc->refresh_at && i < count; i++)
		pfc->refresh_at[i] = PS_NEVER;
	return pfc->refresh_at ? 0 : -ENOMEM;
}

void pfc_refresh(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority, ps_t at)
{
	const struct sim_port *p = &pfc->fc.node->ports[port];

	if (pfc->params.quanta)
		pfc->refresh_at[port * pfc->fc.priority_count + priority] =
			at + pfc_pause_time(p, pause_quanta(pfc)) / 2;
	pfc_send(&pfc->fc, th, port, priority, pause_quanta(pfc), at);
}

void pfc_say(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority, ps_t at)
{
	if (sim_fc_class(&pfc->fc, port, priority)->watched)
		pfc_refresh(pfc, th, port, priority, at);
	else
		pfc_send(&pfc->fc, th, port, priority, 0, at);
}

/* ---- obeyed ---- */

/* A pause that runs out by itself is a timer, and timers are played in order. */
void pfc_set_until(struct pfc *pfc, uint32_t port, uint8_t priority, ps_t until)
{
	ps_t *old = &sim_fc_lane(&pfc->fc, port, priority)->until;

	if (!pfc->params.quanta)
		return;
	pfc->fc.eager_count += until > 0;
	pfc->fc.eager_count -= *old > 0;
	*old = until;
}

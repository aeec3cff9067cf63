/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/pfc_internal.h"

/* The other end of a link: stopped and let go, obeyed; and the one timer of all that goes on. */

/* The earliest refresh, end of a pause, look of the watchdog or change of a link. */
void pfc_find_timer(struct pfc *pfc)
{
	struct sim_fc *fc = &pfc->fc;

	pfc_outage_find(pfc);
	fc->timer_at = pfc->poll_at < pfc->outage_at ? pfc->poll_at : pfc->outage_at;
	if (!pfc->params.quanta)
		return;
	for (uint32_t i = 0; i < fc->node->port_count * fc->priority_count; i++) {
		const ps_t until =
			sim_fc_lane(fc, i / fc->priority_count, i % fc->priority_count)->until;

		if (pfc->refresh_at[i] < fc->timer_at)
			fc->timer_at = pfc->refresh_at[i];
		if (until > 0 && until < fc->timer_at)
			fc->timer_at = until;
	}
}

void pfc_stop_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority, ps_t at)
{
	pfc_outage_pass(pfc, at);
	sim_fc_class(&pfc->fc, port, priority)->watched = 1;
	pfc->fc.eager_count++;
	pfc_refresh(pfc, th, port, priority, at);
	pfc_find_timer(pfc);
}

void pfc_release_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
		      ps_t at)
{
	sim_fc_class(&pfc->fc, port, priority)->watched = 0;
	CHECK(pfc->fc.eager_count > 0);
	pfc->fc.eager_count--;
	if (pfc->params.quanta)
		pfc->refresh_at[port * pfc->fc.priority_count + priority] = PS_NEVER;
	pfc_find_timer(pfc);
	pfc_send(&pfc->fc, th, port, priority, 0, at);
}

void pfc_on_control(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
		    const struct sim_pkt *pkt)
{
	struct pfc *pfc = pfc_of(fc);
	const struct sim_control_body body = sim_control_read(pkt);
	ps_t time = 0;

	if (body.kind != SIM_CONTROL_PFC)
		return;
	pfc_outage_pass(pfc, pkt->at);
	sim_fc_gate(fc, port)->controls_received += body.value > 0;
	sim_fc_gate(fc, port)->resumes_received += body.value == 0;
	if (pfc->params.quanta)
		time = pfc_pause_time(&fc->node->ports[port], body.value & PFC_QUANTA_MAX);
	for (uint32_t rest = body.classes; rest; rest &= rest - 1) {
		const uint8_t q = (uint8_t)__builtin_ctz(rest);
		bool paused = body.value > 0;

		sim_fc_lane(fc, port, q)->pauses_received += paused;
		sim_fc_lane(fc, port, q)->resumes_received += !paused;
		if (paused && pfc->watch)
			paused = pfc_watch_pause(pfc, port, q, pkt->at);
		pfc_set_until(pfc, port, q, paused ? pkt->at + time : 0);
		sim_fc_pause(fc, port, q, paused, pkt->at);
	}
	pfc_find_timer(pfc);
	fc->user->gate(th, fc->node, port, pkt->at);
}

void pfc_on_timer(struct sim_fc *fc, struct sim_thread *th, ps_t at)
{
	struct pfc *pfc = pfc_of(fc);

	if (pfc->outage_at == at)
		pfc_outage_timer(pfc, th, at);
	for (uint32_t port = 0; pfc->params.quanta && port < fc->node->port_count; port++)
		for (uint8_t q = 0; q < fc->priority_count; q++) {
			if (pfc->refresh_at[port * pfc->fc.priority_count + q] == at)
				pfc_refresh(pfc, th, port, q, at);
			if (sim_fc_lane(fc, port, q)->until != at)
				continue;
			pfc_set_until(pfc, port, q, 0);
			sim_fc_pause(fc, port, q, false, at);
			fc->user->gate(th, fc->node, port, at);
		}
	if (pfc->poll_at == at)
		pfc_watch_poll(pfc, th, at);
	pfc_find_timer(pfc);
}

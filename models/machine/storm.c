/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/storm.h"

#include "models/link/pfc.h"
#include "util/check.h"
#include "util/siphash.h"

enum { QUANTA = 65535, QUANTUM_BITS = 512 };

static void blow(struct sim_local_event *event, void *context)
{
	struct host_storm *storm = container_of(event, struct host_storm, event);
	struct host *host = context;
	const bool over = host->now >= storm->until;
	const uint64_t quanta = over ? 0 : QUANTA;
	struct sim_pkt pkt;

	sim_control_make(&pkt, PFC_FRAME_BYTES, SIM_CONTROL_PFC, storm->priorities, quanta);
	sim_fc_gate(host->fc, 0)->controls_sent += !over;
	sim_fc_gate(host->fc, 0)->resumes_sent += over;
	host->fc->user->control(host->th, &host->node, 0, &pkt, host->now);
	if (over)
		return;
	sim_local_schedule(&host->local, event,
			   storm->until - host->now < storm->period ? storm->until
								    : host->now + storm->period);
}

void host_storm_start(struct host_storm *storm, struct host *host,
		      const struct host_storm_params *params)
{
	const uint64_t rate = host->node.ports[0].rate_bps;

	*storm = (struct host_storm){
		.priorities = params->priorities,
		.until = params->until,
		.period = (ps_t)((u128)QUANTA * QUANTUM_BITS * PS_S / rate / 2),
	};
	storm->event =
		(struct sim_local_event){.key = util_hash_name("storm") + params->priorities +
						((uint64_t)params->number << 8),
					 .phase = SIM_LOCAL_TIMER,
					 .fn = blow};
	sim_local_schedule(&host->local, &storm->event, params->from);
}

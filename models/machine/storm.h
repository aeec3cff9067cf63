/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_STORM_H
#define MODELS_HOST_STORM_H

/* A host gone mad: it pauses priorities again and again, however free it is (the NIC PFC storm of
 * Guo et al., SIGCOMM 2016, section 4.3). A pause of 65,535 quanta is renewed at half its time; at
 * the end it is taken back. */
#include "models/machine/host.h"

struct host_storm {
	struct sim_local_event event;
	uint8_t priorities; /* mask */
	ps_t until, period;
};

struct host_storm_params {
	uint8_t priorities; /* mask */
	ps_t from, until;
	uint32_t number; /* of its equals, those of the host with these priorities: 0, 1, ... */
};

/* Before the run, once the host is attached. @storm stays the caller's until the run is over. */
void host_storm_start(struct host_storm *storm, struct host *host,
		      const struct host_storm_params *params);

#endif

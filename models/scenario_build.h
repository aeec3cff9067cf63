/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_BUILD_H
#define MODELS_SCENARIO_BUILD_H

/* What a fabric is built from and has to live as long as it. */
#include "models/host_storm.h"
#include "models/scenario_internal.h"
#include "sim/fault.h"

struct scenario_built_switch {
	struct pfc_params pfc;
	struct pfc_class classes[SIM_PRIORITIES];
	struct pfc_watchdog watchdog;
	struct credit_params credit;
	struct ecn ecn;
	struct sim_switch_params more;
	struct fabric_switch_params params;
};

struct scenario_built {
	struct scenario_built_switch *switches; /* that of all, then one of each group */
	const struct fabric_switch_params **switch_of; /* by node of the topology; NULL: as all */
	struct host_params host;
	const struct host_rx_params **rx_of; /* by node of the topology; NULL: none is slow */
	struct host_storm *storms;
	struct sim_fault *faults; /* two a fault: one a direction; and one a direction of a link */
};

/* Fills @ret_built->switches and switch_of. -ENOMEM. */
int scenario_build_switches(const struct scenario *s, struct scenario_built *ret_built);

#endif

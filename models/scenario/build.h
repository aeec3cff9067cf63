/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_BUILD_H
#define MODELS_SCENARIO_BUILD_H

/* What a fabric is built from and has to live as long as it. */
#include "models/machine/storm.h"
#include "models/scenario/internal.h"
#include "sim/fault.h"

struct scenario_built_switch {
	struct pfc_params pfc;
	struct pfc_class classes[SIM_PRIORITIES_MAX];
	struct pfc_watchdog watchdog;
	struct credit_params credit;
	struct ecn ecn;
	struct fabric_at_rate rates[SCENARIO_RATES_MAX];
	struct sim_switch_params more;
	struct fabric_switch_params params;
};

/* Changes of the routes of all switches (scenario_outage.c). */
struct scenario_reroutes {
	struct sim_route_change *steps;
	uint32_t step_count;
	struct scenario_state { /* of the links; that in which all are in order is the fabric's */
		const struct sim_port **cuts;
		uint32_t cut_count;
		struct sim_routes *routes;
	} * states;
	uint32_t state_count;
};

struct scenario_built {
	struct scenario_built_switch *switches;	       /* that of all, then one of each group */
	const struct fabric_switch_params **switch_of; /* by node of the topology; NULL: as all */
	struct host_params host;
	const struct host_rx_params **rx_of; /* by number of the host; NULL: none is slow */
	const struct host_bus **bus_of;	     /* by node of the topology; NULL: none has */
	struct fabric_gpus *gpus_of;	     /* likewise */
	struct host_storm *storms;
	struct sim_fault *faults; /* two a fault: one a direction; and one a direction of a link */
	struct scenario_reroutes reroutes;
};

/* Fills @ret_built->switches and switch_of. -ENOMEM. */
int scenario_build_switches(const struct scenario *s, struct scenario_built *ret_built);

/* The switches of @fabric rewrite DSCPs. -ENOMEM. */
int scenario_set_rewrites(const struct scenario *s, const struct fabric *fabric);

/* @at, the switch of @host, does not know its port in [@from, @until); sim_switch_forget(). The
 * other hosts of the switch hear what is not theirs. -ENOMEM. */
int scenario_forget(const struct fabric *fabric, const char *at, const char *host, ps_t from,
		    ps_t until);
/* All that @s says of that. -ENOMEM. */
int scenario_forget_all(const struct scenario *s, const struct fabric *fabric);

/* The switches at @ends of @link, which @fault takes down, use other ways once they have noticed.
 * -ENOMEM. */
int scenario_take_out(const struct fabric *fabric, const struct topology_link *link,
		      const char *const ends[2], const struct scenario_fault *fault);
/* After all overrides: with routing.reconverge all switches do. @r is empty, and lives as long as
 * the fabric; whatever is returned, it is to be given to scenario_reroutes_fini(). -ENOMEM,
 * -E2BIG. */
int scenario_reroute(const struct scenario *s, const struct fabric *fabric,
		     struct scenario_reroutes *r);
void scenario_reroutes_fini(struct scenario_reroutes *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_ARRIVALS_H
#define MODELS_ARRIVALS_H

/* Open-loop traffic: every host sends flows to others, each with equal chance, their sizes from a
 * distribution, the gaps between their starts exponential, so that the payload comes to a share of
 * the rate of its link (Li et al., HPCC, SIGCOMM 2019, 5.1). What a host does is a function of the
 * seed, its name, the name of the class and the number of the flow: starts and sizes do not depend
 * on who else is there. */
#include "models/traffic/cdf.h"

struct arrivals {
	uint64_t seed;
	uint64_t class_id; /* hash of the name of the class */
	struct cdf sizes;
	ps_t start_at, until; /* flows start after the one and before the other */
	uint32_t load_num, load_den;
};

struct arrivals_host {	/* one that sends */
	uint64_t id;	/* hash of its name */
	ps_t gap;	/* mean; see arrivals_gap() */
	uint64_t count; /* flows so far */
	ps_t at;	/* start of the last one, arrivals.start_at before the first */
};

struct arrivals_flow {
	ps_t start_at;
	uint64_t bytes;
	uint32_t to; /* of the others, in the order of all */
};

/* Between the starts of two flows of a host whose link has that rate, on average, at least 1. */
ps_t arrivals_gap(const struct arrivals *arrivals, uint64_t rate_bps);
/* The next flow of @host, of which there are @others to send to; false: it would be too late. */
bool arrivals_next(const struct arrivals *arrivals, struct arrivals_host *host, uint32_t others,
		   struct arrivals_flow *ret_flow);

#endif

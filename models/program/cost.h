/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_COST_H
#define MODELS_HOST_COST_H

/* What each verbs call of a program costs in virtual time. Part of the host profile. */
#include "transport/verbs/world.h"

struct host_cost {
	ps_t call[VRB_CALL_COUNT]; /* each call of the kind */
	ps_t each[VRB_CALL_COUNT]; /* besides, for each unit of its amount (vrb_call says of
				    * what) */
	ps_t cqe_write;		   /* from the adapter's decision until a polling program sees it */
	ps_t interrupt;		   /* from an event until a program asleep on a channel runs */
	ps_t poll_quantum;	   /* an empty poll returns after this long at the latest */
};

/* A current server: posting about 100 ns, an empty poll about 20 ns, a system call about 1 us, an
 * interrupt and wake-up about 3 us. Round figures that no measurement of one machine stands for. */
struct host_cost host_cost_generic(void);
/* Nothing costs anything; the quantum alone is kept. */
struct host_cost host_cost_none(void);

#endif

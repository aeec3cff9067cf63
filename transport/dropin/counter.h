/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DROPIN_COUNTER_H
#define DROPIN_COUNTER_H

/* Files under /sys/class/infiniband/verbenaN/ports/1/counters and hw_counters, for a process whose
 * devices are Verbena's: who opens one gets what the device has counted by then, in all processes
 * of this "verbena exec" (transport/nic/counters.h). The files that lie in the folder of exec say 0
 * and are for who lists them. */
#include <stdbool.h>
#include <stdint.h>

struct counter {
	uint32_t device, number; /* enum nic_counter */
};

/* Whether @path, opened with @flags, is one. */
bool counter_is(const char *path, int flags, struct counter *ret_counter);
/* A descriptor to read from, or -1. */
int counter_open(const struct counter *counter, int flags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_COUNTERS_H
#define NIC_COUNTERS_H

/* The counters of transport/nic/counters.inc by number and by name, and the file in which all
 * processes of one "verbena exec" add theirs up, so that files under /sys have them. Nothing here
 * has to be linked: libverbena-paths.so, which is loaded into programs without an adapter, has a
 * copy of its own. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NIC_DEVICES_MAX = 8 }; /* of one program: verbena0 to verbena7 */

enum nic_counter {
#define PORT(name, value) NIC_COUNTER_##name,
#define HW(name, value) NIC_COUNTER_##name,
#include "transport/nic/counters.inc"
#undef PORT
#undef HW
	NIC_COUNTER_COUNT
};

struct nic_counter_name {
	const char *name;
	bool is_hw;
};

static inline const struct nic_counter_name *nic_counter_at(uint32_t i)
{
	static const struct nic_counter_name names[NIC_COUNTER_COUNT] = {
#define PORT(name, value) {#name, false},
#define HW(name, value) {#name, true},
#include "transport/nic/counters.inc"
#undef PORT
#undef HW
	};

	return &names[i];
}

/* NIC_COUNTER_COUNT: there is none. */
static inline uint32_t nic_counter_find(const char *name, bool is_hw)
{
	uint32_t i = 0;

	while (i < NIC_COUNTER_COUNT &&
	       (nic_counter_at(i)->is_hw != is_hw || strcmp(nic_counter_at(i)->name, name) != 0))
		i++;
	return i;
}

/* The file NIC_TOTALS in the folder of "verbena exec". Each word is added to with the atomics of
 * the compiler; what a process has counted is in there within a millisecond, and once it has ended
 * well to the last. */
#define NIC_TOTALS "counters"
struct nic_totals {
	uint64_t values[NIC_DEVICES_MAX][NIC_COUNTER_COUNT];
};

#endif

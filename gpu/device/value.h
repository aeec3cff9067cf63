/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_VALUE_H
#define GPU_VALUE_H

/* A value of 4 or 8 bytes in memory that a GPU writes or waits for. */
#include <stdbool.h>
#include <stdint.h>

/* How a value in memory is compared: CUstreamWaitValue_flags. */
enum gpu_compare { GPU_GEQ, GPU_EQ, GPU_AND, GPU_NOR };

struct gpu_value {
	void *at; /* where the emulator reaches it */
	uint64_t value;
	uint8_t bytes; /* 4 or 8 */
	enum gpu_compare compare;
	bool is_read_only; /* whoever writes it fails, and its context with it */
};

void gpu_write_value(const struct gpu_value *value);
/* Whether memory has it. */
bool gpu_has_value(const struct gpu_value *value);

#endif

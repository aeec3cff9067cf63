/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/value.h"

#include <string.h>

void gpu_write_value(const struct gpu_value *value)
{
	if (value->bytes == 4)
		memcpy(value->at, &(uint32_t){(uint32_t)value->value}, 4);
	else
		memcpy(value->at, &value->value, 8);
}

bool gpu_has_value(const struct gpu_value *value)
{
	const uint64_t mask = value->bytes == 4 ? UINT32_MAX : UINT64_MAX;
	uint32_t word;
	uint64_t there;
	uint64_t ahead;

	if (value->bytes == 4) {
		memcpy(&word, value->at, 4);
		there = word;
	} else {
		memcpy(&there, value->at, 8);
	}
	/* GEQ goes in a circle: the difference, as a signed number, is not negative. */
	ahead = (there - value->value) & mask;
	switch (value->compare) {
	case GPU_GEQ:
		return ahead <= mask >> 1;
	case GPU_EQ:
		return ahead == 0;
	case GPU_AND:
		return (there & value->value & mask) != 0;
	case GPU_NOR:
		return (~(there | value->value) & mask) != 0;
	}
	return false;
}

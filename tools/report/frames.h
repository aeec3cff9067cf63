/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_FRAMES_H
#define TOOLS_REPORT_FRAMES_H

/* The steps of the slider: joined points of the sampler. */
#include "models/fabric/sampler.h"

enum { FRAMES_MAX = 240 };

/* Frame k is what happens after point ends[k] until point ends[k + 1]. */
struct report_frames {
	const struct sampler *sampler;
	uint32_t ends[FRAMES_MAX + 1], count;
};

/* There are two points at least. */
void report_frames_of(const struct sampler *sampler, struct report_frames *ret_frames);

#endif

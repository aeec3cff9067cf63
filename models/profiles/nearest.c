/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/bad.h"
#include "models/profiles/profile.h"

const struct profile *profile_nearest(const char *name)
{
	const struct profile *nearest = NULL;
	uint32_t best = 0;

	for (uint32_t i = 0; i < profile_count(); i++)
		if (bad_is_nearer(name, profile_at(i)->name, &best))
			nearest = profile_at(i);
	return nearest;
}

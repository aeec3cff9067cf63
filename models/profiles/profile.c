/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/profiles/profile.h"

#include <string.h>

static const struct profile profiles[] = {
#include "models/profiles/profiles.inc"
};

uint32_t profile_count(void)
{
	return sizeof(profiles) / sizeof(profiles[0]);
}

const struct profile *profile_at(uint32_t i)
{
	return &profiles[i];
}

const struct profile *profile_find(const char *name)
{
	for (uint32_t i = 0; i < profile_count(); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROFILE_H
#define MODELS_PROFILE_H

/* Known switches and adapters: pieces of scenarios ("switch:" and "nic:"), each figure with its
 * source, as models/profiles/NAME.yaml has them. They are part of the program. */
#include <stdint.h>

struct profile {
	const char *name, *text; /* YAML */
};

uint32_t profile_count(void);
const struct profile *profile_at(uint32_t i);	      /* in order of name */
const struct profile *profile_find(const char *name); /* NULL: none such */
/* The one whose name is most like @name; NULL: none is like it. */
const struct profile *profile_nearest(const char *name);

#endif

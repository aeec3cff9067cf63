/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROFILE_H
#define MODELS_PROFILE_H

/* Known switches and adapters: pieces of scenarios ("switch:" and "nic:"), each figure with its
 * source, as models/profiles/NAME.yaml has them; and known machines ("machine:"), of which
 * models/profiles/machines/NAME.yaml has all that it says in one line of text a figure, each with a
 * comment "source: ..." behind it, or "source: guess". They are part of the program. */
#include <stdbool.h>
#include <stdint.h>

struct profile {
	const char *name;
	bool is_machine;
	const char *text; /* YAML */
};

uint32_t profile_count(void);
const struct profile *profile_at(uint32_t i);	      /* in order of name */
const struct profile *profile_find(const char *name); /* NULL: none such */
/* The one whose name is most like @name; NULL: none is like it. */
const struct profile *profile_nearest(const char *name);

#endif

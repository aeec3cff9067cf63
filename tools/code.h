/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CODE_H
#define TOOLS_CODE_H

/* Which code the programs of a scenario are, by the bytes of their modules: what a run of them is
 * depends on it as on the scenario. Nothing of them is loaded; what is a source is compiled. */
#include "models/scenario/read.h"

#include <jansson.h>

/* Of all of them, in the order of the scenario, which is in the file @path. One that is not there,
 * or cannot be read, counts as none. */
uint64_t code_hash(const char *path, const struct scenario *scenario);
/* The same one by one, for run.json: a list of {"run", "hash"}, the hash null where there is none.
 * NULL: no memory. */
json_t *code_describe(const char *path, const struct scenario *scenario);

#endif

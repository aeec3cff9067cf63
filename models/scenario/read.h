/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_READ_H
#define MODELS_SCENARIO_READ_H

/* From a scenario file (YAML) and the files that it names to a struct scenario. The keys, their
 * units, ranges and defaults stand in one table, models/scenario/schema.c. */
#include "models/input/file.h"
#include "models/scenario/scenario.h"

/* What the command line says about a scenario; zeroed: nothing. */
struct scenario_overrides {
	const struct read_source *source; /* of all files; NULL: the file system */
	/* "KEY=VALUE": a path as in errors ("switch.ecn.kmin", "traffic.0.size" or, by the name of
	 * the class, "traffic.incast.size"), and YAML. Errors are at "--set:N:", N from 1. */
	const char *const *sets;
	uint32_t set_count;
	bool has_seed;
	uint64_t seed;
};

/* 0; -EINVAL: @errors says why, one line an error, and @ret_scenario is untouched; -ENOMEM. There
 * may be warnings in @errors in any case. @overrides: NULL allowed. Only here is a file read;
 * nothing is written. */
int scenario_read(const char *path, const struct scenario_overrides *overrides,
		  struct scenario *ret_scenario, struct bad_list *errors);
/* As scenario_read(), from memory: @path is only a name, and where files are looked for. */
int scenario_parse(const char *path, const char *bytes, size_t length,
		   const struct scenario_overrides *overrides, struct scenario *ret_scenario,
		   struct bad_list *errors);

/* The reference of all keys, as text: what `check --schema` prints. -ENOMEM. The caller frees it
 * with util_free(). */
int scenario_schema_text(char **ret_text);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

/* One scenario with many settings and seeds. A plan is a YAML file:
 *
 *	scenario: incast.yaml           relative to the plan
 *	set:                            every combination of these is a point
 *	  switch.buffer: [1MiB, 2MiB]
 *	  nic.cc: [none, dcqcn]
 *	seeds: 3                        1, 2, 3; or a list
 *	show: [.fct.incast.p99_ps]      columns of the table, paths into result.json
 *
 * Each run is a process of its own. Its result is kept under a name made from all that decides it,
 * so that a sweep that was ended goes on where it was, and one that has grown runs what is new. */
#include "models/input/bad.h"

#include <jansson.h>
#include <stdio.h>

enum { SWEEP_KEYS_MAX = 8, SWEEP_SHOWS_MAX = 16, SWEEP_RUNS_MAX = 100000 };

struct sweep_key {
	char *name;
	char **values;
	uint32_t count;
	uint32_t line; /* of the plan */
};

struct sweep_plan {
	char *scenario; /* as the command finds it */
	struct sweep_key keys[SWEEP_KEYS_MAX];
	uint32_t key_count;
	uint64_t *seeds;
	uint32_t seed_count;
	char *shows[SWEEP_SHOWS_MAX];
	uint32_t show_lines[SWEEP_SHOWS_MAX]; /* of the plan */
	uint32_t show_count;
	uint64_t point_count;
};

struct sweep_run {
	uint64_t point;
	uint64_t seed;
	uint64_t key;	       /* of all that decides the result */
	uint32_t expect_count; /* of its scenario */
	json_t *result;	       /* NULL: there is none */
};

/* -EINVAL: @errors says why; -ENOMEM. @ret_plan can be freed in any case. */
int sweep_plan_read(const char *path, struct sweep_plan *ret_plan, struct bad_list *errors);
void sweep_plan_free(struct sweep_plan *plan);
/* The value that @point gives to the key of that number. */
const char *sweep_value(const struct sweep_plan *plan, uint64_t point, uint32_t key);

/* A value of a result, by a path such as .fct.incast.p99_ps; NULL: none. */
const json_t *sweep_find(const json_t *result, const char *path);

/* sweep_table.c: a row per run, and one per point with means over the seeds. */
void sweep_csv(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file);
void sweep_markdown(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file);
/* The mean, the least and the most over those seeds of a point that have a number there; how many
 * these are. 0: there is no mean, and nothing is set. */
uint32_t sweep_mean(const struct sweep_plan *plan, const struct sweep_run *runs, uint64_t point,
		    const char *show, double *ret_mean, double *ret_low, double *ret_high);

/* sweep_plot.c: means over the values of the first key, a line for each combination of the others,
 * as SVG. */
void sweep_plot(const struct sweep_plan *plan, const struct sweep_run *runs, uint32_t show,
		FILE *file);

#endif

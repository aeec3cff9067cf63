/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

/* One scenario with many settings and seeds. A plan is a YAML file:
 *
 *	scenario: incast.yaml           relative to the plan
 *	set:                            every combination of these is a point
 *	  switch.buffer: [2MiB, 4MiB]
 *	  nic.cc: [none, {dcqcn: {rate_ai: 40Mbps}}]
 *	seeds: 3                        1, 2, 3; or a list
 *	hold: 2 of 3                    of the seeds, or all: in how many an expectation must hold
 *	show: [.fct.incast.p99_ps]      columns of the table, paths into result.json
 *
 * Each run is a process of its own, and points that come to the same are one. Its result is kept
 * under a name made from all that decides it, so that a sweep that was ended goes on where it was,
 * and one that has grown runs what is new. */
#include "models/input/bad.h"
#include "tools/result/folder.h"

#include <jansson.h>
#include <stdio.h>

enum { SWEEP_KEYS_MAX = 8, SWEEP_SHOWS_MAX = 16, SWEEP_RUNS_MAX = 100000 };

struct sweep_key {
	char *name;
	char **values; /* as --set takes them */
	char **labels; /* of columns: scalars as they are, "dcqcn rate_ai=40Mbps" */
	uint32_t count;
	uint32_t line; /* of the plan */
	bool is_told;  /* the command was told its one value: --set has it */
};

struct sweep_plan {
	char *scenario; /* as the command finds it */
	struct sweep_key keys[SWEEP_KEYS_MAX];
	uint32_t key_count;
	uint64_t *seeds;
	uint32_t seed_count;
	uint32_t hold; /* in how many of the seeds an expectation must hold, at every point */
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
	uint64_t twin;	       /* the first of those with that key, itself or before it */
	json_t *result;	       /* NULL: there is none */
	char *trouble;	       /* why; NULL: nobody knows */
};

/* -EINVAL: @errors says why; -ENOMEM. @ret_plan can be freed in any case. */
int sweep_plan_read(const char *path, struct sweep_plan *ret_plan, struct bad_list *errors);
/* What the command is told takes the place of what the plan says: one seed, which has to do, and
 * one value of a key. -ENOMEM. */
struct scenario_overrides;
int sweep_plan_narrow(struct sweep_plan *plan, const struct scenario_overrides *told);
void sweep_plan_free(struct sweep_plan *plan);
/* By its keys: it names a scenario, and is none. */
bool sweep_is_plan(const char *path);
/* Reads the plan and its scenario at each combination of settings, and runs nothing. Says what is
 * good on stdout, and what is not on stderr. enum command_exit. */
struct command_options;
int sweep_check(const char *path, const struct command_options *options);
/* The value that @point gives to the key of that number, for --set; and for people. */
const char *sweep_setting(const struct sweep_plan *plan, uint64_t point, uint32_t key);
const char *sweep_value(const struct sweep_plan *plan, uint64_t point, uint32_t key);

/* cache.c: the results that are kept, each under its run's key, with a hash of what it says: one
 * that is not that run's, or was changed since, is nobody's to replace, and refused with
 * COMMAND_BAD and a line on stderr. */
enum { CACHE_NAME_MAX = 32 };
const char *cache_name(const struct sweep_run *run, char ret_name[CACHE_NAME_MAX]);
/* @run->result: from the file @path; NULL where there is none, or that of a run that ended early.
 * COMMAND_DONE, COMMAND_BAD or COMMAND_BROKEN. */
int cache_load(const struct sweep_plan *plan, const char *path, struct sweep_run *run);
/* Into @folder, and @run->result: what the run has written into the file @part. As above. */
int cache_keep(const struct sweep_plan *plan, const struct folder *folder, const char *part,
	       struct sweep_run *run);

/* sweep_table.c: a row per run, and one per point with means over the seeds. */
void sweep_csv(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file);
void sweep_markdown(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file);
/* The mean, the least and the most over those seeds of a point that have a number there; how many
 * these are. 0: there is no mean, and nothing is set. */
uint32_t sweep_mean(const struct sweep_plan *plan, const struct sweep_run *runs, uint64_t point,
		    const char *show, double *ret_mean, double *ret_low, double *ret_high);

/* judge.c: what became of an expectation at a point, over the seeds. */
struct sweep_verdict {
	char *name; /* the expectation, and the settings of the point where there are any */
	uint64_t point;
	bool held;
	bool unknown;  /* a run that it needs has no result; not held */
	char *message; /* in how many seeds, and what the others have found; NULL: in all */
};
struct sweep_verdicts {
	struct sweep_verdict *all;
	uint32_t count;
};
/* "seed 3", and the settings of its point where there are any; for free(), NULL: no memory. */
char *sweep_name_run(const struct sweep_plan *plan, const struct sweep_run *run);
/* All of them, points in their order. -ENOMEM; @ret_verdicts can be freed in any case. */
int sweep_judge(const struct sweep_plan *plan, const struct sweep_run *runs,
		struct sweep_verdicts *ret_verdicts);
void sweep_verdicts_free(struct sweep_verdicts *verdicts);

/* junit.c: all of them as JUnit XML into the file @path, with the digest of each run as a property.
 * @name: of the plan; @seconds: that it took. COMMAND_DONE, or COMMAND_BROKEN with a line on
 * stderr. */
int sweep_junit(const char *path, const char *name, double seconds, const struct sweep_plan *plan,
		const struct sweep_run *runs, const struct sweep_verdicts *verdicts);

/* sweep_plot.c: means over the values of the first key, a line for each combination of the others,
 * as SVG. */
void sweep_plot(const struct sweep_plan *plan, const struct sweep_run *runs, uint32_t show,
		FILE *file);

#endif

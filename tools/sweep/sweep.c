/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "tools/command.h"
#include "tools/expect/expect.h"
#include "tools/incident.h"
#include "tools/result/back.h"
#include "tools/result/folder.h"
#include "tools/result/output.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct sweep {
	const struct command_options *options;
	struct sweep_plan plan;
	struct folder folder, runs_folder;
	struct sweep_run *runs;
	uint64_t run_count, had; /* already, from before */
	uint64_t done, failed;
	pid_t *pids; /* of the runs at hand, by place; 0: none */
	uint64_t *run_of;
	uint32_t job_count;
};

/* ---- before the runs ---- */

/* "KEY=VALUE" for each key; freed with free_sets(). NULL: no memory. */
static char **sets_of(const struct sweep_plan *plan, uint64_t point)
{
	char **sets = calloc((size_t)plan->key_count + 1, sizeof(*sets));

	for (uint32_t i = 0; sets && i < plan->key_count; i++)
		if (asprintf(&sets[i], "%s=%s", plan->keys[i].name, sweep_value(plan, point, i)) <
		    0) {
			sets[i] = NULL;
			return NULL;
		}
	return sets;
}

static void free_sets(char **sets)
{
	for (uint32_t i = 0; sets && sets[i]; i++)
		free(sets[i]);
	free(sets);
}

/* All that decides what the result says, by what it means and not by how it is written. */
static uint64_t sweep_key_of(const struct scenario *scenario, uint64_t seed)
{
	const uint64_t words[] = {util_hash_name(command_version), scenario->hash, seed,
				  util_hash_name(scenario->name)};
	uint64_t key = util_hash_words((struct util_key){0}, words, 4);

	for (uint32_t i = 0; i < scenario->expect_count; i++) {
		const uint64_t next[] = {key, util_hash_name(scenario->expects[i].text)};

		key = util_hash_words((struct util_key){0}, next, 2);
	}
	return key;
}

static int check_shows(struct sweep *sweep, const struct scenario *scenario)
{
	struct bad_list errors = {.lines = NULL};
	struct result zero;
	json_t *json = result_zero(scenario, &zero) == 0 ? output_json_value(&zero) : NULL;
	int ret = json ? COMMAND_DONE : COMMAND_BROKEN;

	for (uint32_t i = 0; json && i < sweep->plan.show_count; i++) {
		const struct bad_at at = {sweep->options->args[0], sweep->plan.show_lines[i], NULL};
		const json_t *value = sweep_find(json, sweep->plan.shows[i]);
		struct bad_text found;

		if (value && !json_is_object(value) && !json_is_array(value))
			continue;
		bad(&errors, &at, "show",
		    bad_quote(&found, sweep->plan.shows[i], strlen(sweep->plan.shows[i])),
		    "a path to a value of the result, such as .drops.buffer");
		ret = COMMAND_BAD;
	}
	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	json_decref(json);
	result_free(&zero);
	return ret;
}

/* What is wrong with a setting is told of the line of the plan that has it. */
static void name_lines(const struct sweep *sweep, struct bad_list *errors)
{
	for (uint32_t i = 0; i < errors->count; i++) {
		struct bad_line *line = &errors->lines[i];
		const char *rest = strstr(line->text, ": ");
		char *text;

		if (strcmp(line->file, "--set") != 0 || line->line == 0 ||
		    line->line > sweep->plan.key_count || !rest)
			continue;
		if (asprintf(&text, "%s:%u%s", sweep->options->args[0],
			     sweep->plan.keys[line->line - 1].line, rest) < 0)
			continue;
		util_free(line->text);
		line->text = text;
	}
}

static int sweep_read_scenario(const struct sweep *sweep, const struct command_options *options,
			       struct scenario *ret_scenario)
{
	const char *path = sweep->plan.scenario;
	struct bad_list errors = {.lines = NULL};
	const int ret =
		scenario_read(incident_path(path), &options->overrides, ret_scenario, &errors);

	name_lines(sweep, &errors);
	command_print_bad(&errors, true);
	bad_list_fini(&errors);
	if (ret == -ENOMEM)
		command_say("%s: not enough memory to read it", path);
	return ret == 0 ? COMMAND_DONE : ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

/* Reads the scenario as each point has it, so that all is refused before anything runs. */
static int check_point(struct sweep *sweep, uint64_t point)
{
	const struct sweep_plan *plan = &sweep->plan;
	char **sets = sets_of(plan, point);
	const struct command_options options = {
		.overrides = {.sets = (const char *const *)sets, .set_count = plan->key_count},
		.quiet = true};
	struct scenario scenario;
	int ret;

	if (!sets)
		return COMMAND_BROKEN;
	ret = sweep_read_scenario(sweep, &options, &scenario);
	if (!ret) {
		for (uint32_t i = 0; i < plan->seed_count; i++)
			sweep->runs[point * plan->seed_count + i] = (struct sweep_run){
				point, plan->seeds[i], sweep_key_of(&scenario, plan->seeds[i]),
				scenario.expect_count, NULL};
		ret = expect_check(&scenario);
		if (!ret && point == 0)
			ret = check_shows(sweep, &scenario);
		scenario_fini(&scenario);
	}
	free_sets(sets);
	return ret;
}

/* ---- the runs ---- */

static void sweep_path_of(const struct sweep *sweep, const struct sweep_run *run,
			  const char *ending, char ret_path[PATH_MAX + 64])
{
	snprintf(ret_path, PATH_MAX + 64, "%s/runs/%016" PRIx64 ".json%s", sweep->folder.path,
		 run->key, ending);
}

static int check_held(const char *path, const json_t *json, const struct sweep_run *run)
{
	const json_t *expects = json_object_get(json, "expect"), *expect;
	size_t i;

	if (!json_is_array(expects) || json_array_size(expects) != run->expect_count)
		return back_refuse(path, "expect", expects, "the expectations of the scenario");
	json_array_foreach(expects, i, expect)
	{
		const json_t *held = json_object_get(expect, "held");

		if (!json_is_boolean(held))
			return back_refuse(path, "held", held, "true or false");
	}
	return COMMAND_DONE;
}

/* All that is read of it: that it is the result of this run, its values, and what it says of what
 * was expected. */
static int check_run(const struct sweep *sweep, const char *path, const json_t *json,
		     const struct sweep_run *run)
{
	const json_t *schema = json_object_get(json, "schema"), *seed;
	struct back_run back;
	int ret = back_check_result(path, json, &back);

	if (ret)
		return ret;
	if (json_integer_value(schema) != 2)
		return back_refuse(path, "schema", schema, "2");
	if (!back.same_version)
		return back_refuse(path, "version", json_object_get(json, "version"),
				   "that of this command");
	seed = json_object_get(json, "seed");
	if ((uint64_t)json_integer_value(seed) != run->seed)
		return back_refuse(path, "seed", seed, "that of the run");
	for (uint32_t i = 0; i < sweep->plan.show_count; i++) {
		const json_t *value = sweep_find(json, sweep->plan.shows[i]);

		if (!value || json_is_object(value) || json_is_array(value))
			return back_refuse(path, sweep->plan.shows[i], value, "a value");
	}
	return check_held(path, json, run);
}

/* run->result: NULL where there is none, or one that ended early. What is there and is none is
 * nobody's to replace: COMMAND_BAD. */
static int sweep_load(const struct sweep *sweep, struct sweep_run *run)
{
	char path[PATH_MAX + 64];
	json_t *json;
	int ret;

	sweep_path_of(sweep, run, "", path);
	ret = back_load(path, "result", "the result of a run", &json);
	if (json && !json_is_true(json_object_get(json, "partial"))) {
		ret = check_run(sweep, path, json, run);
		if (!ret)
			run->result = json_incref(json);
	}
	json_decref(json);
	return ret;
}

/* What is there already, before anything runs. */
static int load_all(struct sweep *sweep)
{
	int ret = COMMAND_DONE;

	for (uint64_t i = 0; i < sweep->run_count; i++) {
		const int one = sweep_load(sweep, &sweep->runs[i]);

		ret = ret ? ret : one;
	}
	return ret;
}

/* In the child. */
static void become(const struct sweep *sweep, const struct sweep_run *run)
{
	char **sets = sets_of(&sweep->plan, run->point);
	const char *args[8 + 2 * SWEEP_KEYS_MAX] = {"verbena", "run",	  sweep->plan.scenario,
						    "--json",  "--quiet", "--seed"};
	char seed[24], path[PATH_MAX + 64];
	uint32_t count = 6;
	int fd, null = open("/dev/null", O_WRONLY);

	snprintf(seed, sizeof(seed), "%" PRIu64, run->seed);
	args[count++] = seed;
	for (uint32_t i = 0; sets && sets[i]; i++) {
		args[count++] = "--set";
		args[count++] = sets[i];
	}
	args[count] = NULL;
	sweep_path_of(sweep, run, ".part", path);
	unlink(path); /* whatever it is */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	if (sets && fd >= 0 && null >= 0 && dup2(fd, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	_exit(COMMAND_BROKEN);
}

/* 1 is a result, too: something that was expected did not hold. */
static void sweep_take(struct sweep *sweep, struct sweep_run *run, int status)
{
	char part[PATH_MAX + 64], path[PATH_MAX + 64];
	const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) <= COMMAND_FAILED;

	sweep_path_of(sweep, run, ".part", part);
	sweep_path_of(sweep, run, "", path);
	if (!is_good || rename(part, path) != 0 || sweep_load(sweep, run) || !run->result) {
		unlink(part);
		sweep->failed++;
		command_say("the run with seed %" PRIu64 " of point %" PRIu64 " could not be made",
			    run->seed, run->point);
	}
	sweep->done++;
}

static void show_progress(const struct sweep *sweep, bool is_last)
{
	if (sweep->options->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " runs%s", sweep->done, sweep->run_count,
		is_last ? "\n" : "");
}

static int wait_for_one(struct sweep *sweep)
{
	int status;
	const pid_t pid = wait(&status);

	if (pid < 0)
		return errno == EINTR ? 0 : -errno;
	for (uint32_t i = 0; i < sweep->job_count; i++)
		if (sweep->pids[i] == pid) {
			sweep->pids[i] = 0;
			sweep_take(sweep, &sweep->runs[sweep->run_of[i]], status);
			show_progress(sweep, false);
		}
	return 0;
}

static int sweep_start(struct sweep *sweep, uint64_t number)
{
	for (uint32_t i = 0; i < sweep->job_count; i++) {
		if (sweep->pids[i] > 0)
			continue;
		sweep->run_of[i] = number;
		sweep->pids[i] = fork();
		if (sweep->pids[i] == 0)
			become(sweep, &sweep->runs[number]);
		return sweep->pids[i] < 0 ? -errno : 0;
	}
	return -EAGAIN;
}

static int run_all(struct sweep *sweep)
{
	uint32_t busy = 0;
	int ret = 0;

	for (uint64_t i = 0; i < sweep->run_count && !ret; i++) {
		struct sweep_run *run = &sweep->runs[i];

		/* Two points may be one run. */
		if (run->result || (sweep_load(sweep, run) == COMMAND_DONE && run->result)) {
			sweep->had++;
			sweep->done++;
			continue;
		}
		if (busy == sweep->job_count)
			ret = wait_for_one(sweep);
		else
			busy++;
		ret = ret ? ret : sweep_start(sweep, i);
	}
	while (busy-- > 0 && !ret)
		ret = wait_for_one(sweep);
	show_progress(sweep, true);
	return ret;
}

/* ---- after them ---- */

struct plot {
	const struct sweep *sweep;
	uint32_t show;
};

static int write_csv(FILE *file, const void *owner)
{
	const struct sweep *sweep = owner;

	sweep_csv(&sweep->plan, sweep->runs, file);
	return 0;
}

static int write_markdown(FILE *file, const void *owner)
{
	const struct sweep *sweep = owner;

	sweep_markdown(&sweep->plan, sweep->runs, file);
	return 0;
}

static int write_plot(FILE *file, const void *owner)
{
	const struct plot *plot = owner;

	sweep_plot(&plot->sweep->plan, plot->sweep->runs, plot->show, file);
	return 0;
}

static int sweep_write_files(const struct sweep *sweep)
{
	int ret = folder_put(&sweep->folder, "sweep.csv", write_csv, sweep);

	ret = ret ? ret : folder_put(&sweep->folder, "sweep.md", write_markdown, sweep);
	for (uint32_t i = 0; i < sweep->plan.show_count && !ret; i++) {
		const struct plot plot = {sweep, i};
		char name[160];

		snprintf(name, sizeof(name), "%.150s.svg", sweep->plan.shows[i] + 1);
		ret = folder_put(&sweep->folder, name, write_plot, &plot);
	}
	return ret;
}

static int sweep_finish(const struct sweep *sweep)
{
	int ret = sweep_write_files(sweep);

	if (!sweep->options->quiet)
		sweep_markdown(&sweep->plan, sweep->runs, stdout);
	if (!sweep->options->quiet)
		putchar('\n');
	command_line(stdout, "%" PRIu64 " runs, %" PRIu64 " of them from before: %s/sweep.csv",
		     sweep->run_count, sweep->had, sweep->folder.path);
	if (sweep->failed)
		ret = COMMAND_BROKEN;
	return ret;
}

static bool has_unmet(const struct sweep *sweep)
{
	for (uint64_t i = 0; i < sweep->run_count; i++) {
		const json_t *expects = json_object_get(sweep->runs[i].result, "expect");

		for (size_t k = 0; k < json_array_size(expects); k++)
			if (!json_is_true(json_object_get(json_array_get(expects, k), "held")))
				return true;
	}
	return false;
}

static int open_sweep(struct sweep *sweep)
{
	const char *path = sweep->options->args[0], *slash = strrchr(path, '/');
	struct bad_list errors = {.lines = NULL};
	char name[128], below[PATH_MAX + 8];
	int ret = sweep_plan_read(path, &sweep->plan, &errors);

	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	if (ret)
		return ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
	sweep->run_count = sweep->plan.point_count * sweep->plan.seed_count;
	sweep->runs = calloc(sweep->run_count + 1, sizeof(*sweep->runs));
	sweep->pids = calloc(sweep->job_count, sizeof(*sweep->pids));
	sweep->run_of = calloc(sweep->job_count, sizeof(*sweep->run_of));
	if (!sweep->runs || !sweep->pids || !sweep->run_of)
		return COMMAND_BROKEN;
	for (uint64_t point = 0; point < sweep->plan.point_count && !ret; point++)
		ret = check_point(sweep, point);
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "%.100s", slash ? slash + 1 : path);
	if (strrchr(name, '.'))
		*strrchr(name, '.') = '\0';
	ret = folder_open(&sweep->folder, sweep->options->out, name);
	snprintf(below, sizeof(below), "%s/runs", sweep->folder.path);
	ret = ret ? ret : folder_open(&sweep->runs_folder, below, "");
	return ret ? ret : load_all(sweep);
}

static int sweep_run(const struct command_options *options)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct sweep sweep = {.options = options,
			      .job_count = options->job_count ? options->job_count
					   : cores > 0	      ? (uint32_t)cores
							      : 1};
	int ret = open_sweep(&sweep), error;

	if (!ret) {
		error = run_all(&sweep);
		if (error)
			command_say("%s: %s", options->args[0], strerror(-error));
		ret = sweep_finish(&sweep);
		ret = error ? COMMAND_BROKEN : ret;
		if (!ret && has_unmet(&sweep))
			ret = COMMAND_FAILED;
	}
	for (uint64_t i = 0; sweep.runs && i < sweep.run_count; i++)
		json_decref(sweep.runs[i].result);
	free(sweep.runs);
	free(sweep.pids);
	free(sweep.run_of);
	folder_close(&sweep.runs_folder);
	folder_close(&sweep.folder);
	sweep_plan_free(&sweep.plan);
	return ret;
}

const struct command command_sweep = {
	.name = "sweep",
	.arguments = "PLAN",
	.summary = "a scenario with many settings and seeds",
	.help = "Runs every combination of settings and seeds that the YAML file PLAN names (keys: "
		"scenario,\nset, seeds, show), as processes on all cores, and writes sweep.csv, "
		"sweep.md and an SVG plot\nfor each value shown. Runs that are there already are "
		"not made again. Exit status: 0 done,\n1 an expectation of a run did not hold, 2 "
		"bad input, 3 a run could not be made.\n",
	.options = COMMAND_OUT | COMMAND_JOBS | COMMAND_QUIET,
	.args_min = 1,
	.args_max = 1,
	.run = sweep_run,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "tools/code.h"
#include "tools/command.h"
#include "tools/expect/expect.h"
#include "tools/incident.h"
#include "tools/observe/progress.h"
#include "tools/result/back.h"
#include "tools/result/folder.h"
#include "tools/result/junit.h"
#include "tools/result/output.h"
#include "tools/result/path.h"
#include "tools/sweep/jobs.h"
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
	const char *path; /* of the plan */
	bool is_check;	  /* nothing is run, and no baseline is known */
	struct sweep_plan plan;
	char name[128]; /* of the plan, without folder and ending */
	struct folder folder, runs_folder;
	struct sweep_run *runs;
	uint64_t run_count, had; /* already, from before */
	uint64_t done, failed;
	double began;
	uint32_t job_count;
	struct jobs jobs;
	json_t *baseline; /* NULL: none */
	uint64_t baseline_hash;
};

/* ---- before the runs ---- */

static uint32_t told_count(const struct sweep *sweep)
{
	return sweep->options->overrides.set_count;
}

/* "KEY=VALUE": what the command was told, in its order, and then each key of the plan that it was
 * not; freed with free_sets(). NULL: no memory. */
static char **sets_of(const struct sweep *sweep, uint64_t point)
{
	const struct sweep_plan *plan = &sweep->plan;
	const uint32_t told = told_count(sweep);
	char **sets = calloc((size_t)told + plan->key_count + 1, sizeof(*sets));
	bool is_good = sets;

	for (uint32_t i = 0; is_good && i < told; i++) {
		sets[i] = strdup(sweep->options->overrides.sets[i]);
		is_good = sets[i];
	}
	for (uint32_t i = 0, at = told; is_good && i < plan->key_count; i++)
		if (!plan->keys[i].is_told)
			is_good = asprintf(&sets[at++], "%s=%s", plan->keys[i].name,
					   sweep_setting(plan, point, i)) >= 0;
	return is_good ? sets : NULL;
}

static void free_sets(char **sets)
{
	for (uint32_t i = 0; sets && sets[i]; i++)
		free(sets[i]);
	free(sets);
}

/* All that decides what the result says, by what it means and not by how it is written. */
static uint64_t sweep_key_of(const struct sweep *sweep, const struct scenario *scenario,
			     uint64_t code, uint64_t seed)
{
	const uint64_t words[] = {
		util_hash_name(command_version), scenario->hash, seed,
		util_hash_name(scenario->name),	 code,		 sweep->baseline_hash};
	uint64_t key = util_hash_words((struct util_key){0}, words, sweep->baseline ? 6 : 5);

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
		const struct bad_at at = {.file = sweep->path, .line = sweep->plan.show_lines[i]};
		const json_t *value = result_path_find(json, sweep->plan.shows[i]);
		struct bad_text found, near, expected;
		const char *such = ".drops.buffer";

		if (value && !json_is_object(value) && !json_is_array(value))
			continue;
		if (!value && result_path_nearest(json, sweep->plan.shows[i], &near) &&
		    !json_is_object(result_path_find(json, near.text)) &&
		    !json_is_array(result_path_find(json, near.text)))
			such = near.text;
		bad(&errors, &at, "show",
		    bad_quote(&found, sweep->plan.shows[i], strlen(sweep->plan.shows[i])),
		    bad_text(&expected, "a path to a value of the result, such as %s", such));
		ret = COMMAND_BAD;
	}
	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	json_decref(json);
	result_free(&zero);
	return ret;
}

static int sweep_read_scenario(const struct sweep *sweep, const struct command_options *options,
			       struct scenario *ret_scenario)
{
	const char *path = sweep->plan.scenario;
	const uint32_t told = told_count(sweep);
	uint32_t lines[SWEEP_KEYS_MAX], count = 0;
	struct bad_list errors = {.lines = NULL};
	const int ret =
		scenario_read(incident_path(path), &options->overrides, ret_scenario, &errors);

	for (uint32_t i = 0; i < sweep->plan.key_count; i++)
		if (!sweep->plan.keys[i].is_told)
			lines[count++] = sweep->plan.keys[i].line;
	command_name_sets(&errors, sweep->path, told, lines, count);
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
	char **sets = sets_of(sweep, point);
	struct command_options options = {.overrides = {.sets = (const char *const *)sets},
					  .quiet = true};
	struct scenario scenario;
	int ret;

	if (!sets)
		return COMMAND_BROKEN;
	while (sets[options.overrides.set_count])
		options.overrides.set_count++;
	ret = sweep_read_scenario(sweep, &options, &scenario);
	if (!ret) {
		const uint64_t code = sweep->is_check ? 0 : code_hash(plan->scenario, &scenario);

		for (uint32_t i = 0; i < plan->seed_count; i++)
			sweep->runs[point * plan->seed_count + i] = (struct sweep_run){
				.point = point,
				.seed = plan->seeds[i],
				.key = sweep_key_of(sweep, &scenario, code, plan->seeds[i]),
				.expect_count = scenario.expect_count};
		ret = command_open_programs(plan->scenario, &scenario, NULL);
		ret = ret ? ret : expect_check(&scenario, sweep->baseline, sweep->is_check);
		if (!ret && point == 0)
			ret = check_shows(sweep, &scenario);
		scenario_fini(&scenario);
	}
	free_sets(sets);
	return ret;
}

struct keyed {
	uint64_t key, run;
};

static int sweep_compare_keys(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->run < b->run ? -1 : a->run > b->run;
}

static int find_twins(struct sweep *sweep)
{
	struct keyed *sorted = calloc(sweep->run_count + 1, sizeof(*sorted));

	if (!sorted)
		return COMMAND_BROKEN;
	for (uint64_t i = 0; i < sweep->run_count; i++)
		sorted[i] = (struct keyed){sweep->runs[i].key, i};
	qsort(sorted, sweep->run_count, sizeof(*sorted), sweep_compare_keys);
	for (uint64_t i = 0, first = 0; i < sweep->run_count; i++) {
		first = sorted[i].key == sorted[first].key ? first : i;
		sweep->runs[sorted[i].run].twin = sorted[first].run;
	}
	free(sorted);
	return COMMAND_DONE;
}

/* ---- the runs ---- */

static void sweep_path_of(const struct sweep *sweep, const struct sweep_run *run,
			  const char *ending, char ret_path[PATH_MAX + 64])
{
	char name[CACHE_NAME_MAX];

	snprintf(ret_path, PATH_MAX + 64, "%s/runs/%s%s", sweep->folder.path, cache_name(run, name),
		 ending);
}

static int sweep_load(const struct sweep *sweep, struct sweep_run *run)
{
	char path[PATH_MAX + 64];

	sweep_path_of(sweep, run, "", path);
	return cache_load(&sweep->plan, path, run);
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
static void become(const void *owner, uint64_t number)
{
	const struct sweep *sweep = owner;
	const struct sweep_run *run = &sweep->runs[number];
	char **sets = sets_of(sweep, run->point);
	const size_t room = 10 + 2 * ((size_t)told_count(sweep) + SWEEP_KEYS_MAX);
	const char **args = calloc(room, sizeof(*args));
	char seed[24], path[PATH_MAX + 64];
	uint32_t count = 0;
	int fd;

	if (!args || !sets) {
		command_say("no memory");
		_exit(COMMAND_BROKEN);
	}
	snprintf(seed, sizeof(seed), "%" PRIu64, run->seed);
	args[count++] = "verbena";
	args[count++] = "run";
	args[count++] = sweep->plan.scenario;
	args[count++] = "--json";
	args[count++] = "--quiet";
	args[count++] = "--seed";
	args[count++] = seed;
	for (uint32_t i = 0; sets[i]; i++) {
		args[count++] = "--set";
		args[count++] = sets[i];
	}
	if (sweep->baseline) {
		args[count++] = "--baseline";
		args[count++] = sweep->options->baseline;
	}
	args[count] = NULL;
	sweep_path_of(sweep, run, ".part", path);
	unlink(path); /* whatever it is */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
		command_say("%s: %s", path, strerror(errno));
		_exit(COMMAND_BROKEN);
	}
	execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	command_say("/proc/self/exe: %s%s", strerror(errno),
		    access("/proc/self", F_OK) != 0 ? ": /proc is not mounted" : "");
	_exit(COMMAND_BROKEN);
}

/* Nobody knows what it would have been. @why: of free(); NULL: no memory. */
static void sweep_give_up(struct sweep *sweep, struct sweep_run *run, char *why)
{
	char *name = sweep_name_run(&sweep->plan, run);

	run->trouble = why;
	sweep->failed++;
	if (!jobs_signal())
		command_say("the run with %s could not be made: %s", name ? name : "no memory",
			    why ? why : "no memory");
	free(name);
}

/* 1 is a result, too: something that was expected did not hold. @said: of free(). */
static void sweep_take(struct sweep *sweep, struct sweep_run *run, int status, char *said)
{
	char part[PATH_MAX + 64];
	const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) <= COMMAND_FAILED;

	sweep_path_of(sweep, run, ".part", part);
	if (is_good && cache_keep(&sweep->plan, &sweep->runs_folder, part, run) == COMMAND_DONE) {
		free(said);
	} else {
		unlink(part);
		if (is_good) { /* what is wrong with it is told */
			free(said);
			said = strdup("its result could not be kept");
		}
		sweep_give_up(sweep, run, said);
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
	uint64_t number;
	char *said;
	int status, ret = jobs_wait(&sweep->jobs, &number, &status, &said);

	if (!ret) {
		sweep_take(sweep, &sweep->runs[number], status, said);
		show_progress(sweep, false);
	}
	return ret;
}

/* Those that come to the same, such as 2MiB and 2048KiB, are made once, by the first of them. */
static void take_twins(struct sweep *sweep)
{
	for (uint64_t i = 0; i < sweep->run_count; i++) {
		struct sweep_run *run = &sweep->runs[i];

		if (run->twin != i && !run->result)
			run->result = json_incref(sweep->runs[run->twin].result);
		if (!run->result && !run->trouble && sweep->runs[run->twin].trouble)
			run->trouble = strdup(sweep->runs[run->twin].trouble);
		if (!run->result && !run->trouble && jobs_signal() &&
		    asprintf(&run->trouble, "the sweep was ended by signal %d", jobs_signal()) < 0)
			run->trouble = NULL;
	}
}

static int run_all(struct sweep *sweep)
{
	int ret = jobs_open(&sweep->jobs, sweep->job_count);

	for (uint64_t i = 0; i < sweep->run_count && !ret && !jobs_signal(); i++) {
		struct sweep_run *run = &sweep->runs[i];

		if (run->twin != i && !run->result) {
			sweep->done++;
			continue;
		}
		if (run->result) {
			sweep->had++;
			sweep->done++;
			continue;
		}
		if (sweep->jobs.busy == sweep->job_count)
			ret = wait_for_one(sweep);
		if (!ret && !jobs_signal())
			ret = jobs_start(&sweep->jobs, i, become, sweep);
	}
	ret = ret == -EINTR ? 0 : ret;
	while (sweep->jobs.busy > 0 && wait_for_one(sweep) == 0)
		;
	take_twins(sweep);
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

static uint64_t count_results(const struct sweep *sweep)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < sweep->run_count; i++)
		count += sweep->runs[i].result != NULL;
	return count;
}

static int sweep_finish(const struct sweep *sweep)
{
	int ret = sweep_write_files(sweep);

	if (!sweep->options->quiet)
		sweep_markdown(&sweep->plan, sweep->runs, stdout);
	if (!sweep->options->quiet)
		putchar('\n');
	if (jobs_signal())
		command_say("ended by signal %d: %" PRIu64 " of %" PRIu64 " runs are made, and the "
			    "next sweep goes on there",
			    jobs_signal(), count_results(sweep), sweep->run_count);
	if (!ret)
		command_line(stdout,
			     "%" PRIu64 " runs, %" PRIu64 " of them from before: %s/sweep.csv",
			     sweep->run_count, sweep->had, sweep->folder.path);
	if (sweep->failed)
		ret = COMMAND_BROKEN;
	return ret;
}

/* What did not hold, as a run says it. */
static int say_unmet(const struct sweep_verdicts *verdicts)
{
	int ret = COMMAND_DONE;

	for (uint32_t i = 0; i < verdicts->count; i++) {
		const struct sweep_verdict *verdict = &verdicts->all[i];

		if (verdict->held)
			continue;
		if (!verdict->unknown)
			command_say("expected %s: %s", verdict->name, verdict->message);
		ret = COMMAND_FAILED;
	}
	return ret;
}

static int sweep_give_verdicts(const struct sweep *sweep)
{
	struct sweep_verdicts verdicts;
	int ret, written;

	if (sweep_judge(&sweep->plan, sweep->runs, &verdicts) != 0) {
		command_say("no memory");
		ret = COMMAND_BROKEN;
	} else {
		ret = say_unmet(&verdicts);
		written = COMMAND_DONE;
		if (sweep->options->junit)
			written = sweep_junit(sweep->options->junit, sweep->name,
					      progress_clock() - sweep->began, &sweep->plan,
					      sweep->runs, &verdicts);
		ret = written ? written : ret;
	}
	sweep_verdicts_free(&verdicts);
	return ret;
}

static int read_sweep_baseline(struct sweep *sweep)
{
	const char *run = sweep->options->baseline;
	char *file = run ? back_baseline_file(run) : NULL, *text;
	int ret = run && !file ? COMMAND_BROKEN : COMMAND_DONE;

	if (!run || !file)
		return ret;
	ret = back_baseline(NULL, file, &sweep->baseline);
	if (!ret && !sweep->options->quiet)
		back_warn_of_version(file, sweep->baseline);
	text = ret ? NULL : json_dumps(sweep->baseline, JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	if (text)
		sweep->baseline_hash = util_hash_name(text);
	else
		ret = ret ? ret : COMMAND_BROKEN;
	free(text);
	free(file);
	return ret;
}

/* Reads all that it needs, and writes nothing. */
static int read_sweep(struct sweep *sweep)
{
	struct bad_list errors = {.lines = NULL};
	int ret = sweep_plan_read(sweep->path, &sweep->plan, &errors);

	ret = ret ? ret : sweep_plan_narrow(&sweep->plan, &sweep->options->overrides);
	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	if (ret)
		return ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
	sweep->run_count = sweep->plan.point_count * sweep->plan.seed_count;
	sweep->runs = calloc(sweep->run_count + 1, sizeof(*sweep->runs));
	if (!sweep->runs)
		return COMMAND_BROKEN;
	ret = read_sweep_baseline(sweep);
	for (uint64_t point = 0; point < sweep->plan.point_count && !ret; point++)
		ret = check_point(sweep, point);
	return ret;
}

static int open_sweep(struct sweep *sweep)
{
	const char *slash = strrchr(sweep->path, '/');
	char below[PATH_MAX + 8];
	int ret = read_sweep(sweep);

	ret = ret ? ret : find_twins(sweep);
	if (ret)
		return ret;
	snprintf(sweep->name, sizeof(sweep->name), "%.100s", slash ? slash + 1 : sweep->path);
	if (strrchr(sweep->name, '.'))
		*strrchr(sweep->name, '.') = '\0';
	ret = folder_open(&sweep->folder, sweep->options->out, sweep->name);
	snprintf(below, sizeof(below), "%s/runs", sweep->folder.path);
	ret = ret ? ret : folder_open(&sweep->runs_folder, below, "");
	return ret ? ret : load_all(sweep);
}

static void sweep_fini(struct sweep *sweep)
{
	for (uint64_t i = 0; sweep->runs && i < sweep->run_count; i++) {
		json_decref(sweep->runs[i].result);
		free(sweep->runs[i].trouble);
	}
	free(sweep->runs);
	jobs_close(&sweep->jobs);
	json_decref(sweep->baseline);
	folder_close(&sweep->runs_folder);
	folder_close(&sweep->folder);
	sweep_plan_free(&sweep->plan);
}

int sweep_check(const char *path, const struct command_options *options)
{
	struct sweep sweep = {.options = options, .path = path, .is_check = true};
	const int ret = read_sweep(&sweep);

	if (!ret && !options->quiet)
		command_line(stdout,
			     "%s: ok: %" PRIu64 " runs of %s: %" PRIu64
			     " combination%s of settings, %u seed%s, %u expectations",
			     path, sweep.run_count, sweep.plan.scenario, sweep.plan.point_count,
			     sweep.plan.point_count == 1 ? "" : "s", sweep.plan.seed_count,
			     sweep.plan.seed_count == 1 ? "" : "s", sweep.runs[0].expect_count);
	sweep_fini(&sweep);
	return ret;
}

static bool expects_nothing(const struct sweep *sweep)
{
	for (uint64_t i = 0; i < sweep->run_count; i++)
		if (sweep->runs[i].expect_count > 0)
			return false;
	return true;
}

static int sweep_run(const struct command_options *options)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct sweep sweep = {.options = options,
			      .path = options->args[0],
			      .began = progress_clock(),
			      .job_count = options->job_count ? options->job_count
					   : cores > 0	      ? (uint32_t)cores
							      : 1};
	int ret = options->junit ? junit_clear(options->junit) : COMMAND_DONE, error, judged;

	ret = ret ? ret : open_sweep(&sweep);
	if (!ret && options->junit)
		ret = junit_try(options->junit);
	if (!ret && options->junit && expects_nothing(&sweep))
		junit_warn_of_nothing(options->junit, options->args[0]);
	ret = ret ? ret : folder_drop(&sweep.folder, "sweep.csv");
	ret = ret ? ret : folder_drop(&sweep.folder, "sweep.md");
	if (!ret) {
		error = run_all(&sweep);
		if (error)
			command_say("%s: %s", options->args[0], strerror(-error));
		ret = sweep_finish(&sweep);
		ret = error ? COMMAND_BROKEN : ret;
		judged = sweep_give_verdicts(&sweep);
		ret = ret ? ret : judged;
		if (jobs_signal())
			ret = COMMAND_SIGNAL + jobs_signal();
	}
	sweep_fini(&sweep);
	return ret;
}

const struct command command_sweep = {
	.name = "sweep",
	.arguments = "PLAN",
	.summary = "a scenario with many settings and seeds",
	.help = "Runs every combination of settings and seeds that the YAML file PLAN names (keys: "
		"scenario,\nset, seeds, hold, show), as processes on all cores, and writes "
		"sweep.csv, "
		"sweep.md and an SVG plot\nfor each value shown. Runs that are there already are "
		"not made again. --set KEY=VALUE is for every run, and of a key of the plan the "
		"one "
		"value; --seed N\nis the one seed. Exit status: 0 done, 1 an expectation held in "
		"fewer seeds than hold says (all),\n2 bad input, 3 a run could not be made.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_OUT | COMMAND_JOBS | COMMAND_QUIET |
		   COMMAND_BASELINE | COMMAND_JUNIT,
	.args_min = 1,
	.args_max = 1,
	.run = sweep_run,
};

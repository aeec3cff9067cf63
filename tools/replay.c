/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay.h"

#include "tools/code.h"
#include "tools/guard.h"
#include "tools/result/output.h"
#include "tools/run.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

int replay_write(const struct replay_origin *origin, FILE *file)
{
	const struct scenario_overrides *overrides = origin->overrides;
	char *path = copies_text(origin->path);
	char *baseline = origin->baseline ? copies_text(origin->baseline) : NULL;
	json_t *sets = json_array(), *all;
	char hash[BACK_HASH_DIGITS + 1];
	int ret = path && (baseline || !origin->baseline) ? 0 : -ENOMEM;

	snprintf(hash, sizeof(hash), "%016" PRIx64, origin->scenario->hash);
	for (uint32_t i = 0; i < overrides->set_count && !ret; i++)
		ret = json_array_append_new(sets, json_string(overrides->sets[i]));
	all = json_pack(
		"{s:s?,s:o,s:o,s:s,s:s?,s:O}", "scenario", path, "seed",
		overrides->has_seed ? json_integer((json_int_t)overrides->seed) : json_null(),
		"set", sets, "hash", hash, "baseline", baseline, "programs", origin->programs);
	if (ret || !all || copies_name(origin->copies, all) != 0)
		ret = -ENOMEM;
	else if (json_dumpf(all, file, JSON_INDENT(1)) != 0 || fputc('\n', file) == EOF)
		ret = -EIO;
	json_decref(all);
	free(baseline);
	free(path);
	return ret;
}

/* False, too, where @json, of an older run, does not say it. */
static bool has_hash(const json_t *json, uint64_t hash)
{
	const char *before = json_string_value(json_object_get(json, "hash"));
	char text[BACK_HASH_DIGITS + 1];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	return before && strcmp(before, text) == 0;
}

/* As the run in the folder has read it, or, where that has kept nothing, as it is. */
static int read_again(struct replay *replay, const struct command_options *with)
{
	struct kept *kept = &replay->kept;
	struct command_options options = {.overrides = kept->overrides, .quiet = with->quiet};
	int ret;

	if (kept->copies.count == 0) {
		replay->path = strdup(kept->path);
		return replay->path ? command_read(replay->path, &options, &replay->scenario)
				    : COMMAND_BROKEN;
	}
	options.overrides.source = &kept->copies.source;
	ret = command_read_at(kept->copies.all[0].path, &options, &replay->scenario);
	replay->path = copies_path_of(&kept->copies, kept->path);
	return ret || replay->path ? ret : COMMAND_BROKEN;
}

static int replay_open_folder(struct replay *replay, const struct command_options *with)
{
	struct kept *kept = &replay->kept;
	int ret = kept_open(kept, replay->name);

	ret = ret ? ret : back_result(replay->name, &replay->before);
	ret = ret ? ret : read_again(replay, with);
	if (!ret && kept->baseline && kept->copies.count > 0)
		ret = back_baseline(&kept->copies.source, kept->baseline, &replay->baseline);
	replay->same_scenario = !ret && has_hash(kept->json, replay->scenario.hash);
	return ret;
}

/* ---- the run ---- */

int replay_open(struct replay *replay, const char *name, const struct command_options *options)
{
	struct stat stat_of;
	int ret;

	*replay = (struct replay){.name = name};
	if (stat(name, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
		ret = replay_open_folder(replay, options);
	} else {
		replay->path = strdup(name);
		ret = replay->path ? command_read(name, options, &replay->scenario)
				   : COMMAND_BROKEN;
	}
	ret = ret ? ret : ranks_open(&replay->ranks, replay->path, &replay->scenario, true);
	guard_end(); /* until they run */
	return ret;
}

void replay_warn_of_edits(const struct replay *replay, const struct command_options *options)
{
	json_t *programs;

	if (options->quiet)
		return;
	copies_warn_of_edits(&replay->kept.copies);
	programs = code_describe(replay->path, &replay->scenario);
	kept_warn_of_programs(&replay->kept, replay->name, programs);
	json_decref(programs);
}

int replay_check_settings(const char *command, const struct command_options *options,
			  uint32_t count)
{
	struct stat stat_of;

	if (!options->overrides.has_seed && options->overrides.set_count == 0)
		return COMMAND_DONE;
	for (uint32_t i = 0; i < count; i++)
		if (stat(options->args[i], &stat_of) != 0 || !S_ISDIR(stat_of.st_mode))
			return COMMAND_DONE;
	command_line(stderr,
		     "verbena %s: found settings beside the folder of a run, expected a scenario "
		     "for --seed, --set and --until: a run is as it was",
		     command);
	return COMMAND_BAD;
}

int replay_build(struct replay *replay)
{
	struct scenario_options options = {.thread_count = 1};
	int ret;

	if (replay->rows_in && replay->scenario.stream_count > 0) {
		replay->log = flow_log_create(&replay->scenario, replay->rows_in);
		if (!replay->log) {
			command_say("%s: %s", replay->rows_in, strerror(errno));
			return COMMAND_BROKEN;
		}
		options.listener = flow_log_listener(replay->log);
	}
	ret = scenario_build(&replay->scenario, &options, &replay->fabric, &replay->traffic);
	if (!ret && replay->log)
		flow_log_attach(replay->log, replay->traffic);
	ret = ret ? ret
		  : events_attach(&replay->events, &replay->scenario, &replay->fabric,
				  replay->traffic);
	if (!ret)
		return COMMAND_DONE;
	command_say_error(replay->name, -ret);
	return COMMAND_BROKEN;
}

int replay_run(struct replay *replay)
{
	int ret;

	if (replay->scenario.program_count > 0)
		guard_begin(true, run_rescue);
	ret = ranks_start(&replay->ranks, &replay->fabric, 1);
	replay->events.requests = replay->ranks.requests;
	ret = ret ? ret : fabric_run(&replay->fabric, replay->scenario.until);
	if (replay->log) {
		const int ended = traffic_stream_end(replay->traffic);

		ret = ret ? ret : ended;
	}
	guard_end();
	ranks_stop(&replay->ranks);
	replay->is_cut = ret == -ENOMEM && replay->fabric.pools.exhausted;
	ret = replay->is_cut ? 0 : ret;
	return ret ? ret : events_end(&replay->events);
}

void replay_warn_of_cut(const struct replay *replay, ps_t at)
{
	char text[OUTPUT_TEXT_MAX];

	command_say("%s: the run could not go on at %s: the memory for packets under way is used "
		    "up; the scenario's key memory says how much they may have; this is of the run "
		    "up to there",
		    replay->name, output_time(at, text));
}

struct result_source replay_source(const struct replay *replay)
{
	return (struct result_source){.scenario = &replay->scenario,
				      .fabric = &replay->fabric,
				      .traffic = replay->traffic,
				      .log = replay->log,
				      .programs = replay->ranks.runs,
				      .requests = replay->ranks.requests,
				      .version = command_version,
				      .partial = replay->is_cut};
}

bool replay_is_fixed(const struct replay *replay)
{
	for (uint32_t i = 0; i < replay->scenario.program_count; i++)
		if (!program_is_fixed(replay->ranks.runs[i]))
			return false;
	return true;
}

const char *replay_change(const struct replay *replay, uint64_t digest, bool is_fixed)
{
	const struct back_run *before = &replay->before;
	char text[BACK_HASH_DIGITS + 1];

	snprintf(text, sizeof(text), "%016" PRIx64, digest);
	if (!before->digest[0] || strcmp(text, before->digest) == 0)
		return NULL;
	if (before->partial && replay->is_cut)
		return "that run was ended before its time; this is of more of it, or of less";
	if (before->partial)
		return "that run was ended before its time; this is of all of it";
	if (!replay->same_scenario || !before->same_version || replay->scenario.program_count == 0)
		return "its scenario or this program has changed since; this is of the run as it "
		       "would be now";
	if (!before->fixed_programs || !is_fixed)
		return "its scenario has not changed, but its programs do not have their memory "
		       "where they had it then, and send addresses of it; this is of the run as it "
		       "is now";
	return "its scenario has not changed, but its programs have, or send what is not the same "
	       "in each run; this is of the run as it is now";
}

void replay_fini(struct replay *replay)
{
	ranks_stop(&replay->ranks);
	traffic_destroy(replay->traffic);
	flow_log_destroy(replay->log);
	if (replay->fabric.sim)
		fabric_fini(&replay->fabric);
	events_fini(&replay->events);
	ranks_fini(&replay->ranks);
	scenario_fini(&replay->scenario);
	json_decref(replay->baseline);
	kept_close(&replay->kept);
	free(replay->path);
	*replay = (struct replay){.name = NULL};
}

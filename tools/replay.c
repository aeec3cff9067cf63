/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay.h"

#include "tools/guard.h"
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

int replay_write(const struct command_options *options, const struct scenario *scenario, FILE *file)
{
	const struct scenario_overrides *overrides = &options->overrides;
	json_t *sets = json_array(), *all;
	char hash[BACK_HASH_DIGITS + 1];
	int ret = 0;

	snprintf(hash, sizeof(hash), "%016" PRIx64, scenario->hash);
	for (uint32_t i = 0; i < overrides->set_count && !ret; i++)
		ret = json_array_append_new(sets, json_string(overrides->sets[i]));
	all = json_pack("{s:s,s:o,s:o,s:s}", "scenario", options->args[0], "seed",
			overrides->has_seed ? json_integer((json_int_t)overrides->seed)
					    : json_null(),
			"set", sets, "hash", hash);
	if (ret || !all)
		ret = -ENOMEM;
	else if (json_dumpf(all, file, JSON_INDENT(1)) != 0 || fputc('\n', file) == EOF)
		ret = -EIO;
	json_decref(all);
	return ret;
}

static int bad_folder(const char *path, const char *found)
{
	command_line(stderr, "%s:1: run: found %s, expected the folder of a run, or a scenario",
		     path, found);
	return COMMAND_BAD;
}

/* The texts of @overrides point into @json, which therefore stays. */
static int read_origin(struct replay *replay, const char *path, const json_t *json,
		       struct scenario_overrides *overrides)
{
	const json_t *scenario = json_object_get(json, "scenario");
	const json_t *seed = json_object_get(json, "seed"), *sets = json_object_get(json, "set");
	const json_t *hash = json_object_get(json, "hash");
	const size_t count = json_array_size(sets);
	const char **texts = calloc(count + 1, sizeof(*texts));

	overrides->sets = texts;
	if (!texts)
		return COMMAND_BROKEN;
	if (!json_is_string(scenario))
		return back_refuse(path, "scenario", scenario, "a file");
	if (!json_is_array(sets))
		return back_refuse(path, "set", sets, "a list of texts");
	for (; overrides->set_count < count; overrides->set_count++) {
		const json_t *set = json_array_get(sets, overrides->set_count);

		if (!json_is_string(set))
			return back_refuse(path, "set", set, "a text such as \"until=1ms\"");
		texts[overrides->set_count] = json_string_value(set);
	}
	if (!json_is_null(seed) && !back_is_count(seed))
		return back_refuse(path, "seed", seed, "null or a number from 0 to 2^63 - 1");
	if (hash && !back_is_hash(hash))
		return back_refuse(path, "hash", hash, "16 hexadecimal digits");
	overrides->has_seed = json_is_integer(seed);
	overrides->seed = (uint64_t)json_integer_value(seed);
	replay->path = strdup(json_string_value(scenario));
	return replay->path ? COMMAND_DONE : COMMAND_BROKEN;
}

/* False, too, where @json, of an older run, does not say it. */
static bool has_hash(const json_t *json, uint64_t hash)
{
	const char *before = json_string_value(json_object_get(json, "hash"));
	char text[BACK_HASH_DIGITS + 1];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	return before && strcmp(before, text) == 0;
}

static int replay_open_folder(struct replay *replay, bool quiet)
{
	struct command_options options = {.quiet = quiet};
	char path[PATH_MAX] = "";
	json_t *json = NULL;
	FILE *file = NULL;
	int ret = COMMAND_DONE;

	if (snprintf(path, sizeof(path), "%s/run.json", replay->name) < (int)sizeof(path))
		ret = back_open(path, &file);
	if (ret)
		return ret;
	if (!file)
		return bad_folder(replay->name, "no run.json in it");
	json = json_loadf(file, 0, NULL);
	fclose(file);
	if (!json)
		return bad_folder(replay->name, "a run.json that is no JSON");
	ret = read_origin(replay, path, json, &options.overrides);
	ret = ret ? ret : back_result(replay->name, &replay->before);
	ret = ret ? ret : command_read(replay->path, &options, &replay->scenario);
	replay->same_scenario = !ret && has_hash(json, replay->scenario.hash);
	free((void *)(uintptr_t)options.overrides.sets);
	json_decref(json);
	return ret;
}

/* ---- the run ---- */

int replay_open(struct replay *replay, const char *name, const struct command_options *options)
{
	struct stat stat_of;
	int ret;

	*replay = (struct replay){.name = name};
	if (stat(name, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
		ret = replay_open_folder(replay, options->quiet);
	} else {
		replay->path = strdup(name);
		ret = replay->path ? command_read(name, options, &replay->scenario)
				   : COMMAND_BROKEN;
	}
	ret = ret ? ret : ranks_open(&replay->ranks, replay->path, &replay->scenario, true);
	guard_end(); /* until they run */
	return ret;
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
	command_say("%s: %s", replay->name, strerror(-ret));
	return COMMAND_BROKEN;
}

int replay_run(struct replay *replay)
{
	int ret;

	if (replay->scenario.program_count > 0)
		guard_begin(true, run_rescue);
	ret = ranks_start(&replay->ranks, &replay->fabric, 1);
	ret = ret ? ret : fabric_run(&replay->fabric, replay->scenario.until);
	if (replay->log) {
		const int ended = traffic_stream_end(replay->traffic);

		ret = ret ? ret : ended;
	}
	guard_end();
	ranks_stop(&replay->ranks);
	return ret ? ret : events_end(&replay->events);
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
	free(replay->path);
	*replay = (struct replay){.name = NULL};
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/again.h"

#include "tools/incident.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file, or the incident of that name, is what it was before there were folders. */
static bool is_run(const char *path)
{
	char file[PATH_MAX];
	struct stat stat_of;

	return incident_path(path) == path && stat(path, &stat_of) == 0 &&
	       S_ISDIR(stat_of.st_mode) &&
	       snprintf(file, sizeof(file), "%s/run.json", path) < (int)sizeof(file) &&
	       access(file, F_OK) == 0;
}

static bool is_same_folder(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int again_refuse(const char *run, const char *found)
{
	command_line(stderr,
		     "%s: run: found %s, expected --out DIR beside it, another one: what is in it "
		     "stays",
		     run, found);
	return COMMAND_BAD;
}

/* Those of the folder first, which the others take the place of. */
static int join_settings(struct again *again, const struct scenario_overrides *more)
{
	struct scenario_overrides *all = &again->options.overrides;
	const struct scenario_overrides *kept = &again->kept.overrides;
	const char **sets = calloc((size_t)kept->set_count + more->set_count + 1, sizeof(*sets));

	*all = more->has_seed ? *more : *kept;
	all->sets = sets;
	all->set_count = 0;
	for (uint32_t i = 0; sets && i < kept->set_count; i++)
		sets[all->set_count++] = kept->sets[i];
	for (uint32_t i = 0; sets && i < more->set_count; i++)
		sets[all->set_count++] = more->sets[i];
	return sets ? COMMAND_DONE : COMMAND_BROKEN;
}

int again_open_inputs(struct again *again, const struct command_options *options)
{
	const char *run = options->args[0];
	int ret;

	*again = (struct again){.is_open = false};
	if (!is_run(run))
		return COMMAND_DONE;
	again->is_open = true;
	again->options = *options;
	again->options.overrides = (struct scenario_overrides){.sets = NULL};
	ret = kept_open(&again->kept, run);
	if (!ret && again->kept.copies.count == 0) {
		command_line(stderr,
			     "%s: run: found the folder of a run that has kept nothing of what it "
			     "has read, expected its scenario",
			     run);
		ret = COMMAND_BAD;
	}
	ret = ret ? ret : join_settings(again, &options->overrides);
	if (!ret && !options->quiet)
		copies_warn_of_edits(&again->kept.copies);
	if (!ret)
		again->path = copies_path_of(&again->kept.copies, again->kept.path);
	return ret || again->path ? ret : COMMAND_BROKEN;
}

int again_open(struct again *again, const struct command_options *options)
{
	const char *run = options->args[0];

	*again = (struct again){.is_open = false};
	if (is_run(run) && !options->out && !options->json)
		return again_refuse(run, "the folder of a run");
	if (is_run(run) && options->out && is_same_folder(options->out, run))
		return again_refuse(run, "the folder of a run, and --out the same one");
	return again_open_inputs(again, options);
}

int again_read(const struct again *again, struct scenario *ret_scenario)
{
	struct command_options options = again->options;

	options.overrides.source = &again->kept.copies.source;
	return command_read_at(again->kept.copies.all[0].path, &options, ret_scenario);
}

void again_close(struct again *again)
{
	if (!again->is_open)
		return;
	free((void *)(uintptr_t)again->options.overrides.sets);
	free(again->path);
	kept_close(&again->kept);
}

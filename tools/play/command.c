/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena replay: recorded verbs calls, in virtual time, in a fabric. */
#include "tools/play/play.h"
#include "tools/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct replayed {
	const struct command_options *options;
	struct play *play;
	struct scenario scenario; /* the fabric, without the recording */
	const char **hosts;	  /* of the recorded hosts */
	uint32_t host_count;
	char *names; /* what @hosts are in */
};

static int no_memory(void)
{
	command_say("no memory");
	return COMMAND_BROKEN;
}

/* ---- where ---- */

static bool is_host(const struct scenario *scenario, const char *name)
{
	for (uint32_t i = 0; i < scenario->topology.node_count; i++)
		if (!scenario->topology.nodes[i].is_switch &&
		    strcmp(scenario->topology.nodes[i].name, name) == 0)
			return true;
	return false;
}

static int take_named(struct replayed *r)
{
	char *rest = NULL;

	r->names = strdup(r->options->hosts);
	if (!r->names)
		return no_memory();
	for (char *name = strtok_r(r->names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (!is_host(&r->scenario, name) || r->host_count == r->play->host_count) {
			command_line(
				stderr,
				"%s:1: --hosts: found \"%s\", expected %u hosts of the fabric, "
				"as many as were recorded",
				r->options->topology, name, r->play->host_count);
			return COMMAND_BAD;
		}
		r->hosts[r->host_count++] = name;
	}
	return COMMAND_DONE;
}

static int choose_hosts(struct replayed *r)
{
	const struct topology *topology = &r->scenario.topology;
	const uint32_t needed = r->play->host_count;
	int ret = COMMAND_DONE;

	r->hosts = calloc((size_t)needed + 1, sizeof(*r->hosts));
	if (!r->hosts)
		return no_memory();
	if (r->options->hosts)
		ret = take_named(r);
	else
		for (uint32_t i = 0; i < topology->node_count && r->host_count < needed; i++)
			if (!topology->nodes[i].is_switch)
				r->hosts[r->host_count++] = topology->nodes[i].name;
	if (ret || r->host_count == needed)
		return ret;
	command_line(stderr, "%s:1: hosts: found %u, expected %u, as many as were recorded",
		     r->options->topology, r->host_count, needed);
	return COMMAND_BAD;
}

/* ---- the program ---- */

static void replay_put_quoted(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, to);
	fputc('\'', to);
}

static bool put_path(FILE *to, const char *path)
{
	char *absolute = realpath(path, NULL);

	if (absolute)
		replay_put_quoted(to, absolute);
	free(absolute);
	return absolute != NULL;
}

/* "programs=[{run: ...}]", for free(); NULL: no memory. */
static char *make_setting(const struct replayed *r)
{
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);
	bool ok = to != NULL;

	if (!to)
		return NULL;
	fputs("programs=[{name: recorded, run: ", to);
	ok = put_path(to, r->options->args[0]);
	fputs(", args: [", to);
	for (uint32_t i = 1; i < r->options->arg_count && ok; i++) {
		fputs(i > 1 ? ", " : "", to);
		ok = put_path(to, r->options->args[i]);
	}
	fputs("], hosts: [", to);
	for (uint32_t i = 0; i < r->play->process_count; i++) {
		fputs(i ? ", " : "", to);
		replay_put_quoted(to, r->hosts[r->play->processes[i].host]);
	}
	fputs("]}]", to);
	if (fclose(to) != 0 || !ok) {
		free(text);
		return NULL;
	}
	return text;
}

/* As "verbena run" of the fabric with one setting more. */
static int run_it(const struct replayed *r, const char *setting)
{
	struct command_options options = *r->options;
	char *args[] = {(char *)(uintptr_t)options.topology, NULL};
	const uint32_t count = options.overrides.set_count;
	const char **sets = calloc((size_t)count + 1, sizeof(*sets));
	int ret;

	if (!sets)
		return no_memory();
	for (uint32_t i = 0; i < count; i++)
		sets[i] = options.overrides.sets[i];
	sets[count] = setting;
	options.overrides.sets = sets;
	options.overrides.set_count = count + 1;
	options.args = args;
	options.arg_count = 1;
	ret = command_run.run(&options);
	free(sets);
	return ret;
}

static int read_fabric(struct replayed *r)
{
	int ret = command_read(r->options->topology, r->options, &r->scenario);

	if (!ret && r->scenario.program_count > 0) {
		command_line(stderr, "%s: programs: found %u, expected none beside a recording",
			     r->scenario.programs[0].where, r->scenario.program_count);
		ret = COMMAND_BAD;
	}
	return ret;
}

static int replay_recordings(struct replayed *r)
{
	struct bad_text text;
	const char *lacks = play_lacks(r->play, NULL, &text);
	char *setting;
	int ret;

	if (lacks) {
		command_line(stderr, "%s:1: peers: found one end, expected %s", r->options->args[0],
			     lacks);
		return COMMAND_BAD;
	}
	ret = read_fabric(r);
	ret = ret ? ret : choose_hosts(r);
	if (ret)
		return ret;
	if (!r->options->quiet)
		command_line(stderr, "verbena: %s: %s", r->options->args[0],
			     play_describe(r->play, &text));
	setting = make_setting(r);
	if (!setting)
		return no_memory();
	ret = run_it(r, setting);
	free(setting);
	return ret;
}

static int replay_command(const struct command_options *options)
{
	struct replayed r = {.options = options};
	int ret;

	if (!options->topology) {
		command_say(
			"replay: found no --topology, expected the scenario whose fabric it is");
		return COMMAND_BAD;
	}
	ret = play_open(options->args, options->arg_count, &r.play);
	if (ret == 0)
		ret = replay_recordings(&r);
	else
		ret = ret == -ENOMEM ? no_memory() : COMMAND_BAD;
	scenario_fini(&r.scenario);
	play_close(r.play);
	free(r.hosts);
	free(r.names);
	return ret;
}

const struct command command_replay = {
	.name = "replay",
	.arguments = "RECORDING...",
	.summary = "play recorded verbs calls in a fabric",
	.help = "Plays what \"verbena exec --record\" has kept, of all files together, in the "
		"fabric of a scenario\n"
		"and beside its traffic, in virtual time. Each process is a rank. A call follows "
		"the completion that\n"
		"its process had polled last by as much as it did then. All else is as of "
		"\"verbena run\".\n",
	.options = COMMAND_TOPOLOGY | COMMAND_HOSTS | COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL |
		   COMMAND_OUT | COMMAND_JSON | COMMAND_JUNIT | COMMAND_PCAP | COMMAND_PCAP_PORT |
		   COMMAND_PCAP_SNAPLEN | COMMAND_TRACE | COMMAND_BREAK_ON | COMMAND_SERIES |
		   COMMAND_SERIES_FLOWS | COMMAND_PERFETTO | COMMAND_THROUGH_WIRE |
		   COMMAND_THREADS | COMMAND_BASELINE | COMMAND_QUIET,
	.args_min = 1,
	.args_max = UINT32_MAX,
	.run = replay_command,
};

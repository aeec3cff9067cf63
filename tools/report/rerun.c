/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena report: the run again, and its page with the packets of some flows. */
#include "tools/expect/expect.h"
#include "tools/observe/progress.h"
#include "tools/replay.h"
#include "tools/report/choice.h"
#include "tools/report/report.h"
#include "tools/result/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct rerun {
	const char *name;
	struct replay replay;
	struct sampler sampler;
	struct pause_tree pauses;
	struct spells spells;
	struct packet_log packets;
	struct result result;
	struct advice advice;
};

/* ---- the run ---- */

static int rerun_refuse(const struct rerun *rerun, int error)
{
	if (error)
		command_say("%s: %s", rerun->name, strerror(-error));
	return error ? COMMAND_BROKEN : COMMAND_DONE;
}

/* @choice: whose packets are kept; NULL: only the result is wanted. */
static int rerun_once(struct rerun *rerun, const struct choice *choice)
{
	struct replay *replay = &rerun->replay;
	const double began = progress_clock();
	struct result_source source;
	int ret = replay_build(replay);

	if (ret)
		return ret;
	if (choice) {
		ret = sampler_start(&rerun->sampler, &replay->fabric);
		if (!ret && replay->scenario.switches.fc == SCENARIO_FC_PFC)
			ret = pause_tree_start(&rerun->pauses, &replay->events);
		ret = ret ? ret : spells_start(&rerun->spells, &replay->events);
		ret = ret ? ret
			  : choice_start(choice, &replay->scenario, &replay->events,
					 &rerun->packets);
	}
	ret = ret ? ret : replay_run(replay);
	if (ret)
		return rerun_refuse(rerun, ret);
	source = replay_source(replay);
	source.wall_s = progress_clock() - began;
	if (choice)
		sampler_end(&rerun->sampler, result_time(&source));
	pause_tree_end(&rerun->pauses, result_time(&source));
	spells_end(&rerun->spells);
	ret = result_collect(&source, &rerun->result);
	if (!ret && choice)
		ret = advice_make(&(struct advice_source){.result = &rerun->result,
							  .traffic = replay->traffic,
							  .pauses = &rerun->pauses,
							  .spells = &rerun->spells},
				  &rerun->advice);
	return rerun_refuse(rerun,
			    ret ? ret : expect_judge(&rerun->result, rerun->replay.baseline));
}

static void rerun_fini(struct rerun *rerun)
{
	result_free(&rerun->result);
	packet_log_fini(&rerun->packets);
	pause_tree_fini(&rerun->pauses);
	spells_fini(&rerun->spells);
	sampler_fini(&rerun->sampler);
	replay_fini(&rerun->replay);
	*rerun = (struct rerun){.name = rerun->name};
}

static void rerun_warn_of_change(const struct rerun *rerun)
{
	const char *change = replay_change(&rerun->replay, rerun->result.digest,
					   replay_is_fixed(&rerun->replay));

	if (rerun->replay.is_cut)
		replay_warn_of_cut(&rerun->replay, sim_now(rerun->replay.fabric.sim));
	if (change)
		command_say("%s: %s", rerun->name, change);
}

/* ---- which flows ---- */

/* In a process of its own, for the run of the page is to be the first one of its programs: what a
 * module leaves behind in its variables would be seen. */
static int choose_by_running(struct rerun *rerun, const char *names, int pipe,
			     struct choice *choice)
{
	int ret = rerun_once(rerun, NULL);

	if (!ret && !names)
		choice_add_worst(&rerun->result, choice);
	ret = ret ? ret : choice_complete(rerun->result.requests, names, choice);
	if (!ret && write(pipe, choice, sizeof(*choice)) != (ssize_t)sizeof(*choice))
		ret = COMMAND_BROKEN;
	fflush(NULL);
	return ret;
}

/* The exit status of @child, or as a shell has it of a signal. */
static int status_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return COMMAND_BROKEN;
	return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_SIGNAL + WTERMSIG(status);
}

/* Which fared worst, and between which queue pairs a request goes, only a run tells. */
static int rerun_choose(struct rerun *rerun, const struct command_options *options,
			struct choice *ret_choice)
{
	const struct scenario *scenario = &rerun->replay.scenario;
	int ret = options->flows ? choice_read(options->flows, scenario, ret_choice) : COMMAND_DONE;
	ssize_t got = 0;
	int ends[2];
	pid_t child;

	if (ret || (options->flows && !ret_choice->has_requests) ||
	    (scenario->flow_count == 0 && scenario->program_count == 0))
		return ret;
	if (pipe(ends) != 0)
		return rerun_refuse(rerun, -errno);
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(choose_by_running(rerun, options->flows, ends[1], ret_choice));
	ret = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!ret)
		got = read(ends[0], ret_choice, sizeof(*ret_choice));
	close(ends[0]);
	if (ret)
		return rerun_refuse(rerun, ret);
	ret = status_of(child);
	return ret || got == (ssize_t)sizeof(*ret_choice) ? ret : COMMAND_BROKEN;
}

/* ---- the page ---- */

static bool is_folder(const char *name)
{
	struct stat stat_of;

	return stat(name, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
}

static int rerun_write_report(FILE *file, const void *owner)
{
	return report_write(owner, file);
}

static struct report report_of(const struct rerun *rerun)
{
	return (struct report){.result = &rerun->result,
			       .sampler = &rerun->sampler,
			       .pauses = &rerun->pauses,
			       .spells = &rerun->spells,
			       .packets = &rerun->packets,
			       .advice = &rerun->advice,
			       .run = rerun->name,
			       .is_scenario = !is_folder(rerun->name)};
}

static int one(struct rerun *rerun, const struct command_options *options,
	       const struct folder *folder)
{
	struct choice choice = {.count = 0};
	int ret = rerun_choose(rerun, options, &choice);

	rerun->replay.rows_in = folder->path;
	ret = ret ? ret : rerun_once(rerun, &choice);
	if (!ret)
		rerun_warn_of_change(rerun);
	return ret;
}

static int rerun_open_folder(struct folder *folder, const struct rerun *rerun,
			     const struct command_options *options)
{
	const char *out = options->out ? options->out : is_folder(rerun->name) ? rerun->name : NULL;

	return folder_open(folder, out, rerun->replay.scenario.name);
}

static int open_one(struct rerun *rerun, const char *name, const struct command_options *options)
{
	int ret;

	rerun->name = name;
	ret = replay_open(&rerun->replay, name, options);
	if (!ret)
		replay_warn_of_edits(&rerun->replay, options);
	return ret ? ret : expect_check(&rerun->replay.scenario, rerun->replay.baseline, true);
}

static int page_of_one(struct rerun *rerun, const struct command_options *options)
{
	struct folder folder;
	struct report report;
	int ret = rerun_open_folder(&folder, rerun, options);

	ret = ret ? ret : one(rerun, options, &folder);
	if (!ret) {
		report = report_of(rerun);
		ret = folder_put(&folder, "report.html", rerun_write_report, &report);
	}
	if (!ret)
		command_line(stdout, "report: %s/report.html", folder.path);
	folder_close(&folder);
	return ret;
}

struct both {
	struct report reports[2];
	const char *names[2];
};

static int write_both(FILE *file, const void *owner)
{
	const struct both *both = owner;

	return report_write_pair(both->reports, both->names, file);
}

enum { BASE_MAX = 101 };

/* As it was given, without folders and ending; of "." the scenario's name. */
static void base_name(const struct rerun *rerun, char ret_name[BASE_MAX])
{
	static const char *const endings[] = {".yaml", ".yml"};
	const char *name = rerun->name;
	size_t length = strlen(name);

	while (length > 0 && name[length - 1] == '/')
		length--;
	for (const char *slash; (slash = memchr(name, '/', length)); name = slash + 1)
		length -= (size_t)(slash + 1 - name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const size_t of_ending = strlen(endings[i]);

		if (length > of_ending &&
		    strncmp(name + length - of_ending, endings[i], of_ending) == 0)
			length -= of_ending;
	}
	if (length == 0 || *name == '.')
		snprintf(ret_name, BASE_MAX, "%s", rerun->replay.scenario.name);
	else
		snprintf(ret_name, BASE_MAX, "%.*s", (int)length, name);
}

static int page_of_two(struct rerun *rerun, const struct command_options *options)
{
	struct both both;
	struct folder folder;
	char names[2][BASE_MAX], name[2 * BASE_MAX + 8];
	int ret;

	base_name(&rerun[0], names[0]);
	base_name(&rerun[1], names[1]);
	snprintf(name, sizeof(name), "%s-and-%s", names[0], names[1]);
	ret = folder_open(&folder, options->out, name);
	for (int i = 0; i < 2 && !ret; i++)
		ret = one(&rerun[i], options, &folder);
	for (int i = 0; i < 2 && !ret; i++) {
		both.reports[i] = report_of(&rerun[i]);
		both.names[i] = rerun[i].name;
	}
	ret = ret ? ret : folder_put(&folder, "report.html", write_both, &both);
	if (!ret)
		command_line(stdout, "report: %s/report.html", folder.path);
	folder_close(&folder);
	return ret;
}

static int report_rerun(const struct command_options *options)
{
	struct rerun rerun[2] = {{.name = NULL}};
	int ret = replay_check_settings("report", options, options->arg_count);

	for (uint32_t i = 0; i < options->arg_count && !ret; i++)
		ret = open_one(&rerun[i], options->args[i], options);
	if (!ret)
		ret = options->arg_count == 2 ? page_of_two(rerun, options)
					      : page_of_one(&rerun[0], options);
	for (int i = 0; i < 2; i++)
		rerun_fini(&rerun[i]);
	return ret;
}

const struct command command_report = {
	.name = "report",
	.arguments = "RUN [RUN]",
	.summary = "the page of a run, with the packets of some flows; of two, side by side",
	.help = "Runs RUN again, the folder of a run or a scenario, and writes its report.html "
		"anew, with a\n"
		"ladder of the packets of the flows that fared worst, or of those that --flows "
		"names. It goes\n"
		"into the folder of the run, or --out. Of two runs: what differs, and both pages "
		"in one.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_OUT |
		   COMMAND_FLOWS,
	.args_min = 1,
	.args_max = 2,
	.run = report_rerun,
};

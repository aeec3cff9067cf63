/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena script: packet scripts against the adapter, and which clauses of the specification held.
 * Each is played by a process of its own, so that one that goes wrong ends alone. */
#include "tools/command.h"
#include "tools/script/clauses.h"
#include "tools/script/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct script_totals {
	uint32_t scripts, failed_scripts, clauses[CLAUSE_NOT_REACHED + 1];
};

static const char *script_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void script_print(const struct clause_list *list, const char *path, const char *word,
			 uint32_t i)
{
	command_line(stdout, "%s%-20s %s:%d: %s", word, list->clauses[i].number,
		     script_name_of(path), list->clauses[i].line, list->clauses[i].sentence);
}

/* What became of the script: enum script_exit, or -1 where its process was ended. *@at: the line
 * that it had come to. */
static int script_play_apart(const char *path, volatile int *at)
{
	int status = 0;
	pid_t pid;

	*at = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		script_play(path, at);
		_exit(SCRIPT_HELD);
	}
	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (pid < 0)
		command_say_error(path, errno);
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == SCRIPT_BAD))
		return SCRIPT_BAD;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= SCRIPT_DIFFERS)
		return WEXITSTATUS(status);
	command_line(stderr, "%s:%d: the adapter ended here", path, *at);
	return -1;
}

static int script_judge(const char *path, bool quiet, volatile int *at,
			struct script_totals *totals)
{
	static const char *const words[] = {"pass  ", "FAIL  ", "unrun "};
	struct clause_list list;
	int ret = SCRIPT_BAD;

	if (clauses_read(path, &list))
		ret = script_play_apart(path, at);
	for (uint32_t i = 0; ret != SCRIPT_BAD && i < list.count; i++) {
		const enum clause_state state =
			clauses_state(&list, i, ret == SCRIPT_HELD ? 0 : *at);

		totals->clauses[state]++;
		if (!quiet || state != CLAUSE_HELD)
			script_print(&list, path, words[state], i);
	}
	if (ret != SCRIPT_BAD && list.count == 0 && (!quiet || ret != SCRIPT_HELD))
		command_line(stdout, "%s%-20s %s", words[ret != SCRIPT_HELD], "-",
			     script_name_of(path));
	clauses_free(&list);
	totals->scripts++;
	totals->failed_scripts += ret != SCRIPT_HELD;
	return ret == SCRIPT_HELD ? COMMAND_DONE : ret == SCRIPT_BAD ? COMMAND_BAD : COMMAND_FAILED;
}

static int script_list(const char *path)
{
	struct clause_list list;
	const bool good = clauses_read(path, &list);

	for (uint32_t i = 0; good && i < list.count; i++)
		script_print(&list, path, "", i);
	clauses_free(&list);
	return good ? COMMAND_DONE : COMMAND_BAD;
}

static int script_run(const struct command_options *options)
{
	struct script_totals totals = {0};
	volatile int *at =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret = COMMAND_DONE;

	if (at == MAP_FAILED) {
		command_say_error("script", errno);
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < options->arg_count; i++) {
		const int one =
			options->list ? script_list(options->args[i])
				      : script_judge(options->args[i], options->quiet, at, &totals);

		ret = one > ret ? one : ret;
	}
	munmap((void *)(uintptr_t)at, sizeof(int));
	if (!options->list)
		printf("scripts %u, failed %u; clauses: pass %u, fail %u, not reached %u\n",
		       totals.scripts, totals.failed_scripts, totals.clauses[CLAUSE_HELD],
		       totals.clauses[CLAUSE_FAILED], totals.clauses[CLAUSE_NOT_REACHED]);
	return ret;
}

const struct command command_script = {
	.name = "script",
	.arguments = "FILE...",
	.summary = "packets in, packets out, by the clause",
	.help = "Plays packet scripts against the adapter, in virtual time: what comes in, and "
		"exactly what\n"
		"goes out, completes and is told. A line for each clause of the InfiniBand "
		"specification that\n"
		"a script names: pass, FAIL, or unrun where an earlier one failed.\n",
	.options = COMMAND_LIST | COMMAND_QUIET,
	.args_min = 1,
	.args_max = UINT32_MAX,
	.run = script_run,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/program.h"

#include "include/verbena/verbena.h"
#include "models/program/task.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/module.h"
#include "util/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MAX = 256 };

struct rank {
	struct prog prog;
	struct program_run *run;
	struct program_result result;
};

struct program_run {
	struct program_run_params params;
	pid_t process;
	bool fixed;
	struct rank ranks[];
};

/* ---- modules ---- */

/* Relative to the executable's folder; the last is for an installed one. */
static const char *const folders[] = {"", "programs/", "tests/programs/", PROGRAM_LIBEXEC};

static bool program_find(const char *name, char ret_path[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (strchr(name, '/'))
		return snprintf(ret_path, PATH_MAX, "%s", name) < PATH_MAX;
	if (length <= 0)
		return false;
	exe[length] = '\0';
	strrchr(exe, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *base = folders[i][0] == '/' ? "" : exe;

		if (snprintf(ret_path, PATH_MAX, "%s%s%s.so", base, folders[i], name) < PATH_MAX &&
		    access(ret_path, R_OK) == 0)
			return true;
	}
	return false;
}

int program_check(const char *name, char ret_error[PROGRAM_ERROR_MAX])
{
	char path[PATH_MAX];

	if (program_find(name, path) && access(path, R_OK) == 0)
		return module_check(path, "prog_main", ret_error, PROGRAM_ERROR_MAX);
	snprintf(ret_error, PROGRAM_ERROR_MAX, "no program \"%s\"", name);
	return -ENOENT;
}

int program_open(struct program *ret_program, const char *name, char ret_error[PROGRAM_ERROR_MAX])
{
	char path[PATH_MAX];
	void *module, *symbol;
	bool fixed;

	if (!program_find(name, path) || access(path, R_OK) != 0) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "no program \"%s\"", name);
		return -ENOENT;
	}
	module = load_open(path, &fixed);
	symbol = module ? dlsym(module, "prog_main") : NULL;
	if (!symbol) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "%s", dlerror());
		if (module)
			dlclose(module);
		return -ENOEXEC;
	}
	*ret_program = (struct program){.module = module, .fixed = fixed};
	memcpy(&ret_program->main, &symbol, sizeof(symbol)); /* POSIX: a function fits */
	return 0;
}

void program_close(struct program *program)
{
	if (program->module)
		dlclose(program->module);
	*program = (struct program){0};
}

/* ---- what a program sees ---- */

/* Programs of one fabric share its rendezvous: each has a part of its own. */
static bool own_key(const struct prog *prog, const char *key, char ret_key[KEY_MAX])
{
	const struct rank *rank = prog->host;

	return snprintf(ret_key, KEY_MAX, "%s/%s", rank->run->params.name, key) < KEY_MAX;
}

static int rank_put(const struct prog *prog, const char *key, const void *bytes, size_t length)
{
	char own[KEY_MAX];

	return own_key(prog, key, own) ? vb_put(own, bytes, length) : -EINVAL;
}

static int rank_get(const struct prog *prog, const char *key, void *ret_bytes, size_t length)
{
	char own[KEY_MAX];
	int64_t got;

	if (!own_key(prog, key, own))
		return -EINVAL;
	got = vb_get(own, ret_bytes, length);
	return got == (int64_t)length ? 0 : got < 0 ? (int)got : -EMSGSIZE;
}

static void rank_sleep_ns(const struct prog *prog, uint64_t ns)
{
	(void)prog;
	vb_sleep_ns(ns);
}

static void rank_say(const struct prog *prog, const char *line)
{
	const struct rank *rank = prog->host;
	const struct program_watcher *watcher = &rank->run->params.watcher;

	watcher->say(watcher->owner, prog->rank, line);
}

static void rank_report(const struct prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
			const void *bytes)
{
	struct rank *rank = prog->host;
	const struct program_watcher *watcher = &rank->run->params.watcher;

	rank->result.completions++;
	rank->result.completions_failed += wc->status != IBV_WC_SUCCESS;
	watcher->report(watcher->owner, prog->rank, peer, nth_qp, wc, bytes);
}

/* ---- ranks ---- */

/* What a program is given lies in its own memory, too, which goes as a whole. NULL: there is not
 * enough. */
static const char *const *own_args(const struct prog *prog)
{
	const size_t pointers = ((size_t)prog->arg_count + 1) * sizeof(char *);
	size_t bytes = pointers;
	char **args, *at;

	for (int i = 0; i < prog->arg_count; i++)
		bytes += strlen(prog->args[i]) + 1;
	args = memory_calloc(1, bytes);
	at = (char *)args + pointers;
	for (int i = 0; args && i < prog->arg_count; i++) {
		args[i] = at;
		at = stpcpy(at, prog->args[i]) + 1;
	}
	return (const char *const *)args;
}

static void rank_main(void *arg)
{
	struct rank *rank = arg;
	struct prog prog = rank->prog;

	if (task_current()->space)
		prog.args = own_args(&rank->prog);
	rank->result.result =
		prog.args || prog.arg_count == 0 ? rank->run->params.main(&prog) : -ENOMEM;
	if (getpid() != rank->run->process)
		_exit(0); /* a child of the program: the run goes on in its parent */
	rank->result.ended = true;
	rank->result.end_at = vb_now_ps();
}

static bool host_has_lower_rank(const struct program_run_params *params, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		if (params->hosts[i] == params->hosts[rank])
			return true;
	return false;
}

static int program_spawn(struct program_run *run, uint32_t i)
{
	const struct program_run_params *params = &run->params;
	struct space *space = params->has_spaces ? memory_space(params->first_space + i) : NULL;
	char name[KEY_MAX];

	if (host_has_lower_rank(params, i))
		snprintf(name, sizeof(name), "%s.%u", params->name, i);
	else
		snprintf(name, sizeof(name), "%s", params->name);
	run->ranks[i] = (struct rank){
		.prog = {.rank = (int)i,
			 .size = (int)params->size,
			 .arg_count = params->arg_count,
			 .args = params->args,
			 .host = &run->ranks[i],
			 .put = rank_put,
			 .get = rank_get,
			 .sleep_ns = rank_sleep_ns,
			 .report = rank_report,
			 .say = rank_say},
		.run = run,
		.result = {.result = -1},
	};
	return space ? task_spawn_in(params->hosts[i], name, rank_main, &run->ranks[i],
				     params->start_at, space)
		     : task_spawn(params->hosts[i], name, rank_main, &run->ranks[i],
				  params->start_at, PROGRAM_STACK_BYTES);
}

int program_start(const struct program_run_params *params, struct program_run **ret_run)
{
	struct program_run *run;
	int ret = 0;

	CHECK(params->watcher.report != NULL);
	CHECK(params->watcher.say != NULL);
	CHECK(params->size > 0 && params->size <= INT_MAX);
	run = calloc(1, sizeof(*run) + params->size * sizeof(run->ranks[0]));
	*ret_run = run;
	if (!run)
		return -ENOMEM;
	run->params = *params;
	run->process = getpid();
	run->fixed = params->fixed && params->has_spaces;
	for (uint32_t i = 0; i < params->size && !ret; i++)
		ret = program_spawn(run, i);
	return ret;
}

void program_stop(struct program_run *run)
{
	free(run);
}

const struct program_result *program_result(const struct program_run *run, uint32_t rank)
{
	CHECK(rank < run->params.size);
	return &run->ranks[rank].result;
}

bool program_is_fixed(const struct program_run *run)
{
	return run->fixed;
}

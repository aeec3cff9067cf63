/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/program.h"

#include "include/verbena/verbena.h"
#include "models/program/task.h"
#include "tools/compile.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/module.h"
#include "tools/threads.h"
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
	struct vb_prog prog;
	const struct vb_prog *own; /* the program's, where it has begun */
	struct threads *threads;
	vb_main_fn *main;
	program_plain_fn *plain; /* where there is no @main */
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

bool program_is_recording(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".vbt") == 0;
}

static bool program_find(const char *name, char ret_path[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (strchr(name, '/') || compile_is_source(name) || program_is_recording(name))
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

/* Where the file of @name is: a module, or the source of one. */
static int program_file(const char *name, char ret_path[PATH_MAX],
			char ret_error[PROGRAM_ERROR_MAX])
{
	if (program_find(name, ret_path) && access(ret_path, R_OK) == 0)
		return 0;
	snprintf(ret_error, PROGRAM_ERROR_MAX, "no program \"%s\"", name);
	return -ENOENT;
}

int program_module(const char *name, char ret_path[PATH_MAX], char ret_error[PROGRAM_ERROR_MAX],
		   char **ret_said)
{
	char source[PATH_MAX];
	const int ret = program_file(name, source, ret_error);

	if (ret || !compile_is_source(source)) {
		memcpy(ret_path, source, PATH_MAX);
		return ret;
	}
	return compile_source(source, ret_path, ret_error, PROGRAM_ERROR_MAX, ret_said);
}

int program_check(const char *name, char ret_error[PROGRAM_ERROR_MAX])
{
	char path[PATH_MAX];
	const int ret = program_file(name, path, ret_error);

	if (ret)
		return ret;
	return compile_is_source(path) ? compile_check(path, ret_error, PROGRAM_ERROR_MAX)
				       : module_check(path, ret_error, PROGRAM_ERROR_MAX);
}

int program_open(struct program *ret_program, const char *name, char ret_error[PROGRAM_ERROR_MAX])
{
	struct program program = {0};
	char path[PATH_MAX];
	void *symbol, *plain;
	int ret = program_module(name, path, ret_error, &program.said);

	ret_program->said = program.said;
	ret = ret ? ret : module_check(path, ret_error, PROGRAM_ERROR_MAX);
	if (ret)
		return ret;
	module_bring(path);
	program.module = load_open(path, &program.fixed);
	symbol = program.module ? dlsym(program.module, "prog_main") : NULL;
	plain = program.module && !symbol ? dlsym(program.module, "main") : NULL;
	if (!symbol && !plain) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "%s", dlerror());
		if (program.module)
			dlclose(program.module);
		return -ENOEXEC;
	}
	memcpy(&program.main, &symbol, sizeof(symbol)); /* POSIX: a function fits */
	memcpy(&program.plain, &plain, sizeof(plain));
	program.path = strdup(path);
	*ret_program = program;
	return 0;
}

static bool open_image(const struct program *program, uint32_t number,
		       struct program_image *ret_image, bool *ret_fixed)
{
	void *module = load_copy(program->path, number, ret_fixed), *symbol;

	if (!module)
		return false;
	ret_image->module = module;
	symbol = dlsym(module, program->main ? "prog_main" : "main");
	if (program->main)
		memcpy(&ret_image->main, &symbol, sizeof(symbol));
	else
		memcpy(&ret_image->plain, &symbol, sizeof(symbol));
	return symbol != NULL;
}

int program_spread(struct program *program, uint32_t number, uint32_t count,
		   char ret_error[PROGRAM_ERROR_MAX])
{
	const char *why;
	bool fixed;

	/* A sanitizer keeps books of the variables of modules by name. */
	if (!program->path || !space_is_supported() || !module_has_state(program->path))
		return 0;
	program->images = calloc((size_t)count + 1, sizeof(*program->images));
	if (!program->images) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "not enough memory");
		return -ENOMEM;
	}
	for (; program->image_count < count; program->image_count++) {
		const uint32_t i = program->image_count;

		errno = 0;
		if (!open_image(program, number + i, &program->images[i], &fixed)) {
			why = dlerror();
			snprintf(ret_error, PROGRAM_ERROR_MAX,
				 "no module of its own for rank %u: %s", i,
				 why ? why : strerror(errno));
			return -ENOEXEC;
		}
		program->fixed = program->fixed && fixed;
	}
	return 0;
}

bool program_use(struct program *program, uint32_t run)
{
	bool is_first = program->images || !program->module || load_use(program->module, run);

	for (uint32_t i = 0; i < program->image_count; i++)
		is_first = load_use(program->images[i].module, run) && is_first;
	return is_first;
}

void program_close(struct program *program)
{
	for (uint32_t i = 0; program->images && i <= program->image_count; i++)
		if (program->images[i].module)
			load_close_copy(program->images[i].module);
	free(program->images);
	free(program->path);
	if (program->module)
		dlclose(program->module);
	free(program->said);
	*program = (struct program){0};
}

/* ---- what a program sees ---- */

/* Programs of one fabric share its rendezvous: each has a part of its own. */
static bool own_key(const struct vb_prog *prog, const char *key, char ret_key[KEY_MAX])
{
	const struct rank *rank = prog->host;

	return snprintf(ret_key, KEY_MAX, "%s/%s", rank->run->params.name, key) < KEY_MAX;
}

static int rank_put(const struct vb_prog *prog, const char *key, const void *bytes, size_t length)
{
	char own[KEY_MAX];

	return own_key(prog, key, own) ? vb_put(own, bytes, length) : -EINVAL;
}

static int rank_get(const struct vb_prog *prog, const char *key, void *ret_bytes, size_t length)
{
	char own[KEY_MAX];
	int64_t got;

	if (!own_key(prog, key, own))
		return -EINVAL;
	got = vb_get(own, ret_bytes, length);
	return got == (int64_t)length ? 0 : got < 0 ? (int)got : -EMSGSIZE;
}

static void rank_sleep_ns(const struct vb_prog *prog, uint64_t ns)
{
	(void)prog;
	vb_sleep_ns(ns);
}

static void rank_say(const struct vb_prog *prog, const char *line)
{
	const struct rank *rank = prog->host;
	const struct program_watcher *watcher = &rank->run->params.watcher;

	watcher->say(watcher->owner, prog->rank, line);
}

static void rank_report(const struct vb_prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
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
static const char *const *own_args(const struct vb_prog *prog)
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

/* As a process is given them: the name first, and a NULL behind the last. */
static int run_plain(struct rank *rank)
{
	const char *const name[] = {rank->run->params.name};
	const struct vb_prog *prog = &rank->prog;
	struct vb_prog named = {.arg_count = prog->arg_count + 1};
	const char *const *args = NULL;
	const char **all = memory_calloc((size_t)named.arg_count, sizeof(*all));

	if (all) {
		memcpy(all, name, sizeof(name));
		if (prog->arg_count > 0)
			memcpy(all + 1, prog->args, (size_t)prog->arg_count * sizeof(*all));
		named.args = all;
		args = own_args(&named);
	}
	return args ? rank->plain(named.arg_count, (char **)(uintptr_t)args) : -ENOMEM;
}

static int run_main(struct rank *rank)
{
	struct vb_prog prog = rank->prog;

	rank->own = &prog;
	if (task_current()->space)
		prog.args = own_args(&rank->prog);
	return prog.args || prog.arg_count == 0 ? rank->main(&prog) : -ENOMEM;
}

static int run_rank(void *arg)
{
	struct rank *rank = arg;

	return rank->main ? run_main(rank) : run_plain(rank);
}

static void rank_main(void *arg)
{
	struct rank *rank = arg;

	rank->own = &rank->prog;
	rank->threads = threads_create();
	rank->result.result =
		rank->threads ? threads_run(rank->threads, run_rank, rank, !rank->main) : -ENOMEM;
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
	const struct program *program = params->program;
	const struct program_image *image = program->images ? &program->images[i] : NULL;
	struct space *space = params->has_spaces ? memory_space(params->first_space + i) : NULL;
	char name[KEY_MAX];

	if (host_has_lower_rank(params, i))
		snprintf(name, sizeof(name), "%s.%u", params->name, i);
	else
		snprintf(name, sizeof(name), "%s", params->name);
	run->ranks[i] = (struct rank){
		.prog = {.bytes = sizeof(struct vb_prog),
			 .rank = (int)i,
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
		.main = image ? image->main : program->main,
		.plain = image ? image->plain : program->plain,
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
	run->fixed = params->program->fixed && params->has_spaces;
	for (uint32_t i = 0; i < params->size && !ret; i++)
		ret = program_spawn(run, i);
	return ret;
}

void program_stop(struct program_run *run)
{
	for (uint32_t i = 0; run && i < run->params.size; i++)
		threads_destroy(run->ranks[i].threads);
	free(run);
}

const struct program_result *program_result(const struct program_run *run, uint32_t rank)
{
	CHECK(rank < run->params.size);
	return &run->ranks[rank].result;
}

/* ---- what a program asks ---- */

static struct rank *own_rank(void)
{
	const struct task *task = task_current();

	CHECK(task != NULL && task->process->arg != NULL); /* called from outside of a program */
	return task->process->arg;
}

int vb_rank(void)
{
	return own_rank()->prog.rank;
}

int vb_size(void)
{
	return own_rank()->prog.size;
}

int vb_run(int argc, char **argv, vb_main_fn *fn)
{
	(void)argc, (void)argv; /* they are those of the scenario */
	return fn(own_rank()->own);
}

bool program_current(struct request_rank *ret_rank)
{
	const struct task *task = task_current();
	const struct rank *rank = task ? task->process->arg : NULL;

	if (!rank)
		return false;
	*ret_rank = (struct request_rank){rank->run->params.number, (uint32_t)rank->prog.rank};
	return true;
}

const struct program *program_of(const struct vb_prog *prog)
{
	const struct rank *rank = prog->host;

	return rank->run->params.program;
}

bool program_is_fixed(const struct program_run *run)
{
	return run->fixed;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

/* Programs for the hosts of a simulated fabric: functions prog_main() (tests/programs/prog.h),
 * found by name as modules beside the executable, or linked in. Many programs live in one process:
 * each module is loaded with symbols of its own, and its ibv_ and vb_ calls go to the
 * executable. */
#include "models/fabric/fabric.h"
#include "tests/programs/prog.h"

/* Of each rank, in bytes. */
enum { PROGRAM_STACK_BYTES = 256 * 1024 };

typedef int program_main_fn(const struct prog *prog);

struct program {
	program_main_fn *main;
	void *module; /* NULL: linked in */
	bool fixed;   /* @module lies where it does in every run */
};

enum { PROGRAM_ERROR_MAX = 512 };

/* @name: a path where it has a slash in it; else NAME.so beside the executable, in its folders
 * "programs" and "tests/programs", or where programs are installed. -ENOENT, -ENOEXEC (no module,
 * no prog_main in it, or it wants what we lack), with the reason in @ret_error, a line. */
int program_open(struct program *ret_program, const char *name, char ret_error[PROGRAM_ERROR_MAX]);
/* Whether program_open() would, as far as the file tells: nothing of the module is loaded, so that
 * nothing of it runs. As program_open(). */
int program_check(const char *name, char ret_error[PROGRAM_ERROR_MAX]);
void program_close(struct program *program); /* once no rank of it is left; zeroed: allowed */

/* Both may be called from several threads of the simulation at once, for one rank from one. */
struct program_watcher {
	/* As prog->report(). */
	void (*report)(void *owner, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
		       const void *bytes);
	void (*say)(void *owner, int rank, const char *line);
	void *owner;
};

struct program_run_params {
	program_main_fn *main;
	/* Unique among the programs of a fabric: the name of its tasks, from which follow queue
	 * pair numbers, and of its part of the rendezvous. Further ranks on one host are called
	 * NAME.RANK. */
	const char *name;
	struct host *const *hosts; /* of the ranks */
	uint32_t size;
	int arg_count;
	const char *const *args;
	ps_t start_at;
	/* Of memory_space(), of rank 0; the others' follow. */
	uint32_t first_space;
	bool has_spaces; /* or their memory lies anywhere */
	bool fixed;	 /* as in struct program */
	struct program_watcher watcher;
};

struct program_result {
	int result; /* of prog_main(); -1 while it runs */
	bool ended;
	ps_t end_at;
	uint64_t completions, completions_failed; /* reported */
};

/* The ranks of one program on their hosts. Lives until the fabric is gone, as do the arrays of its
 * parameters. */
struct program_run;

/* Before fabric_run(). -ENOMEM, -EEXIST (a task of that name); @ret_run is set in any case, to NULL
 * or to what has to be stopped: ranks that were started before the error point to it. */
int program_start(const struct program_run_params *params, struct program_run **ret_run);
void program_stop(struct program_run *run); /* once the fabric is gone; NULL allowed */
/* Its memory, that of its module included, lies where it does in every run. */
bool program_is_fixed(const struct program_run *run);
const struct program_result *program_result(const struct program_run *run, uint32_t rank);

#endif

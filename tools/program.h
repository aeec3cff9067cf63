/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

/* Programs for the hosts of a simulated fabric: functions prog_main() (include/verbena/program.h),
 * found by name as modules beside the executable, or linked in. Many programs live in one process:
 * each module is loaded with symbols of its own, and its ibv_ and vb_ calls go to the
 * executable. */
#include "include/verbena/program.h"
#include "models/fabric/fabric.h"
#include "tools/observe/request_log.h"

#include <limits.h>

/* Of each rank, in bytes. */
enum { PROGRAM_STACK_BYTES = 256 * 1024 };

typedef int program_plain_fn(int argc, char **argv);

/* What a rank has of the module where each has its own. */
struct program_image {
	void *module;
	vb_main_fn *main;
	program_plain_fn *plain;
};

struct program {
	struct program_image *images; /* of the ranks; NULL: they share the module */
	uint32_t image_count;
	char *path; /* of the module; NULL: linked in */
	vb_main_fn *main;
	program_plain_fn *plain; /* where there is no @main */
	void *module;		 /* NULL: linked in */
	bool fixed;		 /* @module lies where it does in every run */
	char *said;		 /* what a compiler said, in lines; NULL: none was asked */
	struct play *play; /* a recording (tools/play/play.h), and @main plays it; NULL: none */
};

enum { PROGRAM_ERROR_MAX = 512 };

/* By its name, .vbt: what "verbena exec --record" has written, which is no module. */
bool program_is_recording(const char *name);
/* @name: a path where it has a slash in it; else NAME.so beside the executable, in its folders
 * "programs" and "tests/programs", or where programs are installed. The path may be that of a
 * source, which is compiled (tools/compile.h). -ENOENT, -ENOEXEC (no module, neither prog_main nor
 * main in it, or it wants what we lack; what the compiler refuses, and then @ret_program->said has
 * its lines), with the reason in @ret_error, a line. @ret_program is zeroed, and can be closed in
 * any case. */
int program_open(struct program *ret_program, const char *name, char ret_error[PROGRAM_ERROR_MAX]);
/* The file of the module that program_open() would open; nothing of it is loaded, and a source is
 * compiled. What the compiler said, for free(): *@ret_said, NULL where it was not asked. As
 * program_open(). */
int program_module(const char *name, char ret_path[PATH_MAX], char ret_error[PROGRAM_ERROR_MAX],
		   char **ret_said);
/* Whether program_open() would, as far as the file tells: nothing of the module is loaded, so that
 * nothing of it runs. As program_open(). */
int program_check(const char *name, char ret_error[PROGRAM_ERROR_MAX]);
/* Gives each of @count ranks its own of the module where that has variables; the first is @number
 * among those of all programs. Not while other threads run. -ENOEXEC, -ENOMEM, with the reason in
 * @ret_error. */
int program_spread(struct program *program, uint32_t number, uint32_t count,
		   char ret_error[PROGRAM_ERROR_MAX]);
/* load_use() of all that it has. */
bool program_use(struct program *program, uint32_t run);
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
	const struct program *program;
	/* Unique among the programs of a fabric: the name of its tasks, from which follow queue
	 * pair numbers, and of its part of the rendezvous. Further ranks on one host are called
	 * NAME.RANK. */
	const char *name;
	struct host *const *hosts; /* of the ranks */
	uint32_t size;
	uint32_t number; /* among the programs of the scenario */
	int arg_count;
	const char *const *args;
	ps_t start_at;
	/* Of memory_space(), of rank 0; the others' follow. */
	uint32_t first_space;
	bool has_spaces; /* or their memory lies anywhere */
	struct program_watcher watcher;
};

struct program_result {
	int result; /* of prog_main() or main(); -1 while it runs */
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
/* Whose code runs on this thread now; the program is the number in its parameters. False: no
 * rank's. */
bool program_current(struct request_rank *ret_rank);
/* The one whose rank @prog is. */
const struct program *program_of(const struct vb_prog *prog);
/* Its memory, that of its module included, lies where it does in every run. */
bool program_is_fixed(const struct program_run *run);
const struct program_result *program_result(const struct program_run *run, uint32_t rank);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena exec: somebody's program on Verbena's adapter instead of what rdma-core would find. */
#include "tools/command.h"
#include "tools/exec/faults.h"
#include "tools/exec/folder.h"
#include "tools/exec/hosts.h"
#include "tools/exec/impaired.h"
#include "tools/exec/loop.h"
#include "tools/exec/recorded.h"
#include "tools/exec/target.h"
#include "tools/exec/tree.h"
#include "transport/nic/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As shells have them. */
enum { EXEC_NOT_RUN = 126, EXEC_NOT_FOUND = 127 };

/* ---- what the program gets ---- */

/* @first and, where there is one already, @name's value behind it. */
static bool put_in_front(const char *name, const char *first)
{
	const char *old = getenv(name);
	char *both;
	bool ok;

	if (asprintf(&both, "%s%s%s", first, old && *old ? ":" : "", old ? old : "") < 0)
		return false;
	ok = setenv(name, both, 1) == 0;
	free(both);
	return ok;
}

/* A sanitizer's runtime wants to be the first of all. */
static bool set_libraries(const char *folder, const struct target *target)
{
	char *preload;
	bool ok;

	if (asprintf(&preload, "%s%s%s/" FOLDER_LIBRARY ":%s/" FOLDER_PATHS, target->sanitizer,
		     target->sanitizer[0] ? ":" : "", folder, folder) < 0)
		return false;
	ok = put_in_front("LD_PRELOAD", preload) && put_in_front("LD_LIBRARY_PATH", folder);
	free(preload);
	return ok;
}

/* ---- running it ---- */

static volatile sig_atomic_t child;

static void hand_on(int number)
{
	if (child > 0)
		kill((pid_t)child, number);
}

static const int of_terminal[] = {SIGINT, SIGQUIT};
static const int of_others[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* What a terminal sends, it sends to the program as well. */
static void set_signals(void (*terminal)(int number), void (*others)(int number))
{
	struct sigaction action = {.sa_handler = terminal, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < sizeof(of_terminal) / sizeof(of_terminal[0]); i++)
		sigaction(of_terminal[i], &action, NULL);
	action.sa_handler = others;
	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++)
		sigaction(of_others[i], &action, NULL);
}

/* Its exit status, or 128 and the number of the signal that ended it. */
static int run_child(const struct target *target, char **argv)
{
	sigset_t others, old;
	int status, error;
	pid_t pid;

	fflush(NULL);
	set_signals(SIG_IGN, hand_on);
	/* What comes before it is known whom to hand it on to waits for that. */
	sigemptyset(&others);
	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++)
		sigaddset(&others, of_others[i]);
	sigprocmask(SIG_BLOCK, &others, &old);
	pid = fork();
	if (pid == 0) {
		set_signals(SIG_DFL, SIG_DFL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execv(target->path, argv);
		fprintf(stderr, "verbena exec: %s: %s\n", target->path, strerror(errno));
		_exit(EXEC_NOT_RUN);
	}
	error = errno;
	child = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0) {
		command_say("exec: %s: %s", target->path, strerror(error));
		return COMMAND_BROKEN;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return COMMAND_BROKEN;
	return WIFSIGNALED(status) ? COMMAND_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The adapter as the environment says, which --host is a part of. */
static int show_adapter(struct tree *tree)
{
	struct nic_params params;
	const char *bad = NULL;
	int ret;

	if (nic_params_from_env(&params, &bad) != 0) {
		command_say("exec: %s: found \"%s\", which says nothing known (see verbena(1))",
			    bad, getenv(bad) ? getenv(bad) : "");
		return COMMAND_BAD;
	}
	if (loop_check(params.loop) != COMMAND_DONE)
		return COMMAND_BAD;
	ret = tree_make(tree);
	if (ret == 0)
		ret = nic_sysfs_write(&params, tree->path);
	if (ret == 0 && setenv("VERBENA_TREE", tree->path, 1) != 0)
		ret = -errno;
	if (ret == 0)
		return COMMAND_DONE;
	command_say("exec: a folder for the files of the device: %s", strerror(-ret));
	return COMMAND_BROKEN;
}

/* With the packets' rules and where they are counted. COMMAND_DONE, or why not. */
static int impair(const struct command_options *options, const struct tree *tree,
		  struct nic_impair_board **ret_board)
{
	*ret_board = NULL;
	if (!options->impair)
		return COMMAND_DONE;
	*ret_board = nic_impair_map(tree->path, false);
	if (*ret_board)
		return COMMAND_DONE;
	command_say("exec: a file for the counts of --impair: %s", strerror(errno));
	return COMMAND_BROKEN;
}

static bool path_is_known(const struct command_options *options)
{
	enum nic_path path;

	if (!options->path || nic_path_find(options->path, &path) == 0)
		return true;
	command_say("exec: --path: found \"%s\", expected auto, udp, shm or direct", options->path);
	return false;
}

static bool set_rules(const struct command_options *options)
{
	char seed[24];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)options->overrides.seed);
	return (!options->impair || setenv("VERBENA_IMPAIR", options->impair, 1) == 0) &&
	       (!options->overrides.has_seed || setenv("VERBENA_SEED", seed, 1) == 0);
}

static int empty_capture(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0) {
		command_say("exec: --pcap: %s: %s", file, strerror(errno));
		return COMMAND_BROKEN;
	}
	close(fd);
	return COMMAND_DONE;
}

/* The file of --pcap, in which all processes of the command begin where the others are, and those
 * of further devices. */
static int begin_capture(const char *file)
{
	struct nic_params params, own;
	const char *bad = NULL;
	char path[PATH_MAX];
	int ret = empty_capture(file);

	if (ret != COMMAND_DONE)
		return ret;
	if (setenv("VERBENA_PCAP", realpath(file, path) ? path : file, 1) != 0)
		return COMMAND_BROKEN;
	if (nic_params_from_env(&params, &bad) != 0)
		return COMMAND_DONE; /* show_adapter() says so */
	for (uint32_t i = 1; ret == COMMAND_DONE && i < params.device_count; i++) {
		nic_params_of_device(&params, i, &own);
		ret = empty_capture(own.pcap);
	}
	return ret;
}

static int on_adapter(const struct command_options *options, const struct target *target)
{
	char folder[PATH_MAX];
	struct nic_impair_board *board = NULL;
	struct tree tree = {.lock = -1};
	struct recorded recorded = {.file = ""};
	int ret, kept;

	ret = hosts_set(options);
	if (ret != COMMAND_DONE)
		return ret;
	if (options->faults && (ret = faults_set(options->faults)) != COMMAND_DONE)
		return ret;
	if (loop_check_word(options->loop) != COMMAND_DONE || !path_is_known(options) ||
	    (options->impair && impaired_check(options->impair) != COMMAND_DONE))
		return COMMAND_BAD;
	if (!folder_find(folder)) {
		command_say("exec: no " FOLDER_LIBRARY
			    " of ours beside the command: is it installed?");
		return COMMAND_BROKEN;
	}
	if ((options->loop && setenv("VERBENA_LOOP", options->loop, 1) != 0) ||
	    (options->path && setenv("VERBENA_PATH", options->path, 1) != 0) ||
	    !set_rules(options) || !set_libraries(folder, target)) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	ret = options->pcap ? begin_capture(options->pcap) : COMMAND_DONE;
	if (ret == COMMAND_DONE)
		ret = show_adapter(&tree);
	if (ret == COMMAND_DONE)
		ret = impair(options, &tree, &board);
	if (ret == COMMAND_DONE && options->record)
		ret = recorded_begin(&recorded, options->record);
	if (ret == COMMAND_DONE)
		ret = run_child(target, options->args);
	kept = recorded_end(&recorded);
	ret = ret ? ret : kept;
	if (board)
		impaired_tell(options->impair, board);
	nic_impair_unmap(board);
	tree_remove(&tree);
	return ret;
}

static int exec_run(const struct command_options *options)
{
	const char *word = getenv("VERBENA");
	char reason[TARGET_REASON_MAX];
	struct target target;
	const int ret = target_find(options->args, &target, reason);

	if (ret == -ENOEXEC) {
		command_say("exec: %s", reason);
		return EXEC_NOT_RUN;
	}
	if (ret) {
		command_say("exec: %s: %s", options->args[0], strerror(-ret));
		return ret == -ENOENT ? EXEC_NOT_FOUND : EXEC_NOT_RUN;
	}
	if (word && strcmp(word, "off") == 0)
		return run_child(&target, options->args);
	if (target.rpath[0])
		command_say("exec: %s: its DT_RPATH %s has a libibverbs.so: opened by that name, "
			    "without a version, it is not ours",
			    options->args[0], target.rpath);
	return on_adapter(options, &target);
}

const struct command command_exec = {
	.name = "exec",
	.arguments = "-- COMMAND [ARGUMENT...]",
	.summary = "run a verbs program without an adapter",
	.help = "Runs COMMAND, any program that uses libibverbs, with Verbena's adapter as its "
		"only device,\n"
		"\"verbena0\": RoCEv2 over UDP between processes, with no kernel module and no "
		"root. Each\n"
		"--host is an address of its own in 127.0.0.0/8. Its exit status is that of "
		"COMMAND, 126 where\nthat cannot be served, 127 where there is none. VERBENA=off "
		"runs it as if without verbena.\n",
	.options = COMMAND_HOST | COMMAND_DEVICES | COMMAND_PROFILE | COMMAND_FAULTS |
		   COMMAND_PCAP | COMMAND_IMPAIR | COMMAND_SEED | COMMAND_RECORD | COMMAND_LOOP |
		   COMMAND_PATH | COMMAND_DIRECT,
	.args_min = 1,
	.args_max = UINT32_MAX,
	.takes_command = true,
	.run = exec_run,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/* The verbena command: one struct command for each word behind it. docs/verbena.1 is the reference
 * for people. */
#include "models/scenario/read.h"
#include "tools/program.h"

#include <limits.h>
#include <stdio.h>

enum command_exit {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 1, /* done, and something that was expected did not hold */
	COMMAND_BAD = 2,    /* input or usage; nothing was written */
	COMMAND_BROKEN = 3, /* could not go on; what was measured is kept */
	COMMAND_SIGNAL = 128,
};

struct command_options {
	struct scenario_overrides overrides;
	const char *out, *pcap, *pcap_port, *junit, *baseline, *trace, *perfetto, *break_on, *why,
		*flows;		  /* NULL: not given */
	const char *from, *to;	  /* hosts */
	const char *host;	  /* of exec and topo */
	const char *impair;	  /* of exec: rules of transport/nic/impair.h */
	const char *record;	  /* of exec: the file that its calls are kept in */
	const char *topology;	  /* of replay: a scenario */
	const char *hosts;	  /* of replay: names, with commas between them */
	const char *loop;	  /* of exec: as VERBENA_LOOP */
	const char *path;	  /* of exec: a name of nic_path_find() */
	const char *profile;	  /* of exec: a name of transport/nic/kind.h */
	const char *faults;	  /* of exec: a file of these */
	uint32_t device_count;	  /* of exec; 0: not given */
	uint64_t watch_ms;	  /* of stat; 0: not given */
	ps_t series;		  /* 0: none */
	const char *series_flows; /* NULL: none */
	bool json, quiet, through_wire, dot, schema, ethtool, hw, addresses, html, check, list,
		matrix;
	uint32_t thread_count, job_count; /* jobs 0: as many as there are cores */
	uint32_t pcap_snaplen;		  /* 0: all */
	char **args;			  /* what is no option */
	uint32_t arg_count;
};

/* for struct command.options */
enum command_option {
	COMMAND_SEED = (uint64_t)1 << 0,
	COMMAND_SET = (uint64_t)1 << 1,
	COMMAND_OUT = (uint64_t)1 << 2,
	COMMAND_JSON = (uint64_t)1 << 3,
	COMMAND_JUNIT = (uint64_t)1 << 4,
	COMMAND_PCAP = (uint64_t)1 << 5,
	COMMAND_UNTIL = (uint64_t)1 << 6,
	COMMAND_THROUGH_WIRE = (uint64_t)1 << 7,
	COMMAND_THREADS = (uint64_t)1 << 8,
	COMMAND_QUIET = (uint64_t)1 << 9,
	COMMAND_DOT = (uint64_t)1 << 10,
	COMMAND_SCHEMA = (uint64_t)1 << 11,
	COMMAND_FROM = (uint64_t)1 << 12,
	COMMAND_TO = (uint64_t)1 << 13,
	COMMAND_ETHTOOL = (uint64_t)1 << 14,
	COMMAND_HW = (uint64_t)1 << 15,
	COMMAND_TRACE = (uint64_t)1 << 16,
	COMMAND_PERFETTO = (uint64_t)1 << 17,
	COMMAND_BREAK_ON = (uint64_t)1 << 18,
	COMMAND_WHY = (uint64_t)1 << 19,
	COMMAND_JOBS = (uint64_t)1 << 20,
	COMMAND_SERIES = (uint64_t)1 << 21,
	COMMAND_PCAP_PORT = (uint64_t)1 << 22,
	COMMAND_SERIES_FLOWS = (uint64_t)1 << 23,
	COMMAND_FLOWS = (uint64_t)1 << 24,
	COMMAND_BASELINE = (uint64_t)1 << 25,
	COMMAND_PCAP_SNAPLEN = (uint64_t)1 << 26,
	COMMAND_ADDRESSES = (uint64_t)1 << 27,
	COMMAND_HTML = (uint64_t)1 << 28,
	COMMAND_CHECK = (uint64_t)1 << 29,
	COMMAND_HOST = (uint64_t)1 << 32,
	COMMAND_IMPAIR = (uint64_t)1 << 33,
	COMMAND_PATH = (uint64_t)1 << 37,
	COMMAND_DIRECT = (uint64_t)1 << 30,
	COMMAND_RECORD = (uint64_t)1 << 40,
	COMMAND_TOPOLOGY = (uint64_t)1 << 41,
	COMMAND_HOSTS = (uint64_t)1 << 42,
	COMMAND_LIST = (uint64_t)1 << 44,
	COMMAND_LOOP = (uint64_t)1 << 45,
	COMMAND_DEVICES = (uint64_t)1 << 46,
	COMMAND_PROFILE = (uint64_t)1 << 47,
	COMMAND_WATCH = (uint64_t)1 << 48,
	COMMAND_FAULTS = (uint64_t)1 << 49,
	COMMAND_MATRIX = (uint64_t)1 << 50,
};

struct command {
	const char *name;
	const char *arguments; /* "RUN [HOST|SWITCH]"; what stands for which words:
				  completion_words.c */
	const char *summary;
	const char *help; /* more about it; whole lines */
	uint64_t options; /* enum command_option that it knows */
	uint32_t args_min, args_max;
	bool takes_command; /* its options end before the first word that is none */
	int (*run)(const struct command_options *options); /* enum command_exit */
};

extern const struct command command_run, command_check, command_topo, command_stat, command_diff,
	command_explain, command_sweep, command_profiles, command_report, command_incidents,
	command_completion, command_lesson, command_exec, command_new, command_script,
	command_doctor, command_replay, command_devices;

/* Every word that may follow "verbena", in the order in which help shows them; NULL: no more. */
const struct command *command_at(uint32_t i);
const struct command *command_find(const char *name); /* NULL: none such */

struct command_option_row {
	const char *name, *value, *help; /* "seed", "N"; no value: NULL */
	enum command_option option;
};

/* Every option of any command; NULL: no more. */
const struct command_option_row *command_option_at(uint32_t i);
/* "-m" is short for it; '\0': nothing is. */
char command_option_letter(const struct command_option_row *row);

/* COMMAND_DONE, or COMMAND_BAD with a line on stderr. @argv[0] is the command's word. */
int command_parse(const struct command *command, int argc, char **argv,
		  struct command_options *ret_options);
void command_options_free(struct command_options *options);
/* The options of a command, a line each. */
void command_print_options(const struct command *command, FILE *file);

/* Prints errors, and warnings unless @quiet, to stderr. */
void command_print_bad(struct bad_list *errors, bool quiet);
/* scenario_read() and its messages: COMMAND_DONE, COMMAND_BAD or COMMAND_BROKEN. @path may be the
 * name of an incident. */
int command_read(const char *path, const struct command_options *options,
		 struct scenario *ret_scenario);
/* The same of a path alone. */
int command_read_at(const char *path, const struct command_options *options,
		    struct scenario *ret_scenario);
/* Whether @name is no file, but a run of that name lies below verbena-out/. */
bool command_run_is_named(const char *name);

/* What is wrong with @count overrides behind the first @first ("--set:N: ...") is told of the lines
 * @lines of @file, which has them. */
void command_name_sets(struct bad_list *errors, const char *file, uint32_t first,
		       const uint32_t *lines, uint32_t count);

/* The programs that a scenario names, in its order; @ret_programs is zeroed and has room for them,
 * and what is open in it has to be closed in any case; NULL: they are only looked at, and nothing
 * of them runs. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with its messages. */
int command_open_programs(const char *path, const struct scenario *scenario,
			  struct program *ret_programs);

/* A program that the scenario in the file @scenario names, as program_open() takes it: a path is
 * relative to that file, as that of every file there, and so is a source that has no slash in it.
 * False: it would be too long. */
bool command_program_name(const char *scenario, const char *run, char ret_name[PATH_MAX]);

/* A line, of which everything is shown as output_line() does: the one way for what comes from files
 * or from the command line, paths included, to a terminal. */
__attribute__((format(printf, 2, 3))) void command_line(FILE *file, const char *format, ...);
/* One for stderr, as "verbena: ...". */
__attribute__((format(printf, 1, 2))) void command_say(const char *format, ...);

/* What of a file, such as a scenario, could not be done, by positive errno; where the memory that
 * is missing is that of a limit of this process, which one it is. */
void command_say_error(const char *path, int error);
/* COMMAND_DONE, or COMMAND_BROKEN with a line on stderr where /proc is not mounted, without which
 * there is no @what. */
int command_need_proc(const char *what);

extern const char command_version[];

#endif

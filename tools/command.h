/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/* The verbena command: one struct command for each word behind it. docs/verbena.1 is the reference
 * for people. */
#include "models/scenario/read.h"
#include "tools/program.h"

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
	const char *out, *pcap, *pcap_port, *junit, *trace, *perfetto, *break_on, *why,
		*flows;		  /* NULL: not given */
	const char *from, *to;	  /* hosts */
	ps_t series;		  /* 0: none */
	const char *series_flows; /* NULL: none */
	bool json, quiet, through_wire, dot, schema, ethtool, hw;
	uint32_t thread_count, job_count; /* jobs 0: as many as there are cores */
	char **args;			  /* what is no option */
	uint32_t arg_count;
};

/* for struct command.options */
enum command_option {
	COMMAND_SEED = 1 << 0,
	COMMAND_SET = 1 << 1,
	COMMAND_OUT = 1 << 2,
	COMMAND_JSON = 1 << 3,
	COMMAND_JUNIT = 1 << 4,
	COMMAND_PCAP = 1 << 5,
	COMMAND_UNTIL = 1 << 6,
	COMMAND_THROUGH_WIRE = 1 << 7,
	COMMAND_THREADS = 1 << 8,
	COMMAND_QUIET = 1 << 9,
	COMMAND_DOT = 1 << 10,
	COMMAND_SCHEMA = 1 << 11,
	COMMAND_FROM = 1 << 12,
	COMMAND_TO = 1 << 13,
	COMMAND_ETHTOOL = 1 << 14,
	COMMAND_HW = 1 << 15,
	COMMAND_TRACE = 1 << 16,
	COMMAND_PERFETTO = 1 << 17,
	COMMAND_BREAK_ON = 1 << 18,
	COMMAND_WHY = 1 << 19,
	COMMAND_JOBS = 1 << 20,
	COMMAND_SERIES = 1 << 21,
	COMMAND_PCAP_PORT = 1 << 22,
	COMMAND_SERIES_FLOWS = 1 << 23,
	COMMAND_FLOWS = 1 << 24,
};

struct command {
	const char *name;
	const char *arguments; /* "RUN [HOST|SWITCH]"; what stands for which words:
				  completion_words.c */
	const char *summary;
	const char *help; /* more about it; whole lines */
	uint32_t options; /* enum command_option that it knows */
	uint32_t args_min, args_max;
	int (*run)(const struct command_options *options); /* enum command_exit */
};

extern const struct command command_run, command_check, command_topo, command_stat, command_diff,
	command_explain, command_sweep, command_profiles, command_report, command_incidents,
	command_completion;

/* Every word that may follow "verbena", in the order in which help shows them; NULL: no more. */
const struct command *command_at(uint32_t i);
const struct command *command_find(const char *name); /* NULL: none such */

struct command_option_row {
	const char *name, *value, *help; /* "seed", "N"; no value: NULL */
	enum command_option option;
};

/* Every option of any command; NULL: no more. */
const struct command_option_row *command_option_at(uint32_t i);

/* COMMAND_DONE, or COMMAND_BAD with a line on stderr. @argv[0] is the command's word. */
int command_parse(const struct command *command, int argc, char **argv,
		  struct command_options *ret_options);
void command_options_free(struct command_options *options);
/* The options of a command, a line each. */
void command_print_options(const struct command *command, FILE *file);

/* Prints errors, and warnings unless @quiet, to stderr. */
void command_print_bad(struct bad_list *errors, bool quiet);
/* scenario_read() and its messages: COMMAND_DONE, COMMAND_BAD or COMMAND_BROKEN. */
int command_read(const char *path, const struct command_options *options,
		 struct scenario *ret_scenario);

/* The programs that a scenario names, in its order; @ret_programs is zeroed and has room for them,
 * and what is open in it has to be closed in any case; NULL: they are only looked at, and nothing
 * of them runs. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with its messages. */
int command_open_programs(const char *path, const struct scenario *scenario,
			  struct program *ret_programs);

/* A line, of which everything is shown as output_line() does: the one way for what comes from files
 * or from the command line, paths included, to a terminal. */
__attribute__((format(printf, 2, 3))) void command_line(FILE *file, const char *format, ...);
/* One for stderr, as "verbena: ...". */
__attribute__((format(printf, 1, 2))) void command_say(const char *format, ...);

extern const char command_version[];

#endif

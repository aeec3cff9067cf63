/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/command.h"

#include "tools/observe/capture_file.h"
#include "transport/nic/counters.h"
#include "util/quantity.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256 };

/* The one list of options, in the order in which help shows them. */
static const struct command_option_row table[] = {
	{"seed", "N", "seed of all random choices, instead of the scenario's", COMMAND_SEED},
	{"set", "KEY=VALUE", "a key of the scenario set anew; may be repeated", COMMAND_SET},
	{"until", "TIME", "end of the run in virtual time, as --set until=TIME", COMMAND_UNTIL},
	{"out", "DIR", "where results go (./verbena-out/NAME)", COMMAND_OUT},
	{"json", NULL, "the result as JSON on stdout; no files without --out", COMMAND_JSON},
	{"junit", "FILE", "expectations and programs as JUnit XML, for CI", COMMAND_JUNIT},
	{"baseline", "RUN",
	 "what $baseline is in expectations: the result of RUN, a folder or file",
	 COMMAND_BASELINE},
	{"pcap", "FILE",
	 "capture of all host ports, PFC included, as pcapng; of exec: of what its adapter sends "
	 "and "
	 "gets",
	 COMMAND_PCAP},
	{"pcap-port", "LINK", "--pcap captures both ends of this link instead", COMMAND_PCAP_PORT},
	{"pcap-snaplen", "BYTES", "of each frame of --pcap that are kept at most (all)",
	 COMMAND_PCAP_SNAPLEN},
	{"trace", "FILTER",
	 "a line for each event: all, or port= node= qp= flow= kind= from= until=", COMMAND_TRACE},
	{"break-on", "EVENT", "end where that happens first, and show what led to it",
	 COMMAND_BREAK_ON},
	{"series", "TIME", "series.csv: every port and priority, at this interval", COMMAND_SERIES},
	{"series-flows", "FLOWS", "with --series: series_flows.csv of these: all, or 3,7,10-20",
	 COMMAND_SERIES_FLOWS},
	{"perfetto", "FILE", "a timeline for ui.perfetto.dev", COMMAND_PERFETTO},
	{"through-wire", NULL, "every packet to bytes and back; the digest stays",
	 COMMAND_THROUGH_WIRE},
	{"threads", "N", "threads of the simulation (1); the digest stays", COMMAND_THREADS},
	{"from", "HOST", "beginning of a path", COMMAND_FROM},
	{"to", "HOST", "end of a path", COMMAND_TO},
	{"matrix", NULL, "the inside of machines, as nvidia-smi topo -m shows it", COMMAND_MATRIX},
	{"dot", NULL, "a graph for Graphviz", COMMAND_DOT},
	{"addresses", NULL, "hosts and their addresses, as captures and programs have them",
	 COMMAND_ADDRESSES},
	{"schema", NULL, "the reference of a scenario's keys", COMMAND_SCHEMA},
	{"html", NULL, "with --schema: as a page for a browser", COMMAND_HTML},
	{"jobs", "N", "runs at a time (as many as there are cores)", COMMAND_JOBS},
	{"why", "WHAT", "pfc, ecn, drop, slow, deadlock or cure", COMMAND_WHY},
	{"flows", "LIST",
	 "flows and requests whose packets the report shows, as 3,wr17 (the worst)", COMMAND_FLOWS},
	{"ethtool", NULL, "counters as ethtool -S shows them", COMMAND_ETHTOOL},
	{"hw", NULL, "counters as rdma statistic shows them", COMMAND_HW},
	{"check", NULL, "judge the answers in the current folder", COMMAND_CHECK},
	{"host", "NAME",
	 "the host that the program is on: a name or an address (127.0.0.1); of topo: whose "
	 "machine",
	 COMMAND_HOST},
	{"devices", "N", "how many devices the program has, verbena0 and on (1)", COMMAND_DEVICES},
	{"profile", "KIND", "whose limits the devices have (generic; see \"verbena devices\")",
	 COMMAND_PROFILE},
	{"impair", "RULES", "what becomes of packets that are sent, as \"loss 0.1% delay 10us\"",
	 COMMAND_IMPAIR},
	{"list", NULL, "say what they check, and play nothing", COMMAND_LIST},
	{"record", "FILE", "verbs calls of all processes are kept there, for verbena replay",
	 COMMAND_RECORD},
	{"topology", "SCENARIO", "the fabric, with whatever else is on it", COMMAND_TOPOLOGY},
	{"hosts", "LIST",
	 "hosts of the fabric for the recorded ones, in their order (the first ones)",
	 COMMAND_HOSTS},
	{"loop", "WORD",
	 "how packets go through a socket: auto, io_uring or epoll (auto: epoll, the cheaper)",
	 COMMAND_LOOP},
	{"path", "PATH",
	 "to processes of this user on this machine: auto (shared memory where it can), udp, shm "
	 "or "
	 "direct",
	 COMMAND_PATH},
	{"direct", NULL, "payloads go from memory to memory between such processes (--path direct)",
	 COMMAND_DIRECT},
	{"faults", "FILE", "what goes wrong in verbs: errors of posts, completions, the port",
	 COMMAND_FAULTS},
	{"watch", "SECONDS", "again and again, at this interval, as long as there is something",
	 COMMAND_WATCH},
	{"quiet", NULL, "no progress, warnings, tables or lines of programs", COMMAND_QUIET},
};
enum { OPTION_COUNT = sizeof(table) / sizeof(table[0]) };

const struct command_option_row *command_option_at(uint32_t i)
{
	return i < OPTION_COUNT ? &table[i] : NULL;
}

char command_option_letter(const struct command_option_row *row)
{
	return row->option == COMMAND_MATRIX ? 'm' : '\0';
}

void command_print_options(const struct command *command, FILE *file)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char name[40], letter[] = "-?, ";

		if (!(command->options & table[i].option))
			continue;
		letter[1] = command_option_letter(&table[i]);
		snprintf(name, sizeof(name), "%s--%s%s%s", letter[1] ? letter : "", table[i].name,
			 table[i].value ? " " : "", table[i].value ? table[i].value : "");
		fprintf(file, "  %-20s %s\n", name, table[i].help);
	}
}

__attribute__((format(printf, 2, 3))) static int usage(const struct command *command,
						       const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	command_line(stderr, "verbena %s: %s (see \"verbena help %s\")", command->name,
		     text ? text : "no memory", command->name);
	free(text);
	return COMMAND_BAD;
}

/* Decimal digits and nothing else; the result is at most INT64_MAX, so that every JSON reader that
 * knows 64 bits has it exactly. */
static bool options_number_of(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (*text == '\0')
		return false;
	for (; *text; text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return true;
}

static int add_set(struct command_options *options, const char *prefix, const char *text)
{
	const uint32_t count = options->overrides.set_count;
	const char **sets =
		realloc((void *)(uintptr_t)options->overrides.sets, (count + 1) * sizeof(*sets));
	const size_t room = strlen(prefix) + strlen(text) + 1;
	char *copy = malloc(room);

	if (sets)
		options->overrides.sets = sets;
	if (!sets || !copy) {
		free(copy);
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	snprintf(copy, room, "%s%s", prefix, text);
	sets[options->overrides.set_count++] = copy;
	return COMMAND_DONE;
}

static int options_take(const struct command *command, struct command_options *options,
			enum command_option option, const char *value)
{
	uint64_t number;

	switch (option) {
	case COMMAND_SEED:
		if (!options_number_of(value, INT64_MAX, &options->overrides.seed))
			return usage(command,
				     "--seed: found \"%s\", expected a number from 0 to 2^63 - 1",
				     value);
		options->overrides.has_seed = true;
		return COMMAND_DONE;
	case COMMAND_THREADS:
		if (!options_number_of(value, THREADS_MAX, &number) || number == 0)
			return usage(command,
				     "--threads: found \"%s\", expected a number from 1 to %d",
				     value, THREADS_MAX);
		options->thread_count = (uint32_t)number;
		return COMMAND_DONE;
	case COMMAND_SET:
		if (!strchr(value, '=') || value[0] == '=')
			return usage(command, "--set: found \"%s\", expected KEY=VALUE", value);
		return add_set(options, "", value);
	case COMMAND_UNTIL:
		return add_set(options, "until=", value);
	case COMMAND_JUNIT:
		options->junit = value;
		return *value ? COMMAND_DONE : usage(command, "--junit: expected a file");
	case COMMAND_OUT:
		options->out = value;
		return *value ? COMMAND_DONE : usage(command, "--out: expected a folder");
	case COMMAND_BASELINE:
		options->baseline = value;
		return *value ? COMMAND_DONE : usage(command, "--baseline: expected a run");
	case COMMAND_PCAP:
		options->pcap = value;
		return *value ? COMMAND_DONE : usage(command, "--pcap: expected a file");
	case COMMAND_TRACE:
		options->trace = value;
		return COMMAND_DONE;
	case COMMAND_SERIES:
		if (util_quantity_parse(value, strlen(value), UTIL_UNIT_TIME, &options->series) !=
			    UTIL_QUANTITY_OK ||
		    options->series == 0 || options->series > 1000 * PS_S)
			return usage(command,
				     "--series: found \"%s\", expected a time from 1ps to 1000s",
				     value);
		return COMMAND_DONE;
	case COMMAND_SERIES_FLOWS:
		options->series_flows = value;
		return COMMAND_DONE;
	case COMMAND_PCAP_PORT:
		options->pcap_port = value;
		return COMMAND_DONE;
	case COMMAND_PCAP_SNAPLEN:
		if (!options_number_of(value, CAPTURE_SNAPLEN_MAX, &number) ||
		    number < CAPTURE_SNAPLEN_MIN)
			return usage(command,
				     "--pcap-snaplen: found \"%s\", expected bytes from %d to %d",
				     value, CAPTURE_SNAPLEN_MIN, CAPTURE_SNAPLEN_MAX);
		options->pcap_snaplen = (uint32_t)number;
		return COMMAND_DONE;
	case COMMAND_JOBS:
		if (!options_number_of(value, THREADS_MAX, &number) || number == 0)
			return usage(command,
				     "--jobs: found \"%s\", expected a number from 1 to %d", value,
				     THREADS_MAX);
		options->job_count = (uint32_t)number;
		return COMMAND_DONE;
	case COMMAND_FLOWS:
		options->flows = value;
		return COMMAND_DONE;
	case COMMAND_WHY:
		options->why = value;
		return COMMAND_DONE;
	case COMMAND_BREAK_ON:
		options->break_on = value;
		return COMMAND_DONE;
	case COMMAND_PERFETTO:
		options->perfetto = value;
		return *value ? COMMAND_DONE : usage(command, "--perfetto: expected a file");
	case COMMAND_FROM:
		options->from = value;
		return COMMAND_DONE;
	case COMMAND_HOST:
		options->host = value;
		return COMMAND_DONE;
	case COMMAND_TOPOLOGY:
		options->topology = value;
		return COMMAND_DONE;
	case COMMAND_HOSTS:
		options->hosts = value;
		return COMMAND_DONE;
	case COMMAND_RECORD:
		options->record = value;
		return COMMAND_DONE;
	case COMMAND_LOOP:
		options->loop = value;
		return COMMAND_DONE;
	case COMMAND_IMPAIR:
		options->impair = value;
		return COMMAND_DONE;
	case COMMAND_PATH:
		options->path = value;
		return COMMAND_DONE;
	case COMMAND_DEVICES:
		if (!options_number_of(value, NIC_DEVICES_MAX, &number) || number == 0)
			return usage(command,
				     "--devices: found \"%s\", expected a number from 1 to %d",
				     value, NIC_DEVICES_MAX);
		options->device_count = (uint32_t)number;
		return COMMAND_DONE;
	case COMMAND_PROFILE:
		options->profile = value;
		return COMMAND_DONE;
	case COMMAND_WATCH:
		if (util_decimal_parse(value, strlen(value), 3, &options->watch_ms) !=
			    UTIL_QUANTITY_OK ||
		    options->watch_ms < 10 || options->watch_ms > 86400000)
			return usage(command,
				     "--watch: found \"%s\", expected seconds from 0.01 to 86400",
				     value);
		return COMMAND_DONE;
	case COMMAND_FAULTS:
		options->faults = value;
		return *value ? COMMAND_DONE : usage(command, "--faults: expected a file");
	case COMMAND_TO:
		options->to = value;
		return COMMAND_DONE;
	case COMMAND_JSON:
		options->json = true;
		return COMMAND_DONE;
	case COMMAND_THROUGH_WIRE:
		options->through_wire = true;
		return COMMAND_DONE;
	case COMMAND_DIRECT:
		options->path = "direct";
		return COMMAND_DONE;
	case COMMAND_QUIET:
		options->quiet = true;
		return COMMAND_DONE;
	case COMMAND_MATRIX:
		options->matrix = true;
		return COMMAND_DONE;
	case COMMAND_DOT:
		options->dot = true;
		return COMMAND_DONE;
	case COMMAND_ADDRESSES:
		options->addresses = true;
		return COMMAND_DONE;
	case COMMAND_HTML:
		options->html = true;
		return COMMAND_DONE;
	case COMMAND_ETHTOOL:
		options->ethtool = true;
		return COMMAND_DONE;
	case COMMAND_HW:
		options->hw = true;
		return COMMAND_DONE;
	case COMMAND_CHECK:
		options->check = true;
		return COMMAND_DONE;
	case COMMAND_LIST:
		options->list = true;
		return COMMAND_DONE;
	case COMMAND_SCHEMA:
		options->schema = true;
		return COMMAND_DONE;
	}
	return COMMAND_BAD;
}

/* getopt_long() also takes the beginning of a name, which a later option could make ambiguous. */
static bool in_full(const char *given, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(given, "--", 2) == 0 && strncmp(given + 2, name, length) == 0 &&
	       (given[2 + length] == '\0' || given[2 + length] == '=');
}

/* What getopt_long() has found: a whole name or a letter; NULL: none of the command's. */
static const struct command_option_row *options_found(const struct command *command, int c,
						      const char *given)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (c == (int)i + 256 ? in_full(given, table[i].name)
				      : c == command_option_letter(&table[i]))
			return command->options & table[i].option ? &table[i] : NULL;
	return NULL;
}

static int parse_all(const struct command *command, int argc, char **argv,
		     struct command_options *options)
{
	struct option names[OPTION_COUNT + 1] = {{NULL, 0, NULL, 0}};
	/* "-": in their order, whatever the environment says; ":": a missing value is told. */
	char letters[OPTION_COUNT + 3] = "-:", *letter = letters + 2;
	int ret = COMMAND_DONE;

	if (command->takes_command)
		letters[0] = '+';
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		names[i] = (struct option){table[i].name,
					   table[i].value ? required_argument : no_argument, NULL,
					   (int)i + 256};
		*letter = command_option_letter(&table[i]);
		letter += *letter != '\0';
	}
	opterr = 0;
	optind = 1;
	while (!ret) {
		const char *given = optind < argc ? argv[optind] : "";
		const int c = getopt_long(argc, argv, letters, names, NULL);
		const struct command_option_row *row = options_found(command, c, given);

		if (c == -1)
			break;
		if (c == 1)
			options->args[options->arg_count++] = optarg;
		else if (c == ':')
			ret = usage(command, "%s: expected a value", given);
		else if (!row)
			ret = usage(command, "found \"%s\", expected one of its options", given);
		else
			ret = options_take(command, options, row->option, optarg);
	}
	for (; !ret && optind < argc; optind++)
		options->args[options->arg_count++] = argv[optind];
	return ret;
}

int command_parse(const struct command *command, int argc, char **argv,
		  struct command_options *ret_options)
{
	int ret;

	*ret_options = (struct command_options){.thread_count = 1};
	ret_options->args = calloc((size_t)argc + 1, sizeof(char *));
	if (!ret_options->args) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	ret = parse_all(command, argc, argv, ret_options);
	if (ret)
		return ret;
	if (ret_options->pcap_port && !ret_options->pcap)
		return usage(command, "--pcap-port: expected --pcap FILE beside it");
	if (ret_options->pcap_snaplen && !ret_options->pcap)
		return usage(command, "--pcap-snaplen: expected --pcap FILE beside it");
	if (ret_options->html && !ret_options->schema)
		return usage(command, "--html: expected --schema beside it");
	if (ret_options->host && command->options & COMMAND_MATRIX && !ret_options->matrix)
		return usage(command, "--host: expected -m beside it");
	if (ret_options->matrix && (ret_options->from || ret_options->to || ret_options->addresses))
		return usage(command, "-m: expected no --from, --to or --addresses beside it");
	if (ret_options->series_flows && !ret_options->series)
		return usage(command, "--series-flows: expected --series TIME beside it");
	if (ret_options->series && ret_options->json && !ret_options->out)
		return usage(command,
			     "--series: expected --out, since --json alone writes no file");
	if (ret_options->arg_count < command->args_min && !ret_options->schema)
		return usage(command, "expected %s", command->arguments);
	if (ret_options->arg_count > command->args_max)
		return usage(command, "found \"%s\", expected %s",
			     ret_options->args[command->args_max],
			     command->args_max > 0 ? command->arguments : "nothing more");
	return COMMAND_DONE;
}

void command_options_free(struct command_options *options)
{
	for (uint32_t i = 0; i < options->overrides.set_count; i++)
		free((void *)(uintptr_t)options->overrides.sets[i]);
	free((void *)(uintptr_t)options->overrides.sets);
	free(options->args);
}

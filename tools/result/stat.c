/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena stat: counters of a run, as the tools of a real machine show them. */
#include "models/topology/topology.h"
#include "tools/command.h"
#include "tools/graph.h"
#include "tools/live/live.h"
#include "tools/result/back.h"
#include "tools/result/counters.h"
#include "tools/result/output.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_ROOM = 256 };

static bool is_text(const char *key)
{
	return strcmp(key, "ifname") == 0 || strcmp(key, "link") == 0;
}

static bool check_port(const char *path, json_t *object)
{
	static const char *const needed[] = {"ifindex", "ifname", "port", "link"};
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return back_refuse(path, "counters", object, "an object for each port"), false;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!json_object_get(object, needed[i]))
			return back_refuse(path, needed[i], NULL, "the name of a port"), false;
	json_object_foreach(object, key, value)
	{
		if (is_text(key) ? !json_is_string(value) : !back_is_count(value)) {
			back_refuse(path, key, value, is_text(key) ? "a name" : "a count");
			return false;
		}
	}
	return true;
}

static bool check_all(const char *path, json_t *array)
{
	json_t *object;
	size_t i;

	json_array_foreach(array, i, object)
	{
		if (!check_port(path, object))
			return false;
	}
	return true;
}

static json_t *stat_load(const char *run)
{
	static const char expected[] = "the counters of a run";
	char path[PATH_MAX];
	json_t *array;

	if (snprintf(path, sizeof(path), "%s/counters.json", run) >= (int)sizeof(path)) {
		command_say("%s: %s", run, strerror(ENAMETOOLONG));
		return NULL;
	}
	if (back_load(path, "counters", expected, &array) != COMMAND_DONE)
		return NULL;
	if (!json_is_array(array)) {
		command_line(stderr, "%s%s: counters: found %s, expected %s", path,
			     array ? ":1" : "", array ? "another JSON value" : "no such file",
			     expected);
		json_decref(array);
		return NULL;
	}
	if (!check_all(path, array)) {
		json_decref(array);
		return NULL;
	}
	return array;
}

static bool stat_is_of(const json_t *object, const char *node)
{
	const char *name = json_string_value(json_object_get(object, "ifname"));

	return name && (!node || strcmp(name, node) == 0);
}

/* Switches have none. */
static bool stat_has_adapter(const json_t *object)
{
	return json_object_get(object, "rx_write_requests") != NULL;
}

static const char *stat_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static long long stat_number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* As ethtool -S. */
static void print_ethtool(json_t *object)
{
	const char *key;
	json_t *value;

	command_line(stdout, "%s %s", stat_text_of(object, "ifname"), stat_text_of(object, "link"));
	puts("NIC statistics:");
	json_object_foreach(object, key, value) if (!counters_is_name(key) && !counters_is_hw(key))
		command_line(stdout, "     %s: %lld", key, (long long)json_integer_value(value));
}

/* As rdma statistic. */
static void print_hw(json_t *object)
{
	const char *key;
	json_t *value;

	if (!stat_has_adapter(object))
		return;
	fputs("link ", stdout);
	output_line(stat_text_of(object, "ifname"), stdout);
	printf("/%lld", stat_number_of(object, "port"));
	json_object_foreach(object, key, value) if (counters_is_hw(key))
		printf(" %s %lld", key, (long long)json_integer_value(value));
	putchar('\n');
}

/* All that are not 0. */
static void print_short(json_t *object)
{
	const char *key;
	json_t *value;

	command_line(stdout, "%s/%lld %s", stat_text_of(object, "ifname"),
		     stat_number_of(object, "port"), stat_text_of(object, "link"));
	json_object_foreach(object, key,
			    value) if (!counters_is_name(key) && json_integer_value(value) != 0)
		command_line(stdout, "  %-32s %lld", key, (long long)json_integer_value(value));
}

static int print_json(json_t *array, const char *node)
{
	json_t *chosen = json_array(), *object;
	int ret = COMMAND_BROKEN;
	size_t i;

	json_array_foreach(array, i, object)
	{
		if (stat_is_of(object, node) && json_array_append(chosen, object) != 0)
			goto out;
	}
	if (chosen && json_dumpf(chosen, stdout, JSON_INDENT(1)) == 0)
		ret = COMMAND_DONE;
	putchar('\n');
out:
	json_decref(chosen);
	return ret;
}

/* Hosts and switches in natural order of their names, ports by their numbers. */
static int compare_ports(const void *a, const void *b)
{
	const json_t *const *x = a, *const *y = b;
	const int order = graph_name_order(stat_text_of(*x, "ifname"), stat_text_of(*y, "ifname"));
	const long long m = stat_number_of(*x, "port"), n = stat_number_of(*y, "port");

	return order ? order : (m > n) - (m < n);
}

static int stat_print(json_t *array, const struct command_options *options, const char *node)
{
	void (*const each)(json_t * object) = options->ethtool ? print_ethtool
					      : options->hw    ? print_hw
							       : print_short;
	json_t **ports, *object;
	size_t count = 0, i;

	if (options->json)
		return print_json(array, node);
	ports = calloc(json_array_size(array) + 1, sizeof(json_t *));
	if (!ports) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	json_array_foreach(array, i, object)
	{
		if (stat_is_of(object, node))
			ports[count++] = object;
	}
	qsort(ports, count, sizeof(json_t *), compare_ports);
	for (i = 0; i < count; i++)
		each(ports[i]);
	free(ports);
	return COMMAND_DONE;
}

/* A port of that host or switch; NULL: none. */
static const json_t *port_of(json_t *array, const char *node)
{
	json_t *object;
	size_t i;

	json_array_foreach(array, i, object)
	{
		if (stat_is_of(object, node))
			return object;
	}
	return NULL;
}

/* What the run calls @node: for NAME.nic0 the host NAME, in @room. NULL: it has nothing so called.
 */
static const char *stat_own_name(json_t *array, const char *node, char room[NAME_ROOM])
{
	const size_t length = topology_first_nic(node);
	const json_t *port = port_of(array, node);

	if (port)
		return node;
	if (length == 0 || length >= NAME_ROOM)
		return NULL;
	memcpy(room, node, length);
	room[length] = '\0';
	port = port_of(array, room);
	return port && stat_has_adapter(port) ? room : NULL;
}

/* What is a path is one; a name or a number is a host's or a process's, unless there is such a
 * folder. */
static bool names_run(const char *name)
{
	return strchr(name, '/') || access(name, F_OK) == 0;
}

static int stat_live(const struct command_options *options)
{
	const char *who = options->arg_count > 0 ? options->args[0] : NULL;
	int ret;

	if (options->arg_count > 1 || options->ethtool || options->hw + options->json > 1) {
		command_say("stat: found %s, expected a run, which \"%s\" is not",
			    options->ethtool	     ? "--ethtool"
			    : options->arg_count > 1 ? "two names"
						     : "several forms",
			    who ? who : "");
		return COMMAND_BAD;
	}
	ret = live_stat(options, who);
	if (ret != COMMAND_FAILED)
		return ret;
	if (who)
		command_say("stat: found \"%s\", expected the folder of a run, or a process or a "
			    "host that has a device now",
			    who);
	else
		command_say("stat: no program has an emulated device now");
	return who ? COMMAND_BAD : COMMAND_FAILED;
}

static int stat_run(const struct command_options *options)
{
	const char *asked = options->arg_count > 1 ? options->args[1] : NULL, *node = NULL;
	char room[NAME_ROOM];
	json_t *array;
	int ret;

	if (options->arg_count == 0 || !names_run(options->args[0]))
		return stat_live(options);
	if (options->watch_ms) {
		command_say(
			"stat: --watch: found the folder of a run, expected a process or a host");
		return COMMAND_BAD;
	}
	if (options->ethtool + options->hw + options->json > 1) {
		fprintf(stderr, "verbena stat: found several forms, expected one of --ethtool, "
				"--hw and --json\n");
		return COMMAND_BAD;
	}
	array = stat_load(options->args[0]);
	if (!array)
		return COMMAND_BAD;
	if (asked)
		node = stat_own_name(array, asked, room);
	if (asked ? !node : !port_of(array, NULL)) {
		command_line(stderr,
			     "verbena stat: found \"%s\", expected a host or a switch of the run",
			     asked ? asked : "nobody");
		ret = COMMAND_BAD;
	} else {
		ret = stat_print(array, options, node);
	}
	json_decref(array);
	return ret;
}

const struct command command_stat = {
	.name = "stat",
	.arguments = "[RUN|PROGRAM] [HOST|SWITCH]",
	.summary = "counters of a run, or of programs that run now",
	.help = "Shows the counters in the folder RUN that a run has left behind, of all ports or "
		"of one\n"
		"host or switch: those that are not 0; as \"ethtool -S\" (--ethtool), as \"rdma "
		"statistic\"\n"
		"(--hw) or as \"rdma -j statistic\" (--json) show all of them. Without RUN, those "
		"of "
		"the\ndevices that programs under verbena exec have open now: of all, of a process "
		"(its number)\nor of a host (its name or address), once, or every SECONDS "
		"(--watch).\n",
	.options = COMMAND_ETHTOOL | COMMAND_HW | COMMAND_JSON | COMMAND_WATCH,
	.args_max = 2,
	.run = stat_run,
};

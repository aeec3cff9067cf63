/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "tools/command.h"
#include "tools/graph.h"

#include <stdlib.h>
#include <string.h>

static void show_one(const struct scenario_machine *machine, const char *title, bool dot)
{
	if (dot) {
		inside_print_dot(machine, title);
		return;
	}
	printf("%s\n\n", title);
	inside_print_matrix(machine);
	inside_print_lanes(machine);
}

/* ---- of one host ---- */

/* Of any of its adapters. */
static const struct scenario_machine *machine_of(const struct scenario *scenario, uint32_t node)
{
	for (uint32_t i = 0; i < scenario->machine_count; i++) {
		const struct scenario_machine *machine = &scenario->machines[i];

		for (uint32_t a = 0; a < machine->adapter_count; a++)
			if (machine->adapters[a].node == node)
				return machine;
	}
	return NULL;
}

static int show_host(const struct scenario *scenario, const struct command_options *options)
{
	const struct topology *topology = &scenario->topology;
	const int64_t node = topology_find(topology, options->host);
	const struct scenario_machine *machine;

	if (node < 0 || topology->nodes[node].is_switch) {
		command_say("--host: found \"%s\", expected a host of the topology", options->host);
		return COMMAND_BAD;
	}
	machine = machine_of(scenario, (uint32_t)node);
	if (!machine) {
		command_say("--host: found \"%s\", which has no machine, expected a host that "
			    "\"machine\" or \"machines\" is about",
			    options->host);
		return COMMAND_BAD;
	}
	show_one(machine, topology->nodes[topology->nodes[node].machine].name, options->dot);
	return COMMAND_DONE;
}

/* ---- all ---- */

struct kind { /* of machine */
	const struct scenario_machine *machine;
	const char *first; /* host */
};

static int kinds_order(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return graph_name_order(x->first, y->first);
}

static int show_kinds(const struct scenario *scenario, const struct kind *kinds, uint32_t count,
		      bool dot)
{
	for (uint32_t i = 0; i < count; i++) {
		char *hosts = inside_hosts(scenario, kinds[i].machine);

		if (!hosts) {
			command_say("no memory");
			return COMMAND_BROKEN;
		}
		if (i > 0)
			putchar('\n');
		show_one(kinds[i].machine, hosts, dot);
		free(hosts);
	}
	return COMMAND_DONE;
}

static int show_all(const char *path, const struct scenario *scenario, bool dot)
{
	struct kind *kinds = calloc((size_t)scenario->machine_count + 1, sizeof(*kinds));
	uint32_t count = 0;
	int ret = COMMAND_BAD;

	if (!kinds) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < scenario->machine_count; i++) {
		const struct scenario_machine *machine = &scenario->machines[i];

		kinds[count] = (struct kind){machine, inside_first_host(scenario, machine)};
		count += kinds[count].first != NULL;
	}
	qsort(kinds, count, sizeof(*kinds), kinds_order);
	if (count > 0)
		ret = show_kinds(scenario, kinds, count, dot);
	else
		command_say("%s: no host has a machine, expected the key \"machine\" (of all "
			    "hosts) or \"machines\" (of some)",
			    path);
	free(kinds);
	return ret;
}

void inside_show_machine(const char *name, const struct scenario *scenario, bool dot)
{
	show_one(&scenario->machines[0], dot && strpbrk(name, "\"\\") ? "machine" : name, dot);
}

int inside_show(const char *path, const struct scenario *scenario,
		const struct command_options *options)
{
	return options->host && scenario->machine_count > 0
		       ? show_host(scenario, options)
		       : show_all(path, scenario, options->dot);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "tools/graph.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_SHOWN = 16 };

static int hosts_order(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return graph_name_order(*x, *y);
}

/* Whether @next is what @name is but for the number that it ends in, which is one more. */
static bool follows(const char *name, const char *next)
{
	size_t start = strlen(name);
	unsigned long number;
	char ending[24];

	while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9')
		start--;
	number = strtoul(name + start, NULL, 10);
	if (name[start] == '\0' || number == ULONG_MAX || strncmp(name, next, start) != 0)
		return false;
	snprintf(ending, sizeof(ending), "%lu", number + 1);
	return strcmp(next + start, ending) == 0;
}

/* Runs of names that follow each other: both ends of those of three or more. */
static void put_runs(const char *const *names, uint32_t count, FILE *file)
{
	uint32_t end = 0;

	for (uint32_t i = 0, runs = 0; i < count; i = end, runs++) {
		if (runs == RUNS_SHOWN) {
			fprintf(file, " and %u more", count - i);
			return;
		}
		end = i + 1;
		while (end < count && follows(names[end - 1], names[end]))
			end++;
		if (end == i + 2)
			end = i + 1;
		fprintf(file, "%s%s", i > 0 ? ", " : "", names[i]);
		if (end > i + 1)
			fprintf(file, "..%s", names[end - 1]);
	}
}

const char *inside_first_host(const struct scenario *scenario,
			      const struct scenario_machine *machine)
{
	const char *first = NULL;

	for (uint32_t i = 0; i < machine->adapter_count; i++) {
		const char *name = scenario->topology.nodes[machine->adapters[i].node].name;

		if (machine->adapters[i].nic == 0 && (!first || graph_name_order(name, first) < 0))
			first = name;
	}
	return first;
}

char *inside_hosts(const struct scenario *scenario, const struct scenario_machine *machine)
{
	const char **names = calloc((size_t)machine->adapter_count + 1, sizeof(*names));
	uint32_t count = 0;
	char *text = NULL;
	size_t length;
	FILE *file = names ? open_memstream(&text, &length) : NULL;
	bool failed = !file;

	for (uint32_t i = 0; i < machine->adapter_count && !failed; i++)
		if (machine->adapters[i].nic == 0)
			names[count++] = scenario->topology.nodes[machine->adapters[i].node].name;
	if (file) {
		qsort(names, count, sizeof(*names), hosts_order);
		put_runs(names, count, file);
		failed = fclose(file) != 0;
	}
	free(names);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/profiles/profile.h"
#include "tools/again.h"
#include "tools/command.h"
#include "tools/graph.h"
#include "tools/incident.h"
#include "tools/inside/inside.h"
#include "tools/observe/capture_file.h"
#include "tools/result/output.h"
#include "transport/wire/path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS_SHOWN = 64, LENGTHS = 64 };

/* A scenario of one line, of which @before, the text @named in quotes and @after make one, as if it
 * stood in @path. */
static int read_line(const char *path, const char *before, const char *named, const char *after,
		     const struct command_options *options, struct scenario *ret_scenario)
{
	struct bad_list errors = {.lines = NULL};
	char text[2 * NAME_MAX + 160];
	size_t length = (size_t)snprintf(text, sizeof(text), "{version: 1, %s'", before);
	int ret;

	for (; *named && length < sizeof(text) - 32; named++) {
		if (*named == '\'')
			text[length++] = '\'';
		text[length++] = *named;
	}
	length += (size_t)snprintf(text + length, sizeof(text) - length, "'%s}\n", after);
	ret = scenario_parse(path, text, length, &options->overrides, ret_scenario, &errors);
	command_print_bad(&errors, options->quiet);
	bad_list_fini(&errors);
	return ret == 0 ? COMMAND_DONE : ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

/* What read_topology() takes for a scenario; a topology by itself is none. */
static bool is_scenario(const char *path)
{
	static const char *const endings[] = {".yaml", ".yml"};

	for (size_t i = 0; i < 2; i++)
		if (strlen(path) > strlen(endings[i]) &&
		    strcmp(path + strlen(path) - strlen(endings[i]), endings[i]) == 0)
			return true;
	return false;
}

/* A topology by itself is read as a scenario that names it; a machine, a profile or a file, too. */
static int read_topology(const char *arg, const struct command_options *options,
			 struct scenario *ret_scenario)
{
	static const char any[] = "topology: {kind: star, hosts: 2}, machine: {";
	const char *path = incident_path(arg), *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	struct bad_text before;

	if (is_scenario(path) || (path == arg && command_run_is_named(arg)))
		return command_read(path, options, ret_scenario);
	if (!options->matrix && path == arg && profile_find(arg))
		return command_read(path, options, ret_scenario); /* which tells what it is */
	if (options->matrix)
		return read_line(
			path,
			bad_text(&before, "%s%s: ", any, strpbrk(path, "/.") ? "file" : "profile"),
			base, "}", options, ret_scenario);
	if (path == arg && incident_nearest(arg)) /* which that tells */
		return command_read(path, options, ret_scenario);
	return read_line(path, "topology: {file: ", base, "}", options, ret_scenario);
}

/* ---- the graph for Graphviz ---- */

static void print_quoted(const char *name)
{
	putchar('"');
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			putchar('\\');
		putchar(*name);
	}
	putchar('"');
}

static void print_dot(const struct topology *topology)
{
	char rate[OUTPUT_TEXT_MAX], delay[OUTPUT_TEXT_MAX];

	printf("graph fabric {\n\tnode [shape=box]\n");
	for (uint32_t i = 0; i < topology->node_count; i++) {
		printf("\t");
		print_quoted(topology->nodes[i].name);
		printf(topology->nodes[i].is_switch ? " [style=filled]\n" : " [shape=ellipse]\n");
	}
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];

		printf("\t");
		print_quoted(topology->nodes[link->a].name);
		printf(" -- ");
		print_quoted(topology->nodes[link->b].name);
		printf(" [label=\"%s, %s\", tooltip=", output_rate(link->rate_bps, rate),
		       output_time(link->delay, delay));
		print_quoted(link->name);
		printf("]\n");
	}
	printf("}\n");
}

/* ---- ways ---- */

struct walk {
	const struct graph *graph;
	const uint32_t *distances; /* to the end */
	uint32_t links[LENGTHS], length, shown;
};

static void print_walk(const struct walk *walk, uint32_t from)
{
	const struct topology *topology = walk->graph->topology;
	uint32_t node = from;

	printf("  %s", topology->nodes[node].name);
	for (uint32_t i = 0; i < walk->length; i++) {
		const struct topology_link *link = &topology->links[walk->links[i]];

		node = link->a == node ? link->b : link->a;
		printf(" -[%s]- %s", link->name, topology->nodes[node].name);
	}
	printf("\n");
}

static void print_ways(struct walk *walk, uint32_t from, uint32_t node)
{
	const struct graph *graph = walk->graph;

	if (walk->distances[node] == 0) {
		walk->shown++;
		print_walk(walk, from);
		return;
	}
	for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
		const struct graph_edge *edge = &graph->edges[e];
		const uint32_t left = walk->distances[edge->to];

		if (left == GRAPH_FAR || left + 1 != walk->distances[node] ||
		    (left > 0 && !graph->topology->nodes[edge->to].is_switch) ||
		    walk->shown == WAYS_SHOWN)
			continue;
		walk->links[walk->length++] = edge->link;
		print_ways(walk, from, edge->to);
		walk->length--;
	}
}

static int find_host(const struct topology *topology, const char *option, const char *name,
		     uint32_t *ret_node)
{
	const int64_t found = name ? topology_find(topology, name) : -1;

	if (found < 0 || topology->nodes[found].is_switch) {
		command_say("%s: found \"%s\", expected a host of the topology", option,
			    name ? name : "");
		return COMMAND_BAD;
	}
	*ret_node = (uint32_t)found;
	return COMMAND_DONE;
}

static int print_paths(const struct graph *graph, const struct command_options *options,
		       uint32_t *distances, uint32_t *queue, uint64_t *counts)
{
	const struct topology *topology = graph->topology;
	struct walk walk = {.graph = graph, .distances = distances};
	uint32_t from, to;
	uint64_t ways;

	if (find_host(topology, "--from", options->from, &from) != COMMAND_DONE ||
	    find_host(topology, "--to", options->to, &to) != COMMAND_DONE)
		return COMMAND_BAD;
	graph_distances(graph, to, distances, queue);
	if (distances[from] == GRAPH_FAR || distances[from] > LENGTHS) {
		printf("%s to %s: no way\n", options->from, options->to);
		return COMMAND_DONE;
	}
	ways = graph_ways(graph, from, distances, queue, counts);
	printf("%s to %s: %u links, %" PRIu64 " equal ways\n", options->from, options->to,
	       distances[from], ways);
	print_ways(&walk, from, from);
	if (ways > WAYS_SHOWN)
		printf("  ... and %" PRIu64 " more\n", ways - WAYS_SHOWN);
	return COMMAND_DONE;
}

/* ---- what there is ---- */

static void print_links(const struct topology *topology)
{
	char rate[OUTPUT_TEXT_MAX], delay[OUTPUT_TEXT_MAX];
	uint32_t between[2] = {0}; /* switches; a host and a switch */
	uint64_t low[2] = {UINT64_MAX, UINT64_MAX}, high[2] = {0};
	ps_t delays[2] = {PS_NEVER, 0};

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const bool edge =
			!topology->nodes[link->a].is_switch || !topology->nodes[link->b].is_switch;

		between[edge]++;
		low[edge] = link->rate_bps < low[edge] ? link->rate_bps : low[edge];
		high[edge] = link->rate_bps > high[edge] ? link->rate_bps : high[edge];
		delays[0] = link->delay < delays[0] ? link->delay : delays[0];
		delays[1] = link->delay > delays[1] ? link->delay : delays[1];
	}
	for (int edge = 1; edge >= 0; edge--) {
		printf("%-10s %u", edge ? "edge" : "core", between[edge]);
		if (between[edge] > 0)
			printf(" links of %s", output_rate(low[edge], rate));
		if (high[edge] > low[edge])
			printf(" to %s", output_rate(high[edge], rate));
		printf("\n");
	}
	if (topology->link_count > 0)
		printf("%-10s %s", "delay", output_time(delays[0], delay));
	if (delays[1] > delays[0])
		printf(" to %s", output_time(delays[1], delay));
	printf("\n");
}

/* @ends: what they are between. */
static void print_distances(const struct graph *graph, const char *ends, uint32_t *distances,
			    uint32_t *queue)
{
	uint64_t pairs[LENGTHS + 1] = {0}, apart = 0;

	for (uint32_t i = 0; i < graph->host_count; i++) {
		graph_distances(graph, graph->hosts[i], distances, queue);
		for (uint32_t j = i + 1; j < graph->host_count; j++) {
			const uint32_t far = distances[graph->hosts[j]];

			if (far == GRAPH_FAR)
				apart++;
			else
				pairs[far < LENGTHS ? far : LENGTHS]++;
		}
	}
	for (uint32_t n = 1; n <= LENGTHS; n++)
		if (pairs[n] > 0)
			printf("%-10s %u links%s between %" PRIu64 " pairs of %s\n", "path", n,
			       n == LENGTHS ? " or more" : "", pairs[n], ends);
	if (apart > 0)
		printf("%-10s none between %" PRIu64 " pairs of %s\n", "path", apart, ends);
}

/* What can be reached is an adapter, of which a host may have several. */
static const char *print_counts(const struct graph *graph)
{
	const struct topology *topology = graph->topology;
	uint32_t hosts = 0;

	for (uint32_t i = 0; i < graph->host_count; i++)
		hosts += topology->nodes[graph->hosts[i]].machine == graph->hosts[i];
	printf("%-10s %u\n", "hosts", hosts);
	if (hosts < graph->host_count)
		printf("%-10s %u\n", "adapters", graph->host_count);
	printf("%-10s %u\n%-10s %u\n", "switches", topology->node_count - graph->host_count,
	       "links", topology->link_count);
	return hosts < graph->host_count ? "adapters" : "hosts";
}

static int topo_print_summary(const struct graph *graph, uint32_t *distances, uint32_t *queue)
{
	const struct topology *topology = graph->topology;
	char rate[OUTPUT_TEXT_MAX];
	const char *ends;
	uint64_t bps;

	ends = print_counts(graph);
	print_links(topology);
	print_distances(graph, ends, distances, queue);
	if (graph_bisection(graph, &bps) != 0)
		return COMMAND_BROKEN;
	if (graph->host_count >= 2)
		printf("%-10s %s from %s..%s to %s..%s\n", "bisection", output_rate(bps, rate),
		       topology->nodes[graph->hosts[0]].name,
		       topology->nodes[graph->hosts[graph->host_count / 2 - 1]].name,
		       topology->nodes[graph->hosts[graph->host_count / 2]].name,
		       topology->nodes[graph->hosts[graph->host_count - 1]].name);
	return COMMAND_DONE;
}

static int topo_show(const struct topology *topology, const struct command_options *options)
{
	uint32_t *distances = calloc((size_t)topology->node_count + 1, sizeof(*distances));
	uint32_t *queue = calloc((size_t)topology->node_count + 1, sizeof(*queue));
	uint64_t *counts = calloc((size_t)topology->node_count + 1, sizeof(*counts));
	struct graph graph = {.topology = NULL};
	int ret = COMMAND_BROKEN;

	if (distances && queue && counts && graph_make(&graph, topology) == 0) {
		if (options->from || options->to)
			ret = print_paths(&graph, options, distances, queue, counts);
		else
			ret = topo_print_summary(&graph, distances, queue);
	}
	if (ret == COMMAND_BROKEN)
		command_say("no memory");
	graph_free(&graph);
	free(distances);
	free(queue);
	free(counts);
	return ret;
}

/* ---- addresses ---- */

static const char *ip_text(const uint8_t ip[16], char ret_text[INET6_ADDRSTRLEN])
{
	const bool ipv4 = wire_ip_is_ipv4(ip);

	return inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? ip + 12 : ip, ret_text,
			 INET6_ADDRSTRLEN);
}

static void print_mac(const uint8_t mac[6])
{
	for (int i = 0; i < 6; i++)
		printf("%s%02x", i ? ":" : "  ", mac[i]);
}

/* The GID is the IPv6 address, or ::ffff:a.b.c.d. */
static void print_hosts(const struct fabric *fabric, const struct sim_node **nodes, int width)
{
	char ip[INET6_ADDRSTRLEN], gid[INET6_ADDRSTRLEN];

	printf("%-*s  interface  %-17s  %-15s  %s\n", width, "host", "MAC", "IP", "GID");
	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++) {
		const struct host *host = fabric_host(fabric, nodes[i]->name);
		uint8_t address[16], mac[6];

		if (!host)
			continue;
		host_ip(host, address);
		host_mac(host, mac);
		printf("%-*s  %9u", width, host->node.name, host->number);
		print_mac(mac);
		printf("  %-15s  %s\n", ip_text(address, ip),
		       inet_ntop(AF_INET6, address, gid, sizeof(gid)));
	}
}

/* What they send are PFC frames. */
static void print_switches(const struct fabric *fabric, const struct sim_node **nodes, int width)
{
	printf("\n%-*s  interface  %s\n", width, "switch", "MAC");
	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++) {
		uint8_t mac[6];

		if (fabric_host(fabric, nodes[i]->name))
			continue;
		capture_switch_mac(nodes[i], mac);
		printf("%-*s  %9s", width, nodes[i]->name, "-");
		print_mac(mac);
		printf("\n");
	}
}

static int topo_compare_nodes(const void *a, const void *b)
{
	const struct sim_node *const *x = a, *const *y = b;

	return graph_name_order((*x)->name, (*y)->name);
}

/* In natural order of names, which is not that of interfaces and addresses: those are told. */
static int print_nodes(const struct fabric *fabric, int width)
{
	const uint32_t count = sim_node_count(fabric->sim);
	const struct sim_node **nodes = calloc(count, sizeof(const struct sim_node *));

	if (!nodes) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < count; i++)
		nodes[i] = sim_node_at(fabric->sim, i);
	qsort(nodes, count, sizeof(const struct sim_node *), topo_compare_nodes);
	print_hosts(fabric, nodes, width);
	print_switches(fabric, nodes, width);
	free(nodes);
	return COMMAND_DONE;
}

/* Of the fabric that a run has. */
static int print_addresses(const char *path, const struct scenario *scenario)
{
	const struct scenario_options options = {.thread_count = 1};
	struct traffic *traffic = NULL;
	struct fabric fabric;
	int width = (int)strlen("switch");
	int ret = scenario_build(scenario, &options, &fabric, &traffic);

	if (ret) {
		command_say("%s: %s", path, strerror(-ret));
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < scenario->topology.node_count; i++) {
		const int length = (int)strlen(scenario->topology.nodes[i].name);

		width = length > width ? length : width;
	}
	ret = print_nodes(&fabric, width);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	return ret;
}

/* @is_machine: the scenario was made for a machine that was named. */
static int print_asked(const struct scenario *scenario, const struct command_options *options,
		       bool is_machine)
{
	const char *arg = options->args[0];

	if (options->matrix && is_machine && !options->host) {
		inside_show_machine(arg, scenario, options->dot);
		return COMMAND_DONE;
	}
	if (options->matrix)
		return inside_show(arg, scenario, options);
	if (options->addresses)
		return print_addresses(arg, scenario);
	if (!options->dot)
		return topo_show(&scenario->topology, options);
	print_dot(&scenario->topology);
	return COMMAND_DONE;
}

static int topo(const struct command_options *options)
{
	struct scenario scenario;
	struct again again;
	int ret = again_open_inputs(&again, options);

	if (!ret)
		ret = again.is_open ? again_read(&again, &scenario)
				    : read_topology(options->args[0], options, &scenario);
	if (!ret) {
		ret = print_asked(&scenario, options,
				  !again.is_open && !is_scenario(incident_path(options->args[0])));
		scenario_fini(&scenario);
	}
	again_close(&again);
	return ret;
}

const struct command command_topo = {
	.name = "topo",
	.arguments = "SCENARIO|RUN|TOPOLOGY|MACHINE",
	.summary = "say what a topology holds",
	.help = "Shows nodes, links, lengths of paths and the bisection of the topology of a "
		"scenario\n"
		"(*.yaml), of the folder of a run (as it was run) or of a topology file; the "
		"shortest\nways between two hosts; a graph; or which host has which addresses, and "
		"which\ninterface it is in a capture. With -m what is inside of the hosts' "
		"machines, which\nadapters are near to which GPU and whose memory flows use; or of "
		"a machine that is\nknown (verbena profiles) or that NCCL or hwloc describe in "
		"XML.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_QUIET | COMMAND_FROM | COMMAND_TO |
		   COMMAND_DOT | COMMAND_ADDRESSES | COMMAND_MATRIX | COMMAND_HOST,
	.args_min = 1,
	.args_max = 1,
	.run = topo,
};

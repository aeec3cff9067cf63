/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INSIDE_INSIDE_H
#define INSIDE_INSIDE_H

/* The inside of machines as verbena topo -m shows it, on stdout. */
#include "models/scenario/scenario.h"

#include <stdio.h>

struct bad_text;
struct command_options;

/* Of every machine that the scenario from @path describes, or of that of options->host. enum
 * command_exit; COMMAND_BAD with a line on stderr: there is none. */
int inside_show(const char *path, const struct scenario *scenario,
		const struct command_options *options);

/* Of the one machine of a scenario, which is called @name. */
void inside_show_machine(const char *name, const struct scenario *scenario, bool dot);

/* GPUs and adapters against each other and sockets; where they belong; which adapters are nearest
 * to each GPU; what the classes are. */
void inside_print_matrix(const struct scenario_machine *machine);
/* For each GPU the distance of its nearest adapters in NCCL's classes, and whether NCCL takes
 * GPUDirect RDMA there; @width: of names. The environment variable that NCCL has for it counts. */
void inside_print_gdr(const struct scenario_machine *machine, int width);
/* PCI addresses that are said, and what each lane carries. */
void inside_print_lanes(const struct scenario_machine *machine);
/* Parts and lanes, for Graphviz; @title has nothing in it that would have to be quoted. */
void inside_print_dot(const struct scenario_machine *machine, const char *title);

/* Whether it is one of xGMI. */
bool inside_lane_is_xgmi(const struct scenario_machine *machine, uint32_t lane);
/* The word of its machine.lanes[].kind; and what such a lane is: "upi", "pcie gen 5 x16", or
 * "nvlink 4 x18". */
enum { INSIDE_LANE_MAX = 40 };
const char *inside_lane_kind(const struct scenario_machine *machine, uint32_t lane,
			     char ret_text[INSIDE_LANE_MAX]);
const char *inside_lane_text(const struct scenario_machine *machine, uint32_t lane,
			     char ret_text[INSIDE_LANE_MAX]);
/* Of a direction, by its number (tools/observe/machines.h): "the socket link cpu1 > cpu0 (upi)". */
const char *inside_way_name(const struct scenario_machine *machine, uint32_t way,
			    struct bad_text *ret_text);
/* Bytes a second of each direction, of all its links: of packets with their headers, and of payload
 * if all are as large as they may be. */
uint64_t inside_lane_rate(const struct bus_link *link);
uint64_t inside_lane_payload_rate(const struct bus_link *link);

/* The first in natural order of the names of hosts that have the machine; NULL: none has. */
const char *inside_first_host(const struct scenario *scenario,
			      const struct scenario_machine *machine);
/* The hosts that have the machine, "h0..h7, h12", in natural order of their names, and of many the
 * first ones. NULL: no memory; else the caller frees it. */
char *inside_hosts(const struct scenario *scenario, const struct scenario_machine *machine);

#endif

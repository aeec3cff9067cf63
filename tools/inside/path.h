/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INSIDE_PATH_H
#define INSIDE_PATH_H

/* How two parts of a machine are joined, in the classes of nvidia-smi topo -m and of NCCL: by what
 * lies on the one way between them, and by their NVLink. It prints nothing. */
#include "models/scenario/scenario.h"

/* The nearer the smaller. */
enum inside_path {
	INSIDE_SELF, /* X */
	INSIDE_PIX,  /* one PCIe switch at most, no socket */
	INSIDE_PXB,  /* several PCIe switches, no socket */
	INSIDE_PHB,  /* one socket: the root of its PCIe */
	INSIDE_NODE, /* several sockets or host bridges, all of one NUMA node */
	INSIDE_SYS,  /* sockets of several NUMA nodes */
	INSIDE_PATHS,
};

struct inside_way {
	uint32_t lanes;
	uint32_t switches; /* between both parts: any that is no socket, for it passes on as one */
	uint32_t sockets;  /* on the way or at an end of it */
	uint8_t numa;	   /* of the last socket; 0: there is none */
	bool is_far;	   /* they are of several NUMA nodes */
	bool has_bridges;  /* it passes a socket from one host bridge to another */
};

/* From part @from of a machine that was read to each of its parts, room for all, over lanes other
 * than NVLink: to NVSwitches there is no way. */
void inside_ways(const struct scenario_machine *machine, uint32_t from,
		 struct inside_way *ret_ways);
enum inside_path inside_path_of(const struct inside_way *way);
/* Links of NVLink between them, as neighbours or through NVSwitches: then as many as the one with
 * fewer has to such as lead to the other. 0: none. */
uint32_t inside_nvlinks(const struct scenario_machine *machine, uint32_t a, uint32_t b);
/* The socket that fewest lanes lead to, by what inside_ways() has said: of several the first by
 * name. A machine has one at least. */
uint32_t inside_nearest_socket(const struct scenario_machine *machine,
			       const struct inside_way *ways);

/* "PIX", and what that is, in a line. */
const char *inside_path_name(enum inside_path path);
const char *inside_path_meaning(enum inside_path path);

#endif

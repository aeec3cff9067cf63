/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CAPTURE_H
#define TOOLS_CAPTURE_H

/* All host ports of a run as one pcapng: what a host sends at the start of the frame, what it
 * receives at its last bit. RoCEv2 packets are whole, with headers and ICRC; PFC frames are there;
 * updates of credits, which no Ethernet has, are not. Records come in order of time, then of host
 * name, whatever the number of threads. Remote addresses of programs are those of their memory and
 * so not the same in every run. */
#include "models/fabric/fabric.h"
#include "tools/result/named.h"

struct capture_host;

struct capture {
	struct fabric_watcher watcher;
	struct named out;
	struct capture_host *hosts;
	uint32_t host_count;
	int error; /* errno of a write; 0: none */
};

/* Begins the file. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int capture_open(struct capture *capture, const char *path);
int capture_attach(struct capture *capture,
		   struct fabric *fabric); /* before the run; -ENOMEM, -EIO */
/* Whole, unless it was never attached or not all could be written: then there is none. Zeroed:
 * allowed. As capture_open(). */
int capture_close(struct capture *capture);

/* Of a switch: a locally administered address from its name. */
void capture_switch_mac(const struct sim_node *node, uint8_t ret_mac[6]);
/* What comes for @host is addressed as its sender did it: a datagram's is @from, another's the one
 * that its queue pair knows; both ends of a queue pair use the same UDP source port. */
struct wire_path capture_path_of(const struct host *host, const struct sim_pkt *frame,
				 const struct wire_pkt *pkt, const struct packet_sender *from);

#endif

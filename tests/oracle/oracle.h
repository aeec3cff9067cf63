/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

/* A plain engine to compare with: one binary heap of events, an event for the end of every
 * transmission, switches whose ports are never settled late, each instant played phase by phase.
 * Hosts are the same nodes as under the real engine, run in windows of one picosecond. Only names,
 * addresses, parameters, hosts and the routes of links that are all in order are shared; time,
 * order, queues, buffers, PFC, credits, marking, faults and the routes around them are its own. */
#include "tests/scenario/net.h"

/* Plays the net to its end; the digest. */
uint64_t oracle_run(struct net *net);
/* The same for a fabric instead of fabric_run(); @routing lives as long. @until as there. */
struct fabric;
uint64_t oracle_fabric(struct fabric *fabric, const struct net_routing *routing, ps_t until);
/* For the fabric of a scenario. */
struct scenario;
uint64_t oracle_scenario(const struct scenario *s, struct fabric *fabric);

/* What the faults of @port make of a frame that starts at @start: what arrives, and how much later
 * than it would. Returns how many. */
enum { ORACLE_COPIES = 8 };
struct oracle_copy {
	struct sim_pkt pkt;
	ps_t delay;
};
uint32_t oracle_faults(const struct net *net, struct sim_port *port, struct sim_pkt *pkt,
		       ps_t start, struct oracle_copy *ret_copies);

#endif

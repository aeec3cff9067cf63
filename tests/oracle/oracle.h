/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

/* A plain engine to compare with: one binary heap of events, an event for the end of every
 * transmission, switches whose ports are never settled late, each instant played phase by phase.
 * Hosts are the same nodes as under the real engine, run in windows of one picosecond. Only names,
 * parameters, routes and hosts are shared; time, order, queues, buffers, PFC, credits and marking
 * are its own. */
#include "tests/scenario/net.h"

/* Plays the net to its end; the digest. */
uint64_t oracle_run(struct net *net);
/* The same for a fabric instead of fabric_run(). It must have no faults. */
struct fabric;
uint64_t oracle_fabric(struct fabric *fabric);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_FORMAT_H
#define MODELS_READ_FORMAT_H

/* Which simulator's file that is: by the first word on a line that is no comment. */
#include "models/input/bad.h"
#include "util/units.h"

enum read_format {
	READ_FORMAT_UNKNOWN = -1, /* to be found out, as AUTO */
	READ_FORMAT_AUTO,
	READ_FORMAT_HPCC,  /* HPCC, PowerTCP, ConWeave and others on ns-3: begins with a number */
	READ_FORMAT_HTSIM, /* htsim: begins with "Nodes", "Tiers", "Connections" ... */
};

/* @format where it says one, else what the text looks like; UNKNOWN: reported. */
enum read_format read_format(enum read_format format, const char *bytes, size_t length,
			     const struct bad_at *at, struct bad_list *errors);

/* A file of flows as it is read. */
struct read_flow_file {
	const char *bytes;
	size_t length;
	struct bad_at at;	 /* its first line */
	uint32_t priority_count; /* of the fabric: a flow's are smaller */
};

/* A flow as files have them. */
struct read_flow {
	uint32_t src, dst;
	uint8_t priority; /* where the format has one */
	uint64_t bytes;
	ps_t start_at;
	uint32_t line;
};

enum { READ_FLOWS_MAX = 4000000 };
#define READ_FLOW_BYTES_MAX ((uint64_t)1 << 44) /* as TRAFFIC_BYTES_MAX */

#endif

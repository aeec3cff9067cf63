/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_LIMIT_H
#define TOOLS_LIMIT_H

/* What inside of a machine let data move no faster between an adapter and a memory, and that in
 * words. */
#include "tools/explain/inside_faults.h"
#include "tools/explain/machine_watch.h"

#include <stdio.h>

enum limit_kind {
	LIMIT_NONE,    /* nothing there */
	LIMIT_LANE,    /* a lane was taken nearly all the time */
	LIMIT_TAGS,    /* most of the time reads waited for a tag */
	LIMIT_CREDITS, /* most of the time something waited for nothing but credits of a lane */
	LIMIT_FAULT,   /* none of these, and something was broken */
	LIMIT_KINDS
};
enum { LIMIT_FAULTS_MAX = 4 };

struct limit {
	enum limit_kind kind;
	const struct machine_seen *machine;
	const struct host *host; /* the adapter */
	bool sends;		 /* it reads memory; else it writes */
	uint32_t nic, memory;	 /* parts: of memories that of which most was moved */
	uint32_t ways[BUS_PATH_MAX], way_count; /* as the data go */
	/* Of LIMIT_CREDITS the way on which something waited, else the busiest of those. */
	uint32_t way;
	enum bus_class class;	  /* of LIMIT_CREDITS */
	struct bus_way_stats did; /* @way, in the time that was watched */
	struct bus_tag_stats tags;
	ps_t time;
	/* What was broken on the way of the data, and mattered. */
	struct inside_fault_seen faults[LIMIT_FAULTS_MAX];
	uint32_t fault_count;
};

/* False: nothing moved there, or nobody looked. */
bool limit_find(const struct machine_watch *watch, const struct host *host, bool sends,
		struct limit *ret_limit);

/* Bytes a second: what the port of its adapter brings or takes; and what @way takes, of payload, if
 * all packets are as large as they may be. */
uint64_t limit_port_rate(const struct limit *limit);
uint64_t limit_lane_rate(const struct limit *limit);
uint64_t limit_payload_rate(const struct bus_link *link, bool is_read);
static inline ps_t limit_round_trip(const struct limit *limit) /* of a read; 0: not known */
{
	return limit->tags.taken > 0 ? limit->tags.held / limit->tags.taken : 0;
}

/* What one of its requests asks for at most. */
uint32_t limit_request_bytes(const struct limit *limit);
/* How many tags its adapter would need for what its port and the lanes take. */
uint32_t limit_tags_wanted(const struct limit *limit);

/* The least slot in place of that of @way which lets through what the port and whatever is no PCIe
 * on the way take: wider first, then of a later generation, as far as there is one. False: it does
 * already, or is no slot. */
bool limit_slot_wanted(const struct limit *limit, uint32_t way, struct pcie_link *ret_slot);

/* A switch on the way whose access control services send what peers exchange up to a root and down
 * again; -1: there is none. */
int32_t limit_turns_at(const struct limit *limit);

/* ---- in words: limit_words.c ---- */

/* "Inside h1, into GPU h1.gpu0 over ...: ...": what held data up there, in sentences. @own: how
 * many bytes of them were of whom the question is; 0: that is nobody. */
void limit_say(const struct limit *limit, uint64_t own, FILE *file);
/* "GPU h1.gpu0 is behind the socket link ...": why an adapter took packets in slowly; of LIMIT_NONE
 * what is nearest to a reason. @when: over which time, "the time from ... to ...". */
void limit_reason(const struct limit *limit, const char *when, FILE *file);
/* "a slot of x16 ..." behind @before: what would help. False: nothing is known, and nothing
 * written. */
bool limit_help(const struct limit *limit, const char *before, FILE *file);

#endif

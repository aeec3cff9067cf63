/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BREAKPOINT_H
#define TOOLS_BREAKPOINT_H

/* Ends a run where something happens for the first time, and shows what led to it:
 *
 *	drop [at NODE]			a frame is lost there, or on the way from there, or
 *	pause [from NODE] [to NODE]	a PFC frame that pauses starts (resume: one that lets go)
 *	mark [at NODE]			ECN
 *	cnp|nak [from HOST] [to HOST]	leaves its host
 *	retransmission [from HOST] [to HOST]
 *	queue LINK > BYTES		of one priority, at either end of the link
 *	qp N enters ERR			its work requests end in error
 *	flow N ends			in whatever way, or
 *	wrN ends			a work request of a program, as in requests.csv */
#include "tools/observe/event_text.h"

enum { BREAKPOINT_CONTEXT = 512 };

struct breakpoint {
	struct events_listener listener;
	const struct events *events;
	const char *text;
	enum breakpoint_kind {
		BREAKPOINT_DROP,
		BREAKPOINT_PAUSE,
		BREAKPOINT_RESUME,
		BREAKPOINT_MARK,
		BREAKPOINT_CNP,
		BREAKPOINT_NAK,
		BREAKPOINT_AGAIN,
		BREAKPOINT_QUEUE,
		BREAKPOINT_QP,
		BREAKPOINT_FLOW,
		BREAKPOINT_REQUEST,
	} kind;
	const char *from, *to; /* the scenario's names; NULL: any */
	const char *link;
	uint64_t number; /* queue pair, flow, request, bytes */
	/* The last events before it; of a flow of a list those of its source alone, for they come
	 * window by window, and it is known only behind its last which of them were before. */
	struct event seen[BREAKPOINT_CONTEXT];
	uint64_t seen_count;
	bool reached;
};

/* False: @ret_why says what was found and what was expected. @text stays the caller's. */
bool breakpoint_parse(struct breakpoint *breakpoint, const char *text,
		      const struct scenario *scenario, struct bad_text *ret_why);
void breakpoint_start(struct breakpoint *breakpoint, struct events *events);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EVENTS_H
#define TOOLS_EVENTS_H

/* What happens in a fabric, event by event: every frame that starts anywhere, every drop, every
 * pause and what led to it. Events come between the windows of the run, in order of time, then of
 * node and link, whatever the number of threads. A run that nobody listens to does not know of
 * this.
 *
 * For traces, timelines, breakpoints, comparisons and explanations: each is a listener. */
#include "models/scenario/scenario.h"
#include "tools/observe/request_log.h"
#include "tools/observe/subject.h"

enum { EVENTS_KEPT_MAX = 32 };

enum event_kind {
	EVENT_DATA,   /* a data frame starts at a port, or ... */
	EVENT_PAUSE,  /* ... a PFC frame that pauses, or ... */
	EVENT_RESUME, /* ... one that lets go, or ... */
	EVENT_CREDIT, /* ... an update of credits */
	EVENT_XOFF,   /* the buffer behind a port decides that the other end must pause ... */
	EVENT_XON,    /* ... or may go on */
	EVENT_SHUT,   /* a port has to stop sending ... */
	EVENT_OPEN,   /* ... or may go on */
	EVENT_DROP,   /* a frame is lost, @reason says why and sim/loss.h at which port */
	EVENT_KINDS,
};

#define EVENT_HELD_UNKNOWN UINT64_MAX

/* Without pointers: it may be kept, sent through a pipe and compared as bytes. */
struct event {
	ps_t at;
	uint32_t port;	     /* place in events.ports */
	uint8_t kind;	     /* enum event_kind */
	uint8_t priority;    /* PAUSE, RESUME, CREDIT: the lowest of @classes */
	uint8_t opcode, ecn; /* DATA, DROP: ecn as in RFC 3168 */
	/* DATA, DROP: bytes on the wire with preamble and gap, PSN, queue pair at the destination,
	 * AETH or immediate data, host that it goes to (position in the host table). */
	uint32_t bytes, psn, qpn, word, dst;
	uint32_t queue_bytes; /* DATA: waiting behind it in the queue of its priority */
	union {
		uint16_t quanta; /* PAUSE */
		bool is_stray;	 /* DATA: a copy of a flood, for nobody at the other end */
	};
	uint16_t classes;   /* PAUSE, RESUME, CREDIT: a mask; DROP: that of such a frame, or 0 */
	bool marked;	    /* DATA: ECN, here */
	bool retransmitted; /* DATA: a retransmission, as it leaves its host */
	union {
		uint16_t number;       /* DATA: low bits of the frame's number on its link */
		uint16_t way_priority; /* XOFF, XON */
		uint16_t reason;       /* DROP: enum sim_loss or enum host_loss */
	};
	/* XOFF, XON: bytes in the buffer from there, and the threshold. Then @word is the port of
	 * that node with the longest queue of this priority (where the node rewrites priorities:
	 * with the longest one of any, @way_priority, that holds some of these bytes), and
	 * @queue_bytes that queue. DATA at a switch: @limit is the place of the port that the frame
	 * came by, and @held the @number it had there (or that nobody knows
	 * it: EVENT_HELD_UNKNOWN). */
	uint64_t held, limit;
};
_Static_assert(sizeof(struct event) == 64, "no room in between");

struct events_port { /* a port, by node and link in order of names */
	const char *node, *link, *peer;
	bool is_host;
	uint64_t rate_bps;
	ps_t delay;
	uint32_t far;			 /* place of the other end */
	const struct sim_class *classes; /* as they are now: of each priority */
};

struct events_listener {
	/* 0 goes on; anything else ends the run with the window. */
	int (*on_event)(struct events_listener *listener, const struct event *event);
	/* At the end of each window, after its events; NULL: not wanted. */
	int (*on_window)(struct events_listener *listener, ps_t at);
	struct events_listener *next; /* the source's own */
};

struct events_end { /* a queue pair: host by position in the host table */
	uint32_t host, qpn;
};

struct events_source;

struct events {
	struct fabric *fabric;
	const struct scenario *scenario;
	const struct traffic *traffic; /* NULL: there are no flows */
	struct request_log *requests;  /* set by the caller; NULL: there are no programs */
	struct events_port *ports;
	uint32_t port_count;
	uint32_t priority_count; /* of the fabric */
	struct events_source *source;
};

/* Between scenario_build() and fabric_run(). -ENOMEM; can be finished in any case. */
int events_attach(struct events *events, const struct scenario *scenario, struct fabric *fabric,
		  const struct traffic *traffic);
/* The same for XOFF, XON, SHUT, OPEN and DROP alone: frames pass as if nobody listened, so that
 * what it costs goes with the pauses. Without events_flow(). */
int events_attach_pauses(struct events *events, const struct scenario *scenario,
			 struct fabric *fabric);
/* Before the run, after events_attach(): the bytes of the packets to these queue pairs, at most
 * EVENTS_KEPT_MAX of them, are wanted, too. */
void events_keep_frames(struct events *events, const struct events_end *ends, uint32_t count);
/* In on_event() of a DATA event alone: the bytes of its frame at that port, as captures have them
 * (no preamble, no FCS); 0: not wanted before the run. @room: at least WIRE_FRAME_MAX. */
size_t events_frame(const struct events *events, const struct event *event, uint8_t *buf,
		    size_t room);
void events_listen(struct events *events, struct events_listener *listener);
/* After the run: what is left of the last window. As the listeners say, or -ENOMEM. */
int events_end(struct events *events);
void events_fini(struct events *events); /* zeroed: allowed */

/* Of EVENT_DROP: in words. */
const char *events_reason(const struct event *event);

/* The flow whose packet @event, DATA or DROP, is; NULL: of none. @ret_number: as in flows.csv, the
 * place among scenario.flows or that of a flow of a stream, which is there until the next window.
 */
const struct traffic_flow *events_flow(const struct events *events, const struct event *event,
				       uint64_t *ret_number);

/* The work request of a program whose packet @event, DATA or DROP, is, or the answer to which;
 * NULL: of none. @ret_number: as in requests.csv. */
const struct request *events_request(const struct events *events, const struct event *event,
				     uint64_t *ret_number);

#endif

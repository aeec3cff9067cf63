/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_FRAME_COPY_H
#define TOOLS_FRAME_COPY_H

/* Frames as they start at a port, with all that their bytes are made of: for those who want the
 * bytes between windows, when the packet itself, and its payload, may be gone. Who runs the port
 * adds to its copies; everybody else may look at them between windows only. */
#include "models/machine/host.h"
#include "models/machine/packet.h"
#include "sim/packet.h"

struct frame_copy {
	struct sim_pkt frame;
	struct wire_pkt pkt; /* of a data frame; see frame_copy_pkt() */
	ps_t at;	     /* the start */
	size_t payload;	     /* place in frame_copies.bytes */
	struct packet_sender from;
};

struct frame_copies { /* zeroed: none */
	struct frame_copy *copies;
	uint8_t *bytes;
	size_t count, room, byte_count, byte_room;
	bool no_memory; /* something is missing */
};

void frame_copies_add(struct frame_copies *copies, const struct sim_pkt *pkt, ps_t start);
void frame_copies_clear(struct frame_copies *copies); /* keeps the memory */
void frame_copies_fini(struct frame_copies *copies);

/* Between windows: the packet of a data frame; its payload lies in @copies. */
struct wire_pkt frame_copy_pkt(const struct frame_copies *copies, const struct frame_copy *copy);
/* Between windows: the bytes of a data frame for @to without preamble and FCS, as captures have
 * them. 0: @room is less than WIRE_FRAME_MAX and they do not fit. */
size_t frame_copy_bytes(const struct frame_copies *copies, const struct frame_copy *copy,
			const struct host *to, uint8_t *buf, size_t room);

/* What comes for @host is addressed as its sender did it: a datagram's is @from, another's the one
 * that its queue pair knows; both ends of a queue pair use the same UDP source port. */
struct wire_path frame_path_to(const struct host *host, const struct sim_pkt *frame,
			       const struct wire_pkt *pkt, const struct packet_sender *from);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_THROUGH_WIRE_H
#define MODELS_THROUGH_WIRE_H

/* The debug mode `through_wire`: each packet that a host starts becomes a frame of bytes and is
 * parsed again, and nothing may get lost on the way. */
#include <stdint.h>

struct host;
struct wire_path;
struct wire_pkt;

/* @pkt becomes what a receiver reads from its frame, its bytes staying where they are. A difference
 * in what the path or the pattern says is a failed CHECK. @ecn, @priority: of the frame. */
void host_through_wire(const struct host *host, const struct wire_path *path, uint8_t ecn,
		       uint8_t priority, struct wire_pkt *pkt);

#endif

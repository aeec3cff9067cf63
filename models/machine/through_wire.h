/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_THROUGH_WIRE_H
#define MODELS_THROUGH_WIRE_H

/* The debug mode `through_wire`: each packet that a host starts becomes a frame of bytes and is
 * parsed again, and nothing may get lost on the way. */
struct wire_path;
struct wire_pkt;

/* @pkt, sent along @path, becomes what a receiver reads from its frame, its bytes staying where
 * they are. A path or a pattern that is not the same behind it is a failed CHECK. */
void packet_through_wire(const struct wire_path *path, struct wire_pkt *pkt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_CAPTURE_H
#define NIC_CAPTURE_H

/* All packets of a NIC in a pcapng file, as Ethernet frames. A link that has no frames of its own
 * gets them made up from what the kernel's headers said. */
#include "transport/nic/link.h"

struct nic_capture;

int nic_capture_open(const char *file, const char *port, struct nic_capture **ret_capture);
void nic_capture_close(struct nic_capture *capture); /* NULL allowed */
/* A packet came (@in) or goes. */
void nic_capture_pkt(struct nic_capture *capture, bool in, const struct wire_path *path,
		     const struct wire_pkt *pkt, ps_t now);
/* A frame of at most WIRE_FRAME_MAX bytes, as it is. */
void nic_capture_frame(struct nic_capture *capture, bool in, const uint8_t *frame, uint32_t length,
		       ps_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_RAW_H
#define HCA_RAW_H

/* Raw packet queue pairs: a message is a whole Ethernet frame, without its checksum. What they send
 * comes out of hca_output() as a packet of opcode WIRE_RAW_FRAME whose payload the frame is; only a
 * world that can send frames makes such queue pairs. What comes in and is no packet of RoCE the
 * world hands to hca_raw_input(). There is no steering: every raw packet queue pair that has a
 * receive gets all of it. */
#include "util/units.h"
#include <stdbool.h>
#include <stdint.h>

struct hca_device;

/* A frame that is longer than the receive at hand, or finds none, is lost to that queue pair.
 * False: nobody hears frames. */
bool hca_raw_input(struct hca_device *dev, const uint8_t *frame, uint32_t length, ps_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUS_MULTICAST_H
#define BUS_MULTICAST_H

/* What NVSwitches do with memory of several GPUs at a time (PTX ISA 9.7.9: multimem): what one
 * writes comes to a switch once, which passes it on to each; what one reads is read of each by a
 * switch, and comes back once, when the switch has made one of it. Those of a team take turns on
 * the switches, as many bursts on each as there are links to it.
 *
 * The third generation of NVSwitch is the first that does (NVIDIA, Hopper white paper, 2022): the
 * one that NVLink 4 leads to. Sans I/O, as the bus is, and beside the bus: everything is done by
 * bursts to and from the switch. */
#include "gpu/bus/bus.h"

/* What part @from has under way to a team, of which it may be one. */
struct bus_multicast;

/* Whether some NVSwitch that does it has a lane to each of @count parts, be it down or not. */
bool bus_has_multicast(const struct bus *bus, const uint32_t *parts, uint32_t count);
/* From part @from to the @count parts @members, which bus_has_multicast() with @from joins; at most
 * @window bursts are under way. -ENOMEM. */
int bus_multicast_create(struct bus *bus, uint32_t from, const uint32_t *members, uint32_t count,
			 uint32_t window, struct bus_multicast **ret_multicast);
/* Nothing is under way, or the run has ended. NULL allowed. */
void bus_multicast_destroy(struct bus_multicast *multicast);

/* burst->bytes are written to all members: they have arrived when they are there at the last one.
 * Of burst->ops only arrived() is called, with burst->is_lost where a link was down: NVLink is all
 * that leads from a switch. */
void bus_multicast_write(struct bus_multicast *multicast, struct bus_burst *burst, ps_t now);
/* So many bytes of each member are read: they have arrived when what was made of them is back. */
void bus_multicast_read(struct bus_multicast *multicast, struct bus_burst *burst, ps_t now);

#endif

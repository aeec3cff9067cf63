/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUS_FAULT_H
#define BUS_FAULT_H

/* What goes wrong inside of a machine: bits on lanes, lanes that are away or slower for a while,
 * parts that answer late. Nothing is lost by any of it: the data link layer of a lane sends again
 * what its other end has not taken (PCI Express base specification 3.6), and keeps the order. */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

enum bus_fault_kind {
	/* Bits are wrong by chance: the packet that has one is refused, and so is what follows it
	 * until the Nak is at the sender, who begins anew with that packet. Where the Nak has a
	 * wrong bit itself, the sender's replay timer ends first (only of PCIe). */
	BUS_ERRORS,
	/* Nothing goes; a packet that had begun begins anew afterwards, those behind it too. Of
	 * NVLink what had begun still comes through, and the rest takes the other links that lead
	 * there; where none is left, PCI Express. */
	BUS_DOWN,
	/* Only of PCIe: of an older generation, or with fewer lanes. What has begun keeps its
	 * pace. */
	BUS_SLOWER,
	/* Only of a part: a read that comes to it is answered so much later. */
	BUS_LATE,
};

enum { BUS_ERRORS_MAX = 100000000 }; /* 10^-4: most packets still come through in a few tries */

/* Of the direction from part @from to its neighbour @to; of that part, where both are the same. Of
 * two lanes between them it is NVLink's if @is_nvlink, of which it is one link. */
struct bus_fault {
	uint16_t from, to;
	bool is_nvlink;
	uint8_t link; /* from 0; else 0 */
	enum bus_fault_kind kind;
	ps_t from_at, until_at; /* PS_NEVER: for ever, which BUS_DOWN may be only of NVLink */
	/* Hash of the names of that direction and the link, which chance is drawn by, with the
	 * seed, the machine and the number of the burst; the same for all faults of it. */
	uint64_t id;
	uint32_t errors_ppt; /* BUS_ERRORS: a bit in 10^12 / so many; at most BUS_ERRORS_MAX */
	uint8_t gen, width;  /* BUS_SLOWER; 0: as ever */
	ps_t late;	     /* BUS_LATE */
	uint32_t entry;	     /* for people: which of their list it is from, from 0 */
};

/* The smaller, the earlier among all of a bus. */
static inline uint64_t bus_fault_order(const struct bus_fault *fault)
{
	return (uint64_t)fault->from << 32 | (uint32_t)fault->to << 16 |
	       (uint32_t)fault->is_nvlink << 8 | fault->link;
}

#endif

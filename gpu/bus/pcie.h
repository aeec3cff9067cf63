/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PCIE_H
#define PCIE_H

/* What a PCI Express link carries, and how long that takes: arithmetic only. Sizes and shares are
 * those of the PCI Express Base Specification as the model of Neugebauer et al., "Understanding
 * PCIe Performance for End Host Networking", SIGCOMM 2018 (github.com/pcie-bench/pcie-model) has
 * them. */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

/* How often Ack and UpdateFC go, one of each, in the table of the specification: after so many
 * bytes, as the model of Neugebauer et al. has it; or after so many symbol times, as the table is
 * headed, of which each carries a byte a lane. The first is an upper bound, of x16 by much. */
enum pcie_dllps { PCIE_NO_DLLPS, PCIE_DLLPS_BY_BYTES, PCIE_DLLPS_BY_TIMERS };

struct pcie_link {
	uint8_t gen;	  /* 1 to 7; 6 and 7 in flit mode */
	uint8_t width;	  /* 1, 2, 4, 8, 12, 16 or 32 lanes */
	uint16_t mps;	  /* largest payload: a power of two from 64 to 4096 */
	uint16_t mrrs;	  /* largest read request: a power of two from 64 to 4096 */
	uint8_t dllps;	  /* enum pcie_dllps; with any, skip ordered sets take their share, too */
	bool has_32_bits; /* addresses, of writes and requests; else 64 bits */
	bool has_ecrc;
};

/* Whether there is such a link. */
bool pcie_link_is_valid(const struct pcie_link *link);

/* TLPs. What is not a multiple ends with a short one; 0 bytes are one TLP. */
static inline uint32_t pcie_tlps(uint32_t bytes, uint32_t most)
{
	return bytes <= most ? 1 : (bytes + most - 1) / most;
}

/* Bytes on the wire: of a memory write of @bytes, of the completions that bring them, and of the
 * requests that ask for them. */
uint32_t pcie_write_bytes(const struct pcie_link *link, uint32_t bytes);
uint32_t pcie_completion_bytes(const struct pcie_link *link, uint32_t bytes);
uint32_t pcie_request_bytes(const struct pcie_link *link, uint32_t bytes);

enum { PCIE_DLLP = 8 }; /* bytes of an Ack or Nak on the wire */

/* How long one direction is taken by so many bytes of TLPs, rounded up. */
ps_t pcie_time(const struct pcie_link *link, uint64_t wire_bytes);

/* After how long a sender sends again what is neither acknowledged nor refused: REPLAY_TIMER, three
 * times what a receiver may take for an Ack (tables 3-4 to 3-6 of revision 3.0 of the base
 * specification, beside 3-7 to 3-9), in symbols of ten bits, or of eight from generation 3 on. */
ps_t pcie_replay_time(const struct pcie_link *link);

#endif

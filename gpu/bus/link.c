/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/link.h"

bool bus_link_is_valid(const struct bus_link *link)
{
	if (link->kind == BUS_PCIE)
		return pcie_link_is_valid(&link->pcie);
	return link->plain.rate_bps > 0 && link->plain.payload > 0 &&
	       link->plain.payload % 16 == 0 && link->plain.overhead > 0;
}

uint32_t bus_link_payload(const struct bus_link *link)
{
	return link->kind == BUS_PCIE ? link->pcie.mps : link->plain.payload;
}

uint32_t bus_link_request(const struct bus_link *link)
{
	return link->kind == BUS_PCIE ? link->pcie.mrrs : link->plain.payload;
}

static uint32_t pcie_bytes(const struct pcie_link *link, enum bus_class kind, uint32_t bytes)
{
	if (kind == BUS_POSTED)
		return pcie_write_bytes(link, bytes);
	return kind == BUS_COMPLETION ? pcie_completion_bytes(link, bytes)
				      : pcie_request_bytes(link, bytes);
}

uint32_t bus_link_bytes(const struct bus_link *link, enum bus_class kind, uint32_t bytes)
{
	if (link->kind == BUS_PCIE)
		return pcie_bytes(&link->pcie, kind, bytes);
	return pcie_tlps(bytes, link->plain.payload) * link->plain.overhead +
	       (kind == BUS_NON_POSTED ? 0 : bytes);
}

ps_t bus_link_time(const struct bus_link *link, uint64_t wire_bytes)
{
	if (link->kind == BUS_PCIE)
		return pcie_time(&link->pcie, wire_bytes);
	return util_tx_time(wire_bytes, link->plain.rate_bps);
}

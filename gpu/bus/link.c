/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/link.h"

static bool plain_is_valid(const struct bus_plain *link)
{
	return link->rate_bps > 0 && link->payload > 0 && link->payload % 16 == 0 &&
	       link->overhead > 0;
}

bool bus_link_is_valid(const struct bus_link *link)
{
	switch (link->kind) {
	case BUS_PCIE:
		return pcie_link_is_valid(&link->pcie);
	case BUS_NVLINK:
		return nvlink_link_is_valid(&link->nvlink);
	case BUS_PLAIN:
		break;
	}
	return plain_is_valid(&link->plain);
}

uint32_t bus_link_payload(const struct bus_link *link)
{
	switch (link->kind) {
	case BUS_PCIE:
		return link->pcie.mps;
	case BUS_NVLINK:
		return link->nvlink.payload;
	case BUS_PLAIN:
		break;
	}
	return link->plain.payload;
}

uint32_t bus_link_request(const struct bus_link *link)
{
	return link->kind == BUS_PCIE ? link->pcie.mrrs : bus_link_payload(link);
}

static uint32_t pcie_bytes(const struct pcie_link *link, enum bus_class kind, uint32_t bytes)
{
	if (kind == BUS_POSTED)
		return pcie_write_bytes(link, bytes);
	return kind == BUS_COMPLETION ? pcie_completion_bytes(link, bytes)
				      : pcie_request_bytes(link, bytes);
}

static uint32_t nvlink_bytes(const struct nvlink_link *link, enum bus_class kind, uint32_t bytes)
{
	if (kind == BUS_POSTED)
		return nvlink_write_bytes(link, bytes);
	return kind == BUS_COMPLETION ? nvlink_data_bytes(link, bytes)
				      : nvlink_request_bytes(link, bytes);
}

uint32_t bus_link_bytes(const struct bus_link *link, enum bus_class kind, uint32_t bytes)
{
	switch (link->kind) {
	case BUS_PCIE:
		return pcie_bytes(&link->pcie, kind, bytes);
	case BUS_NVLINK:
		return nvlink_bytes(&link->nvlink, kind, bytes);
	case BUS_PLAIN:
		break;
	}
	return pcie_tlps(bytes, link->plain.payload) * link->plain.overhead +
	       (kind == BUS_NON_POSTED ? 0 : bytes);
}

ps_t bus_link_time(const struct bus_link *link, uint64_t wire_bytes)
{
	switch (link->kind) {
	case BUS_PCIE:
		return pcie_time(&link->pcie, wire_bytes);
	case BUS_NVLINK:
		return util_tx_time(wire_bytes, link->nvlink.rate_bps);
	case BUS_PLAIN:
		break;
	}
	return util_tx_time(wire_bytes, link->plain.rate_bps);
}

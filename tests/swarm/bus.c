/* SPDX-License-Identifier: BSD-2-Clause */

/* A bus that takes as long as the seed says: a fetch 0.1 to 1 us, what is written up to 2 us, each
 * on its own, so that what is handed over later may be there earlier wherever it is allowed to. Or,
 * for every second seed, one of PCI Express: up to two switches between the adapter and memory,
 * lanes of any generation and width, with credits or without; on every second of these things go
 * wrong. */
#include "tests/swarm/run.h"
#include "util/siphash.h"

static ps_t delay(const struct host_bus *bus, const struct host *host, const struct hca_dma *dma,
		  enum host_bus_leg leg)
{
	const struct run_bus *own = (const void *)bus; /* which it begins with */
	const bool reads = dma->kind == HCA_DMA_FETCH || dma->kind == HCA_DMA_ATOMIC;
	const uint64_t words[] = {host->node.id, dma->sequence, leg};
	const uint64_t draw = util_hash_words((struct util_key){own->seed, 0xb05}, words, 3);

	if (reads && leg != HOST_BUS_AGAIN)
		return 50 * PS_NS + draw % (450 * PS_NS + 1);
	return draw % (2 * PS_US + 1);
}

static const struct host_bus_ops ops = {.name = "seeded", .delay = delay};

/* The @number-th of what @bus is made of: from 0 to @most. */
static uint32_t choose(const struct run_bus *bus, uint32_t number, uint32_t most)
{
	const uint64_t word = number;

	return (uint32_t)(util_hash_words((struct util_key){bus->seed, 0xb06}, &word, 1) %
			  (most + 1u));
}

/* Room for eight of the largest bursts, at least. */
static struct bus_credits room_for(uint32_t tlp_bytes, uint32_t more)
{
	return (struct bus_credits){.headers = 8 * WIRE_MTU_MAX / tlp_bytes + more,
				    .data = 8 * WIRE_MTU_MAX / BUS_CREDIT_BYTES + more};
}

static struct bus_lane_params any_lane(const struct run_bus *bus, uint32_t from)
{
	static const uint8_t widths[] = {1, 2, 4, 8, 12, 16, 32};
	const uint32_t at = 100 * (from + 1);
	struct bus_lane_params lane = {
		.a = from,
		.b = from + 1,
		.link.pcie = {.gen = (uint8_t)(1 + choose(bus, at, 6)),
			      .width = widths[choose(bus, at + 1, 6)],
			      .mps = (uint16_t)(128 << choose(bus, at + 2, 2)),
			      .mrrs = (uint16_t)(128 << choose(bus, at + 3, 5)),
			      .dllps = (uint8_t)choose(bus, at + 4, PCIE_DLLPS_BY_TIMERS)},
		.delay = choose(bus, at + 5, 20) * PS_NS,
		.update = choose(bus, at + 6, 500) * PS_NS,
		.relaxed = choose(bus, at + 7, 1)};

	if (choose(bus, at + 8, 2) > 0) {
		const uint32_t more = choose(bus, at + 9, 64);

		lane.room[BUS_POSTED] = room_for(lane.link.pcie.mps, more);
		lane.room[BUS_NON_POSTED] = room_for(lane.link.pcie.mrrs, more);
		lane.room[BUS_COMPLETION] = room_for(lane.link.pcie.mps, more);
	}
	return lane;
}

/* The @number-th of those of one lane's way down, or of the part at its end. */
static struct bus_fault any_fault(const struct run_bus *bus, uint32_t lane, uint32_t number)
{
	const uint32_t at = 1000 + 20 * number;
	const ps_t from = choose(bus, at, 200) * PS_US;
	struct bus_fault fault = {
		.from = (uint16_t)lane,
		.to = (uint16_t)(lane + 1),
		.kind = (enum bus_fault_kind)choose(bus, at + 1, 3),
		.from_at = from,
		.until_at = from + (1 + choose(bus, at + 2, 30)) * PS_US,
		.id = 77 + lane,
		.errors_ppt = 1 + choose(bus, at + 3, 10000000),
		.gen = (uint8_t)choose(bus, at + 4, 7),
		.width = (uint8_t)(1u << choose(bus, at + 5, 4)),
		.late = (1 + choose(bus, at + 6, 5000)) * PS_NS,
	};

	if (fault.kind == BUS_LATE)
		fault.from = fault.to;
	if (fault.kind != BUS_DOWN && choose(bus, at + 7, 1) > 0)
		fault.until_at = PS_NEVER;
	return fault;
}

/* In the order of what they happen to: a lane's before its end's. */
static void make_faults(struct run_bus *bus, uint32_t lanes)
{
	const uint32_t count = choose(bus, 30, 1) * (1 + choose(bus, 31, RUN_BUS_FAULTS - 1));
	uint32_t made = 0;

	for (uint32_t lane = 0; lane < lanes; lane++)
		for (int of_part = 0; of_part < 2; of_part++)
			for (uint32_t i = 0; i < count; i++) {
				const struct bus_fault fault =
					any_fault(bus, choose(bus, 40 + i, lanes - 1), i);
				const bool is_here =
					fault.to == lane + 1 && (fault.kind == BUS_LATE) == of_part;

				if (is_here)
					bus->faults[made++] = fault;
			}
	bus->tree.faults = bus->faults;
	bus->tree.fault_count = made;
}

static void make_parts(struct run_bus *bus)
{
	const uint32_t lanes = 1 + choose(bus, 1, RUN_BUS_LANES - 1);

	for (uint32_t i = 0; i < lanes; i++)
		bus->lanes[i] = any_lane(bus, i);
	for (uint32_t i = 0; i <= lanes; i++)
		bus->parts[i] =
			(struct bus_part_params){.latency = choose(bus, 10 + i, 300) * PS_NS,
						 .tags = choose(bus, 20 + i, 64)};
	bus->tree = (struct host_parts){.parts = bus->parts,
					.lanes = bus->lanes,
					.part_count = lanes + 1,
					.lane_count = lanes};
	make_faults(bus, lanes);
	bus->bus.nic = 0;
	bus->bus.memory = lanes;
	bus->bus.ops = NULL;
	bus->bus.parts = &bus->tree;
}

void run_bus_init(struct run_bus *bus, const struct plan *plan)
{
	*bus = (struct run_bus){.bus = {.ops = &ops, .tx_bytes = plan->bus_tx_bytes},
				.seed = plan->seed};
	if (choose(bus, 0, 1) > 0)
		make_parts(bus);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* A bus that takes as long as the seed says: a fetch 0.1 to 1 us, what is written up to 2 us, each
 * on its own, so that what is handed over later may be there earlier wherever it is allowed to. */
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

void run_bus_init(struct run_bus *bus, const struct plan *plan)
{
	*bus = (struct run_bus){.bus = {.ops = &ops, .tx_bytes = plan->bus_tx_bytes},
				.seed = plan->seed};
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

/* What order, digest and draws are made of: functions of model facts alone, shared by everything
 * that plays a simulation. And the way in for another engine than ours, as tests use one. */
#include "sim/node.h"
#include "util/siphash.h"

/* Fair among ports: which of two comes first at one instant, by chance of (seed, node, port, time).
 * @tie_key: node->tie_key. */
static inline uint64_t sim_tie(uint64_t tie_key, uint64_t link_id, ps_t at)
{
	const u128 x = (u128)(tie_key ^ link_id) * (at ^ 0x9e3779b97f4a7c15u);
	const u128 y = (u128)((uint64_t)x ^ link_id ^ 0xd6e8feb86659fd93u) *
		       ((uint64_t)(x >> 64) ^ tie_key ^ 0xa0761d6478bd642fu);

	return (uint64_t)y ^ (uint64_t)(y >> 64);
}

/* What a switch draws for a packet that may be marked. */
static inline uint32_t sim_mark_draw(uint64_t mark_key, const uint64_t facts[2], uint32_t flow_hash)
{
	u128 x = (u128)(mark_key ^ facts[0]) * (facts[1] ^ (uint64_t)flow_hash << 32 ^ mark_key);

	x = (u128)((uint64_t)x ^ (uint64_t)(x >> 64) ^ mark_key) * 0xd6e8feb86659fd93u;
	return (uint32_t)((uint64_t)(x >> 64) ^ (uint64_t)x);
}

static inline uint64_t sim_mark_key(uint64_t seed, uint64_t node_id)
{
	return util_hash_words((struct util_key){.k0 = seed, .k1 = 3}, &node_id, 1);
}

/* Priority, ECN, kind of frame and tag as one number, the same on every machine. */
static inline uint64_t sim_pkt_flags(const struct sim_pkt *pkt)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* The bit fields lie in this order in the byte behind the number. */
	return ((const uint8_t *)pkt)[offsetof(struct sim_pkt, ttl) - 1];
#else
	return (uint64_t)pkt->priority | (uint64_t)pkt->ecn << 3 | (uint64_t)pkt->frame << 5 |
	       (uint64_t)pkt->tag << 6;
#endif
}

/* @digest with one more delivery. */
static inline uint64_t sim_digest_arrival(uint64_t digest, const struct sim_pkt *pkt,
					  uint64_t link_id, const uint64_t facts[2])
{
	const uint64_t rest = (uint64_t)pkt->bytes << 8 | sim_pkt_flags(pkt);
	const u128 x = (u128)(digest ^ pkt->at ^ 0x9e3779b97f4a7c15u) *
		       (link_id ^ rest * 0xd6e8feb86659fd93u);
	const u128 y = (u128)((uint64_t)x ^ facts[0] ^ 0xa0761d6478bd642fu) *
		       ((uint64_t)(x >> 64) ^ facts[1] ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)y ^ (uint64_t)(y >> 64);
}

/* Another engine takes over a sealed simulation: frames that nodes send and their wake-ups go to
 * it. It runs the nodes, one at a time, with threads of its own making, and keeps node->arrivals.
 */
struct sim_other {
	void (*send)(void *context, struct sim_port *port, const struct sim_pkt *pkt, ps_t start);
	void (*wake)(void *context, struct sim_node *node, ps_t at);
	void *context;
};
void sim_take_over(struct sim *sim, const struct sim_other *other);

#endif

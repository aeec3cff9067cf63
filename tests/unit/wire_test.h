/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_WIRE_TEST_H
#define TESTS_UNIT_WIRE_TEST_H

/* What the tests of transport/wire share: random packets and their comparison. */
#include "tests/test.h"
#include "transport/wire/path.h"
#include "transport/wire/pkt.h"
#include "util/rand.h"

#include <string.h>

static inline uint32_t rand_bits(struct util_rand *rand, int bits)
{
	return (uint32_t)(util_rand_next(rand) >> (64 - bits));
}

/* Any value that @opcode can carry; @payload has room for WIRE_MTU_MAX. */
static inline struct wire_pkt random_pkt(struct util_rand *rand, uint8_t opcode, uint8_t *payload)
{
	const struct wire_op *op = wire_op_find(opcode);
	struct wire_pkt pkt = {.opcode = opcode};

	pkt.solicited = rand_bits(rand, 1);
	pkt.ack_req = rand_bits(rand, 1);
	pkt.fecn = rand_bits(rand, 1);
	pkt.becn = rand_bits(rand, 1);
	pkt.dest_qpn = rand_bits(rand, 24);
	pkt.psn = rand_bits(rand, 24);
	if (op->aeth || op->imm || op->ieth || op->feth)
		pkt.word = rand_bits(rand, 32);
	if (op->reth || op->atomiceth || op->atomicacketh)
		pkt.va = util_rand_next(rand);
	if (op->reth || op->atomiceth)
		pkt.rkey = rand_bits(rand, 32);
	if (op->seth)
		pkt.va = rand_bits(rand, 32);
	if (op->seth || op->sacketh)
		pkt.rkey = rand_bits(rand, 24);
	if (op->reth || op->sacketh)
		pkt.dma_length = rand_bits(rand, 32);
	if (op->payload)
		pkt.length = (uint16_t)util_rand_below(rand, rand_bits(rand, 1) ? 9 : 4097);
	for (int i = 0; i < pkt.length; i++)
		payload[i] = (uint8_t)rand_bits(rand, 8);
	if (pkt.length)
		pkt.payload = payload;
	pkt.rare.pkey = WIRE_PKEY_DEFAULT;
	if (rand_bits(rand, 1)) {
		pkt.rare.pkey = (uint16_t)(rand_bits(rand, 16) | 1);
		pkt.rare.mig_req = rand_bits(rand, 1);
	}
	if (rand_bits(rand, 2) == 0) {
		pkt.rare.has_int = true;
		pkt.rare.hop_count = (uint8_t)util_rand_below(rand, WIRE_INT_HOPS + 1);
		for (int i = 0; i < pkt.rare.hop_count; i++)
			pkt.rare.hops[i] = util_rand_next(rand);
	}
	pkt.has_rare = pkt.rare.pkey != WIRE_PKEY_DEFAULT || pkt.rare.mig_req || pkt.rare.has_int;
	if (op->atomiceth || op->deth || op->rdeth || op->xrceth)
		pkt.has_rare = true;
	if (op->atomiceth) {
		pkt.rare.swap_add = util_rand_next(rand);
		pkt.rare.compare = util_rand_next(rand);
	}
	if (op->deth) {
		pkt.rare.qkey = rand_bits(rand, 32);
		pkt.rare.src_qpn = rand_bits(rand, 24);
	}
	if (op->rdeth)
		pkt.rare.ee_context = rand_bits(rand, 24);
	if (op->xrceth)
		pkt.rare.xrc_srqn = rand_bits(rand, 24);
	return pkt;
}

static inline void assert_same_path(const struct wire_path *a, const struct wire_path *b)
{
	assert_memory_equal(a->src_ip, b->src_ip, 16);
	assert_memory_equal(a->dst_ip, b->dst_ip, 16);
	assert_memory_equal(a->src_mac, b->src_mac, 6);
	assert_memory_equal(a->dst_mac, b->dst_mac, 6);
	assert_int_equal(a->vlan, b->vlan);
	assert_int_equal(a->udp_sport, b->udp_sport);
	assert_int_equal(a->flow_label, b->flow_label);
	assert_int_equal(a->ip_id, b->ip_id);
	assert_int_equal(a->dscp, b->dscp);
	assert_int_equal(a->ecn, b->ecn);
	assert_int_equal(a->ttl, b->ttl);
	assert_int_equal(a->priority, b->priority);
}

static inline void assert_same_pkt(const struct wire_pkt *a, const struct wire_pkt *b)
{
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->solicited, b->solicited);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->fecn, b->fecn);
	assert_int_equal(a->becn, b->becn);
	assert_int_equal(a->dest_qpn, b->dest_qpn);
	assert_int_equal(a->psn, b->psn);
	assert_int_equal(a->word, b->word);
	assert_int_equal(a->va, b->va);
	assert_int_equal(a->rkey, b->rkey);
	assert_int_equal(a->dma_length, b->dma_length);
	assert_int_equal(a->length, b->length);
	if (a->length)
		assert_memory_equal(a->payload, b->payload, a->length);
	assert_int_equal(a->has_rare, b->has_rare);
	if (!a->has_rare)
		return;
	assert_int_equal(a->rare.pkey, b->rare.pkey);
	assert_int_equal(a->rare.mig_req, b->rare.mig_req);
	assert_int_equal(a->rare.swap_add, b->rare.swap_add);
	assert_int_equal(a->rare.compare, b->rare.compare);
	assert_int_equal(a->rare.qkey, b->rare.qkey);
	assert_int_equal(a->rare.src_qpn, b->rare.src_qpn);
	assert_int_equal(a->rare.ee_context, b->rare.ee_context);
	assert_int_equal(a->rare.xrc_srqn, b->rare.xrc_srqn);
}

#endif

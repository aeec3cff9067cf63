/* SPDX-License-Identifier: BSD-2-Clause */

/* The second model: plain arrays, written in the order of the programs. */
#include "tests/swarm/run.h"
#include "util/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct side *peer_of(const struct run *run, const struct side *s)
{
	return &run->plan->sides[s->peer];
}

static bool is_send(const struct op *op)
{
	return op->kind <= OP_SEND_INV;
}

static bool is_write(const struct op *op)
{
	return op->kind == OP_WRITE || op->kind == OP_WRITE_IMM;
}

static bool is_atomic(const struct op *op)
{
	return op->kind == OP_CAS || op->kind == OP_FADD;
}

static uint64_t word_at(const uint8_t *memory, uint64_t at)
{
	uint64_t word;

	memcpy(&word, memory + at, sizeof(word));
	return word;
}

/* As it is before the run: noise, words that start small, and what will be sent. */
void memory_fill(const struct run *run, uint32_t host, uint8_t *ret_bytes)
{
	const struct plan *plan = run->plan;
	const uint64_t first = MEMORY_SHARED_FIRST, zero = 0;
	uint8_t bytes[65536];

	plan_bytes(plan_memory_key(plan, host), 0, ret_bytes, plan->memory_bytes[host]);
	memcpy(ret_bytes + plan->shared_word[host], &first, sizeof(first));
	for (uint32_t i = 0; i < plan->side_count; i++) {
		const struct side *s = &plan->sides[i];

		for (uint32_t w = 0; s->host == host && w < PLAN_WORDS; w++)
			memcpy(ret_bytes + s->words + 8 * (uint64_t)w, &zero, sizeof(zero));
		for (uint32_t n = 0; s->host == host && n < s->op_count; n++) {
			const struct op *op = &s->ops[n];

			plan_bytes(op->key, op->key_at, bytes, op->bytes);
			if (!op->relay && (is_send(op) || is_write(op)))
				pieces_put(&op->local, ret_bytes, bytes, op->bytes);
		}
	}
}

/* What of the write falls into [@from, @from + @count). */
static void apply_write(const struct op *op, uint64_t from, uint64_t count, uint8_t *bytes)
{
	const uint64_t first = op->remote > from ? op->remote : from;
	const uint64_t end =
		op->remote + op->bytes < from + count ? op->remote + op->bytes : from + count;

	if (first < end)
		plan_bytes(op->key, op->key_at + (first - op->remote), bytes + (first - from),
			   end - first);
}

static void read_part(const struct run *run, const struct side_run *side, uint32_t index,
		      uint64_t skip, uint64_t count, uint8_t *ret_bytes)
{
	const struct op *op = &side->plan->ops[index];

	plan_bytes(plan_memory_key(run->plan, peer_of(run, side->plan)->host), op->remote + skip,
		   ret_bytes, count);
	for (uint32_t i = 0; i < index && !op->stable; i++)
		if (is_write(&side->plan->ops[i]))
			apply_write(&side->plan->ops[i], op->remote + skip, count, ret_bytes);
}

void memory_seen_by_read(const struct run *run, const struct side_run *side, uint32_t index,
			 uint8_t *ret_bytes)
{
	read_part(run, side, index, 0, side->plan->ops[index].bytes, ret_bytes);
}

static bool later_write_explains(const struct side_run *side, uint32_t index, uint64_t at,
				 uint8_t byte)
{
	for (uint32_t i = index; i < side->posted; i++) {
		const struct op *op = &side->plan->ops[i];
		uint8_t value;

		if (!is_write(op) || at < op->remote || at - op->remote >= op->bytes)
			continue;
		plan_bytes(op->key, op->key_at + (at - op->remote), &value, 1);
		if (value == byte)
			return true;
	}
	return false;
}

bool memory_is_placed(const struct run *run, const struct side_run *side, uint32_t index)
{
	const struct op *op = &side->plan->ops[index];
	const struct side *peer = peer_of(run, side->plan);
	const uint8_t *memory = run->hosts[peer->host].memory;
	uint8_t expected[65536], found[65536];

	plan_bytes(op->key, op->key_at, expected, op->bytes);
	if (is_send(op)) {
		pieces_get(&peer->recvs[op->recv].local, memory, found);
		return memcmp(expected, found, op->bytes) == 0;
	}
	for (uint32_t i = 0; is_write(op) && i < op->bytes; i++)
		if (memory[op->remote + i] != expected[i] &&
		    !later_write_explains(side, index, op->remote + i, memory[op->remote + i]))
			return false;
	return true;
}

/* What is certain to have happened, into @expected of @host. */
static void apply(const struct run *run, const struct side_run *side, uint32_t index, uint32_t host,
		  uint8_t *expected)
{
	const struct op *op = &side->plan->ops[index];
	const struct side *s = side->plan, *peer = peer_of(run, s);
	const uint8_t *found = run->hosts[s->host].memory;
	uint8_t bytes[65536];

	plan_bytes(op->key, op->key_at, bytes, op->bytes);
	if (peer->host == host && is_send(op))
		pieces_put(&peer->recvs[op->recv].local, expected, bytes, op->bytes);
	if (peer->host == host && is_write(op) && op->bytes > 0)
		memcpy(expected + op->remote, bytes, op->bytes);
	if (s->host == host && op->kind == OP_READ) {
		memory_seen_by_read(run, side, index, bytes);
		pieces_put(&op->local, expected, bytes, op->bytes);
	}
	if (s->host == host && op->shared) /* what it returned is checked elsewhere */
		memcpy(expected + op->local.at, found + op->local.at, 8);
}

/* Atomics on words of their own: the word's history is this program's alone. */
static void apply_atomics(const struct run *run, const struct side_run *side, uint32_t certain,
			  uint32_t host, uint8_t *expected)
{
	const struct side *s = side->plan, *peer = peer_of(run, s);
	uint64_t words[PLAN_WORDS] = {0};

	for (uint32_t i = 0; i < certain; i++) {
		const struct op *op = &s->ops[i];
		uint64_t *word, before;

		if (!is_atomic(op) || op->shared)
			continue;
		word = &words[(op->remote - peer->words) / 8];
		before = *word;
		if (op->kind == OP_FADD)
			*word += op->compare_add;
		else if (*word == op->compare_add)
			*word = op->swap;
		if (s->host == host)
			memcpy(expected + op->local.at, &before, 8);
		if (peer->host == host)
			memcpy(expected + op->remote, word, 8);
	}
}

static uint32_t certain_of(const struct side_run *side)
{
	return side->failed ? side->failed_op : side->posted;
}

static bool pieces_hold(const struct pieces *p, uint32_t bytes, uint64_t at, uint64_t *ret_offset)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const uint64_t place = pieces_place(p, i);

		if (at >= place && at - place < p->bytes[i]) {
			*ret_offset = offset + (at - place);
			return *ret_offset < bytes;
		}
		offset += p->bytes[i];
	}
	return false;
}

/* Whether the request, of which nobody knows whether it was executed, can have left @byte. */
static bool may_have_left(const struct run *run, const struct side_run *side, uint32_t index,
			  uint32_t host, uint64_t at, uint8_t byte)
{
	const struct op *op = &side->plan->ops[index];
	const struct side *s = side->plan, *peer = peer_of(run, s);
	uint8_t value = 0;
	uint64_t i = 0;

	if (is_atomic(op))
		return (peer->host == host && at - op->remote < 8) ||
		       (s->host == host && at - op->local.at < 8);
	if (s->host == host && op->kind == OP_READ && pieces_hold(&op->local, op->bytes, at, &i)) {
		if (op->fatal)
			return false;
		read_part(run, side, index, i, 1, &value);
		return value == byte;
	}
	if (peer->host != host || op->bad_rkey || op->gone_rkey || op->remote == UINT64_MAX)
		return false;
	if (is_send(op) && pieces_hold(&peer->recvs[op->recv].local, op->bytes, at, &i)) {
		plan_bytes(op->key, op->key_at + i, &value, 1);
		return value == byte;
	}
	if (is_write(op) && at >= op->remote && at - op->remote < op->bytes) {
		plan_bytes(op->key, op->key_at + (at - op->remote), &value, 1);
		return value == byte;
	}
	return false;
}

static bool explained(const struct run *run, uint32_t host, uint64_t at, uint8_t byte)
{
	for (uint32_t i = 0; i < run->plan->side_count; i++) {
		const struct side_run *side = &run->sides[i];

		for (uint32_t n = certain_of(side); n < side->posted; n++)
			if (may_have_left(run, side, n, host, at, byte))
				return true;
	}
	return false;
}

static void expect(const struct run *run, uint32_t host, uint8_t *expected)
{
	memory_fill(run, host, expected);
	memcpy(expected + run->plan->shared_word[host],
	       run->hosts[host].memory + run->plan->shared_word[host], 8);
	for (uint32_t i = 0; i < run->plan->side_count; i++) {
		const struct side_run *side = &run->sides[i];
		const uint32_t certain = certain_of(side);
		uint8_t reused[65536];

		memset(reused, MEMORY_REUSED, sizeof(reused));
		for (uint32_t n = 0; n < side->plan->op_count; n++) {
			if (n < certain)
				apply(run, side, n, host, expected);
			if (side->plan->host == host && side->reused[n])
				pieces_put(&side->plan->ops[n].local, expected, reused,
					   side->plan->ops[n].bytes);
		}
		apply_atomics(run, side, certain, host, expected);
	}
}

static void check_host(struct run *run, uint32_t host)
{
	const uint64_t bytes = run->plan->memory_bytes[host];
	const uint8_t *memory = run->hosts[host].memory;
	uint8_t *expected = malloc(bytes);

	CHECK(expected != NULL);
	expect(run, host, expected);
	for (uint64_t i = 0; i < bytes; i++)
		if (memory[i] != expected[i] && !explained(run, host, i, memory[i])) {
			run_violation(run, "byte %llu of %s is %02x, must be %02x",
				      (unsigned long long)i, run->plan->hosts[host], memory[i],
				      expected[i]);
			break;
		}
	free(expected);
}

struct addition {
	uint64_t before, value;
};

static int compare_additions(const void *a, const void *b)
{
	const struct addition *x = a, *y = b;

	return x->before < y->before ? -1 : x->before > y->before;
}

/* The word that all add to: every addition found what the one before it left. */
static void check_shared(struct run *run, uint32_t host)
{
	struct addition additions[PLAN_SIDES_MAX * PLAN_OPS_MAX];
	const uint64_t last = word_at(run->hosts[host].memory, run->plan->shared_word[host]);
	uint64_t word = MEMORY_SHARED_FIRST, doubt = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->plan->side_count; i++) {
		const struct side_run *side = &run->sides[i];
		const uint8_t *local = run->hosts[side->plan->host].memory;

		for (uint32_t n = 0; n < side->posted; n++) {
			const struct op *op = &side->plan->ops[n];

			if (!op->shared || peer_of(run, side->plan)->host != host)
				continue;
			if (n < certain_of(side))
				additions[count++] = (struct addition){word_at(local, op->local.at),
								       op->compare_add};
			else
				doubt += op->compare_add;
		}
	}
	qsort(additions, count, sizeof(additions[0]), compare_additions);
	for (uint32_t i = 0; i <= count; i++) {
		const uint64_t before = i < count ? additions[i].before : last;

		if (before < word || before - word > doubt) {
			run_violation(run, "an addition at %s found %llu, not %llu",
				      run->plan->hosts[host], (unsigned long long)before,
				      (unsigned long long)word);
			return;
		}
		doubt -= before - word;
		word = before + (i < count ? additions[i].value : 0);
	}
}

void memory_check(struct run *run)
{
	for (uint32_t i = 0; i < run->plan->host_count; i++) {
		check_host(run, i);
		check_shared(run, i);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Every rank from 1 on works on the words of rank 0: a counter that all of them add one to, slots
 * that all of them claim with compare-and-swap, and a word of its own. Who comes first is not the
 * same in every world, so the counter's and the slots' values are not reported but judged by rank
 * 0: the set of returned values and the final ones. */
#include "tests/programs/util.h"

#include <stdio.h>
#include <stdlib.h>

enum { ADDS = 16, SLOTS = 8, OWN = 4, CONTENDED = ADDS + SLOTS, RESULTS = CONTENDED + OWN };
/* Words of rank 0: the counter, the slots, then one for each rank. */
enum { COUNTER = 0, SLOT = 1, PRIVATE = SLOT + SLOTS };

struct op {
	enum ibv_wr_opcode opcode;
	uint64_t word, compare_add, swap, expect;
};

static struct op nth_op(const struct vb_prog *prog, uint64_t i)
{
	uint64_t id = (uint64_t)prog->rank, own = PRIVATE + id, mark = 0x1122334455667700u + id;

	if (i < ADDS)
		return (struct op){IBV_WR_ATOMIC_FETCH_AND_ADD, COUNTER, 1, 0, 0};
	if (i < CONTENDED)
		return (struct op){IBV_WR_ATOMIC_CMP_AND_SWP, SLOT + i - ADDS, 0, id, 0};
	switch (i - CONTENDED) {
	case 0: /* takes */
		return (struct op){IBV_WR_ATOMIC_CMP_AND_SWP, own, 0, mark, 0};
	case 1: /* does not */
		return (struct op){IBV_WR_ATOMIC_CMP_AND_SWP, own, 1, 2, mark};
	case 2: /* carries into the upper half */
		return (struct op){IBV_WR_ATOMIC_FETCH_AND_ADD, own, 0xffffffff, 0, mark};
	default:
		return (struct op){IBV_WR_ATOMIC_CMP_AND_SWP, own, mark + 0xffffffff, 7,
				   mark + 0xffffffff};
	}
}

static int do_all(struct prog_qp *qp, uint64_t *words)
{
	const struct vb_prog *prog = qp->ctx->prog;
	char key[32];

	for (uint64_t i = 0; i < RESULTS; i++) {
		struct op op = nth_op(prog, i);
		struct ibv_wc wc;

		if (prog_post_send(qp,
				   (struct prog_send){.wr_id = i,
						      .opcode = op.opcode,
						      .bytes = &words[i],
						      .length = sizeof(words[i]),
						      .remote_offset = op.word * sizeof(words[i]),
						      .compare_add = op.compare_add,
						      .swap = op.swap}) != 0 ||
		    prog_poll(qp->ctx, &wc) != 0)
			return -1;
		wc.byte_len = sizeof(words[i]);
		prog->report(prog, 0, 0, &wc, i < CONTENDED ? NULL : &words[i]);
		if (i >= CONTENDED && words[i] != op.expect) {
			prog_say(prog, "rank %d: op %d returned %#llx", prog->rank, (int)i,
				 (unsigned long long)words[i]);
			return -1;
		}
	}
	snprintf(key, sizeof(key), "returned/%d", prog->rank);
	return prog->put(prog, key, words, CONTENDED * sizeof(*words));
}

/* Each value of the counter came back to one add; each slot's winner saw 0, the others the winner.
 * @seen has a byte for each add. */
static int judge_rank(const struct vb_prog *prog, const uint64_t *words, const uint64_t *returned,
		      uint64_t rank, uint8_t *seen)
{
	uint64_t total = (uint64_t)(prog->size - 1) * ADDS;

	for (uint64_t i = 0; i < ADDS; i++)
		if (returned[i] >= total || seen[returned[i]]++ != 0)
			return -1;
	for (uint64_t i = 0; i < SLOTS; i++) {
		uint64_t winner = words[SLOT + i];

		if (returned[ADDS + i] != (winner == rank ? 0 : winner))
			return -1;
	}
	return words[PRIVATE + rank] == 7 ? 0 : -1;
}

/* Once all are done: until then somebody's atomic may be at a word. */
static int judge_all(const struct vb_prog *prog, const uint64_t *words, uint64_t *returned,
		     uint8_t *seen)
{
	char key[32];

	for (int r = 1; r < prog->size; r++) {
		snprintf(key, sizeof(key), "returned/%d", r);
		if (prog->get(prog, key, returned + (size_t)(r - 1) * CONTENDED,
			      CONTENDED * sizeof(*returned)) != 0)
			return -1;
	}
	for (int r = 1; r < prog->size; r++)
		if (judge_rank(prog, words, returned + (size_t)(r - 1) * CONTENDED, (uint64_t)r,
			       seen) != 0) {
			prog_say(prog, "rank %d got values that no order explains", r);
			return -1;
		}
	return 0;
}

static int judge(const struct vb_prog *prog, const uint64_t *words)
{
	const uint64_t peers = (uint64_t)(prog->size - 1), total = peers * ADDS;
	uint64_t *returned = calloc(peers * CONTENDED, sizeof(*returned));
	uint8_t *seen = calloc(total, 1);
	int ret = returned && seen ? judge_all(prog, words, returned, seen) : -1;

	free(returned);
	free(seen);
	if (words[COUNTER] != total)
		ret = -1;
	prog_say(prog, "counter %llu of %llu", (unsigned long long)words[COUNTER],
		 (unsigned long long)total);
	return ret;
}

static int run(const struct vb_prog *prog, struct prog_qp *qps, uint64_t *words, size_t word_count)
{
	int qp_count = prog->rank == 0 ? prog->size - 1 : 1;
	struct prog_ctx ctx;

	if (prog_open(&ctx, prog, 16, words, word_count * sizeof(*words)) != 0)
		return -1;
	for (int i = 0; i < qp_count; i++)
		if (prog_qp_open(&qps[i], &ctx,
				 (struct prog_qp_params){.peer = prog->rank == 0 ? i + 1 : 0,
							 .send_depth = 1,
							 .recv_depth = 1}) != 0)
			return -1;
	if (prog_connect(qps, qp_count) != 0)
		return -1;
	if (prog->rank == 0 ? judge(prog, words) != 0 : do_all(&qps[0], words) != 0)
		return -1;
	return prog_close(&ctx, qps, qp_count);
}

int prog_main(const struct vb_prog *prog)
{
	size_t word_count = PRIVATE + (size_t)prog->size + RESULTS;
	uint64_t *words = calloc(word_count, sizeof(*words));
	struct prog_qp *qps = calloc((size_t)prog->size, sizeof(*qps));
	int ret = -1;

	if (words && qps)
		ret = prog->size < 2 ? prog_idle(prog) : run(prog, qps, words, word_count);
	free(words);
	free(qps);
	return ret;
}

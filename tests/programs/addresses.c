/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 1 sends rank 0 the addresses of all its memory, in band: heap, stack, variables, functions,
 * mappings, objects of libibverbs, what it was given. The digest is of these bytes. Argument
 * show=1: both say what they sent and got; pid=1: and the number of the process,
 * which is another one in each run; forge=1: gives back what it never got. */
#include "tests/programs/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

enum { SLOTS = 32, ROUNDS = 40, PAGE = 1 << 16 };

static int variable = 1;
static uint8_t buffer[100];
static char *kept;

/* From an earlier run of this process, where there was one. */
static void check_kept(void)
{
	if (kept && strcmp(kept, "kept") != 0)
		abort();
}

/* Modules that cannot be unloaded come to it when the process ends: those of C++, often. */
__attribute__((destructor)) static void end(void)
{
	check_kept();
	free(kept);
}

struct addresses {
	const void *slot[SLOTS];
	int count;
};

static void add(struct addresses *addresses, const void *place)
{
	addresses->slot[addresses->count++ % SLOTS] = place;
}

/* Blocks of many sizes, given back in another order than they came in. */
static int add_heap(struct addresses *addresses)
{
	static const size_t sizes[] = {1, 24, 100, 5000, 300000, 2000000};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
	void *blocks[SIZES], *aligned;
	char *text;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SIZES; i++) {
			blocks[i] = malloc(sizes[i] + (size_t)round);
			if (!blocks[i])
				return -1;
			memset(blocks[i], 1, sizes[i]);
		}
		blocks[round % SIZES] = realloc(blocks[round % SIZES], 3 * sizes[round % SIZES]);
		for (int i = 0; i < SIZES; i++)
			free(blocks[(i + round) % SIZES]);
	}
	for (int i = 0; i < SIZES; i++)
		add(addresses, malloc(sizes[i]));
	add(addresses, calloc(3, 5));
	add(addresses, posix_memalign(&aligned, 4096, 10000) == 0 ? aligned : NULL);
	add(addresses, strdup("text"));
	add(addresses, wcsdup(L"wide"));
	add(addresses, canonicalize_file_name("/"));
	add(addresses, asprintf(&text, "%d", 42) == 2 && strcmp(text, "42") == 0 ? text : NULL);
	return 0;
}

/* The place of one that was given back is used again. */
static int add_mappings(struct addresses *addresses)
{
	const int fd = open("/proc/self/exe", O_RDONLY);
	uint8_t *maps[3], *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	for (int i = 0; i < 3; i++) {
		maps[i] = mmap(NULL, (size_t)(i + 1) * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (maps[i] == MAP_FAILED)
			return -1;
		maps[i][0] = (uint8_t)i;
	}
	munmap(maps[1], 2 * PAGE);
	add(addresses, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	add(addresses, maps[0]);
	add(addresses, mremap(maps[2], 3 * PAGE, 50 * PAGE, MREMAP_MAYMOVE));
	add(addresses, file);
	close(fd);
	return file == MAP_FAILED ? -1 : 0;
}

static int gather(const struct prog_ctx *ctx, struct addresses *addresses)
{
	const struct vb_prog *prog = ctx->prog;

	add(addresses, addresses);
	add(addresses, &variable);
	add(addresses, buffer);
	add(addresses, "constant");
	add(addresses, (const void *)(uintptr_t)gather);
	add(addresses, prog);
	add(addresses, prog->arg_count > 0 ? prog->args[0] : NULL);
	add(addresses, ctx->context);
	add(addresses, ctx->pd);
	add(addresses, ctx->mr);
	add(addresses, ctx->cq);
	add(addresses, prog_arg(prog, "pid", 0) ? (const void *)(intptr_t)getpid() : NULL);
	return add_heap(addresses) != 0 || add_mappings(addresses) != 0 ? -1 : 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct addresses *addresses = calloc(1, sizeof(*addresses));
	struct prog_qp_params params = {.peer = !prog->rank, .send_depth = 1, .recv_depth = 1};
	struct prog_pending pending = {0};
	void *volatile forged = addresses ? &addresses->slot[2] : NULL;
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog->rank > 1)
		return prog_idle(prog);
	if (!addresses || prog_open(&ctx, prog, 4, addresses, sizeof(*addresses)) != 0 ||
	    prog_qp_open(&qp, &ctx, params) != 0)
		return -1;
	if (prog->rank == 0 && prog_arg(prog, "show", 0)) {
		check_kept();
		free(kept);
		kept = strdup("kept");
	}
	if (prog->rank == 0)
		pending.recvs = prog_post_recv(&qp, 1, addresses, sizeof(*addresses)) == 0;
	else if (gather(&ctx, addresses) != 0)
		return -1;
	if (prog_connect(&qp, 1) != 0)
		return -1;
	if (prog->rank == 1)
		pending.sends =
			prog_post_send(&qp, (struct prog_send){.wr_id = 2,
							       .opcode = IBV_WR_SEND,
							       .bytes = addresses,
							       .length = sizeof(*addresses)}) == 0;
	if (prog_drain(&qp, addresses, &pending) != 0)
		return -1;
	for (int i = 0; prog_arg(prog, "show", 0) && i < addresses->count && i < SLOTS; i++)
		prog_say(prog, "%d: %p", i, addresses->slot[i]);
	if (prog_arg(prog, "forge", 0))
		free(forged);
	if (prog_close(&ctx, &qp, 1) != 0)
		return -1;
	free(addresses);
	return variable - 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 1 waits for a byte that rank 0 WRITEs: by spinning on it, which works wherever time is real
 * and can never end in virtual time; with yield=1 by spinning through libc; with cured=1 by
 * vb_wait_mem(). Runs in virtual time only. */
#include "include/verbena/verbena.h"
#include "tests/programs/util.h"

#include <sched.h>
#include <time.h>

static void spin(const volatile uint8_t *byte)
{
	while (*byte == 0) /* spins here */
		;
}

static void spin_in_libc(const volatile uint8_t *byte)
{
	while (*byte == 0)
		sched_yield(); /* yields here */
}

static uint64_t processor_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

static void compute(struct ibv_cq *cq, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++) {
		const uint64_t from = processor_ms();

		while (processor_ms() - from < 100)
			;
		ibv_req_notify_cq(cq, 0);
	}
}

static void await(const struct vb_prog *prog, const uint8_t *byte)
{
	if (prog_arg(prog, "cured", 0))
		vb_wait_mem(byte, "", 1);
	else if (prog_arg(prog, "yield", 0))
		spin_in_libc(byte);
	else
		spin(byte);
}

int prog_main(const struct vb_prog *prog)
{
	uint8_t bytes[2] = {prog->rank == 0, 0};
	struct prog_pending pending = {.sends = 1};
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog->rank > 1)
		return prog_idle(prog);
	if (prog_open(&ctx, prog, 4, bytes, sizeof(bytes)) != 0 ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){
				 .peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1}) != 0 ||
	    prog_connect(&qp, 1) != 0)
		return -1;
	compute(ctx.cq, prog_arg(prog, "busy", 0));
	if (prog->rank == 1)
		await(prog, bytes + 1);
	else if (prog_post_send(&qp, (struct prog_send){.opcode = IBV_WR_RDMA_WRITE,
							.bytes = bytes,
							.length = 1,
							.remote_offset = 1}) != 0 ||
		 prog_drain(&qp, NULL, &pending) != 0)
		return -1;
	return prog_close(&ctx, &qp, 1);
}

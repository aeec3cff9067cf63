/* SPDX-License-Identifier: BSD-2-Clause */

/* Ping-pong over an unreliable connection, by SEND and by WRITE with immediate in turn. */
#include "tests/programs/pingpong.h"

int prog_main(const struct vb_prog *prog)
{
	return pingpong(prog, IBV_QPT_UC, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM);
}

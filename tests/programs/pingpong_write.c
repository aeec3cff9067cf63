/* SPDX-License-Identifier: BSD-2-Clause */

/* Ping-pong by RDMA WRITE; its immediate tells the peer, which does not look at memory before. */
#include "tests/programs/pingpong.h"

int prog_main(const struct vb_prog *prog)
{
	return pingpong(prog, IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Ping-pong by SEND. */
#include "tests/programs/pingpong.h"

int prog_main(const struct vb_prog *prog)
{
	return pingpong(prog, IBV_QPT_RC, IBV_WR_SEND, IBV_WR_SEND);
}

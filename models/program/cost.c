/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/cost.h"

struct host_cost host_cost_none(void)
{
	return (struct host_cost){.poll_quantum = 100 * PS_US};
}

struct host_cost host_cost_generic(void)
{
	struct host_cost cost = host_cost_none();

	cost.call[VRB_CALL_CONTROL] = 2 * PS_US;
	cost.call[VRB_CALL_REG_MR] = 10 * PS_US;
	cost.call[VRB_CALL_POST_SEND] = 50 * PS_NS;
	cost.each[VRB_CALL_POST_SEND] = 50 * PS_NS;
	cost.call[VRB_CALL_POST_RECV] = 20 * PS_NS;
	cost.each[VRB_CALL_POST_RECV] = 30 * PS_NS;
	cost.call[VRB_CALL_POLL_CQ] = 20 * PS_NS;
	cost.call[VRB_CALL_REQ_NOTIFY] = 50 * PS_NS;
	cost.call[VRB_CALL_CHANNEL] = PS_US;
	cost.cqe_write = 200 * PS_NS;
	cost.interrupt = 3 * PS_US;
	return cost;
}

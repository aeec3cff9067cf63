/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the calls of a device with faults (transport/verbs/fault.h) meet them, and where time
 * does. All but vrb_local_die() inside of calls. */
#include "transport/verbs/fault.h"
#include "transport/verbs/local.h"

static enum vrb_fault_op op_of(enum hca_wr_opcode opcode)
{
	switch (opcode) {
	case HCA_WR_SEND:
	case HCA_WR_SEND_WITH_IMM:
	case HCA_WR_SEND_WITH_INV:
		return VRB_FAULT_SEND;
	case HCA_WR_RDMA_WRITE:
	case HCA_WR_RDMA_WRITE_WITH_IMM:
	case HCA_WR_ATOMIC_WRITE:
		return VRB_FAULT_WRITE;
	case HCA_WR_RDMA_READ:
		return VRB_FAULT_READ;
	case HCA_WR_ATOMIC_CMP_AND_SWP:
	case HCA_WR_ATOMIC_FETCH_AND_ADD:
		return VRB_FAULT_ATOMIC;
	case HCA_WR_LOCAL_INV:
	case HCA_WR_BIND_MW:
	case HCA_WR_FLUSH:
	default:
		return VRB_FAULT_OTHER;
	}
}

static void set_port(struct vrb_local *local, bool is_down, bool flushes, ps_t now)
{
	const struct hca_qp_attr to_err = {.state = HCA_QPS_ERR};
	struct vrb_world *world = local->world;

	hca_device_set_port(world->hca, is_down);
	for (uint32_t i = 0; is_down && flushes && i < local->table.count; i++) {
		struct vrb_object *object = local->table.slots[i].object;

		if (object && object->hca && vrb_kind_of(object->handle) == VRB_QP)
			(void)hca_qp_modify(world->hca, object->hca, &to_err, HCA_QP_STATE, now);
	}
	vrb_on_async(world, NULL, is_down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
}

static uint64_t age_ns(struct vrb_world *world)
{
	const uint64_t at_ns = world->ops->clocks(world).raw_ns + world->ops->now(world) / PS_NS;

	return at_ns - world->faults->opened_ns;
}

static void begin_or_end(struct vrb_local *local, const struct vrb_fault *fault, bool is_over)
{
	struct hca_device *hca = local->world->hca;

	if (fault->kind == VRB_FAULT_PORT)
		set_port(local, (fault->a != 0) != is_over, fault->b != 0,
			 local->world->ops->now(local->world));
	else if (fault->kind == VRB_FAULT_RNR && fault->nth == 0)
		hca_device_storm(hca, !is_over);
	else if (fault->kind == VRB_FAULT_RNR)
		hca_device_starve(hca, fault->nth, fault->count);
	else
		local->dies = true;
}

/* What is due by now, if it has not happened yet. How long until the next; UINT64_MAX: never. */
static uint64_t local_fault_turn(struct vrb_local *local)
{
	struct vrb_faults *faults = local->world->faults;
	const uint64_t now_ns = age_ns(local->world);
	const struct vrb_fault *due;
	uint64_t next_ns;
	bool is_over;

	while ((due = vrb_fault_due(faults, now_ns, &is_over)))
		begin_or_end(local, due, is_over);
	next_ns = vrb_fault_next_ns(faults);
	return next_ns == UINT64_MAX ? next_ns : next_ns - now_ns;
}

static const struct vrb_fault *local_fault_meet(struct vrb_local *local, enum vrb_fault_kind kind,
						enum vrb_fault_op op, uint32_t qp)
{
	return vrb_fault_met(local->world->faults, kind, op, qp, age_ns(local->world));
}

int vrb_local_fault_send(struct vrb_local *local, const struct vrb_object *qp,
			 const struct hca_send_wr *wr, ps_t now)
{
	const enum vrb_fault_op op = op_of(wr->opcode);
	const struct vrb_fault *port, *refused;

	(void)local_fault_turn(local);
	port = local_fault_meet(local, VRB_FAULT_PORT, op, qp->ordinal);
	refused = local_fault_meet(local, VRB_FAULT_POST, op, qp->ordinal);
	if (port)
		set_port(local, port->a != 0, port->b != 0, now);
	if (local_fault_meet(local, VRB_FAULT_FATAL, op, qp->ordinal))
		local->dies = true;
	return refused ? -(int)refused->a : 0;
}

int vrb_local_fault_recv(struct vrb_local *local, const struct vrb_object *qp)
{
	const struct vrb_fault *refused;

	(void)local_fault_turn(local);
	refused = local_fault_meet(local, VRB_FAULT_POST, VRB_FAULT_RECV, qp ? qp->ordinal : 0);
	return refused ? -(int)refused->a : 0;
}

void vrb_local_fault_wc(struct vrb_local *local, struct ibv_wc *wc)
{
	const struct hca_qp *qp = hca_qp_find(local->world->hca, wc->qp_num);
	const struct vrb_object *object = qp ? hca_qp_owner(qp) : NULL;
	enum vrb_fault_op op = wc->opcode & IBV_WC_RECV ? VRB_FAULT_RECV : VRB_FAULT_OTHER;
	const struct vrb_fault *met;

	if (wc->opcode == IBV_WC_SEND)
		op = VRB_FAULT_SEND;
	else if (wc->opcode == IBV_WC_RDMA_WRITE || wc->opcode == IBV_WC_ATOMIC_WRITE)
		op = VRB_FAULT_WRITE;
	else if (wc->opcode == IBV_WC_RDMA_READ)
		op = VRB_FAULT_READ;
	else if (wc->opcode == IBV_WC_COMP_SWAP || wc->opcode == IBV_WC_FETCH_ADD)
		op = VRB_FAULT_ATOMIC;
	met = local_fault_meet(local, VRB_FAULT_WC, op, object ? object->ordinal : 0);
	if (!met)
		return;
	wc->status = (enum ibv_wc_status)met->a;
	wc->vendor_err = met->b;
}

void vrb_local_die(struct vrb_local *local)
{
	local->world->ops->abandon(local->world);
	vrb_on_fatal(local->world);
}

int64_t vrb_on_time(struct vrb_world *world)
{
	uint64_t wait_ns;

	if (!world->faults)
		return -1;
	wait_ns = local_fault_turn(world->local);
	if (world->local->dies)
		vrb_local_die(world->local);
	return wait_ns < INT64_MAX ? (int64_t)wait_ns : -1;
}

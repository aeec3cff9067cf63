/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the calls of a device with faults (transport/verbs/fault.h) meet them. All but
 * vrb_local_die() inside of calls. */
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

int vrb_local_fault_send(struct vrb_local *local, const struct vrb_object *qp,
			 const struct hca_send_wr *wr, bool *ret_is_fatal, ps_t now)
{
	struct vrb_faults *faults = local->world->faults;
	const enum vrb_fault_op op = op_of(wr->opcode);
	const struct vrb_fault *port = vrb_fault_met(faults, VRB_FAULT_PORT, op, qp->ordinal);
	const struct vrb_fault *refused = vrb_fault_met(faults, VRB_FAULT_POST, op, qp->ordinal);

	if (port)
		set_port(local, port->a != 0, port->b != 0, now);
	if (vrb_fault_met(faults, VRB_FAULT_FATAL, op, qp->ordinal))
		*ret_is_fatal = true;
	return refused ? -(int)refused->a : 0;
}

int vrb_local_fault_recv(struct vrb_local *local, const struct vrb_object *qp)
{
	const struct vrb_fault *refused = vrb_fault_met(local->world->faults, VRB_FAULT_POST,
							VRB_FAULT_RECV, qp ? qp->ordinal : 0);

	return refused ? -(int)refused->a : 0;
}

void vrb_local_fault_wc(const struct vrb_local *local, struct ibv_wc *wc)
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
	met = vrb_fault_met(local->world->faults, VRB_FAULT_WC, op, object ? object->ordinal : 0);
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/local.h"

#include "transport/verbs/convert.h"
#include "util/check.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every operation: enter, one call of the adapter, leave. Handles are looked up inside, where
 * nobody else changes the table. */

struct vrb_local *vrb_local_create(struct vrb_world *world)
{
	struct vrb_local *local = calloc(1, sizeof(*local));

	if (!local)
		return NULL;
	local->world = world;
	local->pending_tail = &local->pending;
	world->local = local;
	return local;
}

static int local_attach(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring)
{
	struct vrb_local *local = self;
	const struct vrb_world *world = local->world;
	const size_t length = strlen(world->device_name);

	*ret_info = (struct vrb_info){.guid = world->guid,
				      .wr_max = hca_device_profile(world->hca)->wr_max,
				      .sge_max = hca_device_profile(world->hca)->sge_max,
				      .inline_max = hca_device_profile(world->hca)->inline_max,
				      .ifindex = world->ifindex};
	memcpy(ret_info->name, world->device_name,
	       length < sizeof(ret_info->name) ? length : sizeof(ret_info->name) - 1);
	snprintf(ret_info->fw_ver, sizeof(ret_info->fw_ver), "%s",
		 world->fw_ver ? world->fw_ver : "verbena");
	ret_info->part_id = world->part_id ? world->part_id : 1;
	*ret_ring = &local->ring;
	return 0;
}

static void local_detach(void *self)
{
	struct vrb_local *local = self;

	for (uint32_t i = 0; i < local->table.count; i++)
		free(local->table.slots[i].object);
	vrb_table_fini(&local->table);
	local->world->local = NULL;
	free(local);
}

static int local_open(void *self)
{
	struct vrb_local *local = self;

	return local->world->ops->open(local->world);
}

static void local_close(void *self)
{
	struct vrb_local *local = self;

	local->world->ops->close(local->world);
}

int vrb_local_add(struct vrb_local *local, enum vrb_kind kind, struct vrb_object **ret_object)
{
	struct vrb_object *object = calloc(1, sizeof(*object));

	if (!object || vrb_table_add(&local->table, object, kind, &object->handle) < 0) {
		free(object);
		return -ENOMEM;
	}
	object->local = local;
	*ret_object = object;
	return 0;
}

void vrb_local_remove(struct vrb_object *object)
{
	vrb_local_forget(object);
	if (object->channel)
		object->channel->use_count--;
	if (object->async)
		object->async->use_count--;
	vrb_table_remove(&object->local->table, object->handle);
	free(object);
}

int vrb_local_set_channels(struct vrb_object *object, uint64_t channel, uint64_t async)
{
	struct vrb_object *to[2] = {vrb_local_find(object->local, channel, VRB_CHANNEL),
				    vrb_local_find(object->local, async, VRB_CHANNEL)};

	if ((channel != 0 && !to[0]) || !to[1])
		return -EINVAL;
	if (to[0])
		to[0]->use_count++;
	to[1]->use_count++;
	object->channel = to[0];
	object->async = to[1];
	return 0;
}

static int local_query(void *self, struct vrb_limits *ret_limits)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	const struct hca_profile *profile;
	uint8_t gid[16];
	uint32_t gid_count = 0;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	profile = hca_device_profile(world->hca);
	while (gid_count < 256 && world->ops->gid(world, gid_count, gid) == 0)
		gid_count++;
	*ret_limits = (struct vrb_limits){
		.line_rate_bps = profile->line_rate_bps,
		.port_is_down = hca_device_port_is_down(world->hca),
		.mtu_max = profile->mtu_max,
		.gid_count = gid_count,
		.gid_places = world->gid_places > gid_count ? world->gid_places : gid_count,
		.qp_max = profile->qp_max,
		.cq_max = profile->cq_max,
		.mr_max = profile->mr_max,
		.pd_max = profile->pd_max,
		.srq_max = profile->srq_max,
		.has_xrc = profile->retransmit != HCA_SELECTIVE,
		.has_annex = profile->retransmit != HCA_SELECTIVE,
		.has_rate_limit = profile->cc == &cc_none,
		.mw_is_2a = profile->mw_is_2a,
		.wr_max = profile->wr_max,
		.sge_max = profile->sge_max,
		.cqe_max = profile->cqe_max,
		.inline_max = profile->inline_max,
		.rd_atomic_max = profile->rd_atomic_max,
		.dm_bytes_max = HCA_DM_BYTES,
		.mcast_max = world->mcast_max,
		.qkey_violations = (uint32_t)hca_device_counters(world->hca)->qkey_violations};
	vrb_local_leave(local, false);
	return 0;
}

static int local_query_clock(void *self, uint64_t *ret_ns)
{
	struct vrb_local *local = self;
	const ps_t now = vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	const struct vrb_clocks clocks = local->world->ops->clocks(local->world);
	const int64_t now_ns = (int64_t)(now / PS_NS);

	*ret_ns = clocks.raw_ns + (uint64_t)(now_ns < clocks.latest_ns ? now_ns : clocks.latest_ns);
	vrb_local_leave(local, false);
	return 0;
}

static int local_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	struct vrb_local *local = self;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = local->world->ops->gid(local->world, index, ret_gid);
	vrb_local_leave(local, false);
	return ret;
}

static int verbs_local_create_qp(struct vrb_local *local, const struct vrb_qp_init *init,
				 struct vrb_object **ret_object)
{
	struct vrb_object *pd = vrb_local_find(local, init->pd, VRB_PD);
	struct vrb_object *send_cq = vrb_local_find(local, init->send_cq, VRB_CQ);
	struct vrb_object *recv_cq = vrb_local_find(local, init->recv_cq, VRB_CQ);
	struct vrb_object *srq = vrb_local_find(local, init->srq, VRB_SRQ);
	struct vrb_object *xrcd = vrb_local_find(local, init->xrcd, VRB_XRCD);
	struct hca_qp_init hca = {
		.type = init->type, .cap = init->cap, .signal_all = init->signal_all};
	struct vrb_object *object;
	struct hca_qp *qp;
	int ret;

	if ((init->pd != 0 && !pd) || (init->send_cq != 0 && !send_cq) ||
	    (init->recv_cq != 0 && !recv_cq) || (init->srq != 0 && !srq) ||
	    (init->xrcd != 0 && !xrcd))
		return -EINVAL;
	if (init->type == HCA_QPT_RAW_PACKET) {
		ret = local->world->ops->may_send_frames(local->world);
		if (ret < 0)
			return ret;
	}
	ret = vrb_local_add(local, VRB_QP, &object);
	if (ret < 0)
		return ret;
	hca.pd = pd ? pd->hca : NULL;
	hca.send_cq = send_cq ? send_cq->hca : NULL;
	hca.recv_cq = recv_cq ? recv_cq->hca : NULL;
	hca.srq = srq ? srq->hca : NULL;
	hca.xrcd = xrcd ? xrcd->hca : NULL;
	hca.half = init->type == HCA_QPT_XRC_SEND ? HCA_REQUESTER : HCA_BOTH_HALVES;
	hca.owner = object;
	hca.identity = local->world->ops->qp_identity(local->world);
	ret = vrb_local_set_channels(object, 0, init->async);
	if (ret == 0)
		ret = hca_qp_create(local->world->hca, &hca, &qp);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = qp;
	object->ordinal = ++local->world->qps_made;
	*ret_object = object;
	return 0;
}

static int local_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			   uint32_t *ret_qpn)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = verbs_local_create_qp(local, init, &object);
	if (ret == 0) {
		*ret_qp = object->handle;
		*ret_qpn = hca_qp_qpn(object->hca);
	}
	vrb_local_leave(local, false);
	return ret;
}

static int local_destroy_qp(void *self, uint64_t qp)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, qp, VRB_QP);
	if (object)
		ret = hca_mcast_group_of(local->world->hca, object->hca) ? -EBUSY : 0;
	if (ret == 0) {
		vrb_local_part(object);
		hca_qp_destroy(local->world->hca, object->hca);
		vrb_local_remove(object);
	}
	vrb_local_leave(local, true);
	return ret;
}

/* Of a service level an adapter takes the bits that its fabric has: three of RoCE, IBTA's four.
 * Without one the DSCP decides, by as many upper bits; the three are its class selector, what
 * switches that trust DSCP go by. */
static struct wire_path verbs_local_path_of(const struct vrb_local *local, const struct vrb_av *av)
{
	const bool many = hca_device_priorities(local->world->hca) > HCA_PRIORITY_COUNT;
	const uint8_t dscp = av->traffic_class >> 2, sl = av->sl & (many ? 15 : 7);
	struct wire_path path = {.dscp = dscp,
				 .ttl = av->hop_limit,
				 .flow_label = av->flow_label,
				 .priority = sl != 0 ? sl : (uint8_t)(dscp >> (many ? 2 : 3))};

	memcpy(path.dst_ip, av->dgid, sizeof(path.dst_ip));
	return path;
}

static int local_resolve_ah(void *self, const struct vrb_av *av, struct wire_path *ret_path)
{
	struct vrb_local *local = self;
	struct wire_path path = verbs_local_path_of(local, av);
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = local->world->ops->resolve(local->world, &path, av->sgid_index, 0, 0);
	vrb_local_leave(local, false);
	if (ret == 0)
		*ret_path = path;
	return ret;
}

static int resolve(struct vrb_world *world, struct hca_qp *qp, struct hca_qp_attr *attr,
		   uint32_t mask, const struct vrb_av *av)
{
	struct hca_qp_attr now;
	struct hca_qp_init init;

	hca_qp_query(qp, &now, &init);
	if (init.type == HCA_QPT_UD || init.type == HCA_QPT_RAW_PACKET)
		return -EINVAL;
	attr->path = verbs_local_path_of(world->local, av);
	return world->ops->resolve(world, &attr->path, av->sgid_index, hca_qp_qpn(qp),
				   mask & HCA_QP_DEST_QPN ? attr->dest_qpn : now.dest_qpn);
}

static int modify(struct vrb_world *world, struct hca_qp *qp, struct hca_qp_attr *attr,
		  uint32_t mask, const struct vrb_av *av, enum hca_qp_state cur_state, ps_t now)
{
	struct hca_qp_attr is;
	struct hca_qp_init init;
	int ret = 0;

	if (mask & HCA_QP_AV) {
		ret = resolve(world, qp, attr, mask, av);
		now = world->ops->now(world);
	}
	hca_advance(world->hca, now);
	hca_qp_query(qp, &is, &init);
	if (ret == 0 && mask & HCA_QP_CUR_STATE && cur_state != is.state)
		ret = -EINVAL;
	ret = ret ? ret : hca_qp_modify(world->hca, qp, attr, mask, now);
	if (ret == 0 && mask & HCA_QP_TIMEOUT && attr->timeout > world->timeout_unheard &&
	    hca_device_profile(world->hca)->retransmit == HCA_SELECTIVE)
		world->timeout_unheard = attr->timeout;
	return ret;
}

static int local_modify_qp(void *self, uint64_t handle, const struct hca_qp_attr *attr,
			   uint32_t mask, const struct vrb_av *av, enum hca_qp_state cur_state)
{
	struct vrb_local *local = self;
	struct hca_qp_attr copy = *attr;
	struct vrb_object *qp;
	int ret = -EINVAL;
	ps_t now;

	now = vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	qp = vrb_local_find(local, handle, VRB_QP);
	if (qp)
		ret = modify(local->world, qp->hca, &copy, mask, av, cur_state, now);
	if (ret == 0 && mask & HCA_QP_STATE && attr->state == HCA_QPS_RESET)
		qp->ended = 0;
	vrb_local_leave(local, true);
	return ret;
}

static int local_query_qp(void *self, uint64_t handle, struct hca_qp_attr *ret_attr,
			  struct hca_qp_cap *ret_cap)
{
	struct vrb_local *local = self;
	struct hca_qp_init init;
	struct vrb_object *qp;

	hca_advance(local->world->hca, vrb_local_enter(local, VRB_CALL_CONTROL, 0));
	qp = vrb_local_find(local, handle, VRB_QP);
	if (qp) {
		hca_qp_query(qp->hca, ret_attr, &init);
		*ret_cap = init.cap;
	}
	vrb_local_leave(local, false);
	return qp ? 0 : -EINVAL;
}

/* A datagram's way is that of its handle, but for what depends on the queue pairs. */
static int post_one(struct vrb_world *world, struct hca_qp *qp, const struct hca_send_wr *wr,
		    ps_t now)
{
	struct hca_send_wr copy;
	struct wire_path path;

	if (!wr->path)
		return hca_qp_post_send(world->hca, qp, wr, now);
	path = *wr->path;
	world->ops->reuse(world, &path, hca_qp_qpn(qp), wr->dest_qpn);
	copy = *wr;
	copy.path = &path;
	return hca_qp_post_send(world->hca, qp, &copy, now);
}

void vrb_local_polled(const struct vrb_local *local, const struct hca_wc *wc)
{
	const struct hca_qp *qp = wc->ended != 0 ? hca_qp_find(local->world->hca, wc->qpn) : NULL;
	struct vrb_object *object;

	if (!qp)
		return;
	object = hca_qp_owner(qp);
	object->ended = wc->ended;
}

static int post_if_room(struct vrb_world *world, const struct vrb_object *qp,
			const struct hca_send_wr *wr, ps_t now)
{
	int ret = 0;

	if (__builtin_expect(world->faults != NULL, false))
		ret = vrb_local_fault_send(qp->local, qp, wr, now);
	if (ret)
		return ret;
	if (hca_qp_send_room(qp->hca, qp->ended) > 0)
		return post_one(world, qp->hca, wr, now);
	ret = hca_qp_check_send(qp->hca, wr, 1);
	return ret ? ret : -ENOMEM;
}

static int local_post_send(void *self, uint64_t handle, uint32_t listed,
			   const struct hca_send_wr *wr, uint32_t count, uint32_t *ret_done)
{
	struct vrb_local *local = self;
	struct vrb_object *qp;
	uint32_t done = 0;
	int ret;
	ps_t now;

	now = vrb_local_enter(local, VRB_CALL_POST_SEND, listed);
	qp = vrb_local_find(local, handle, VRB_QP);
	ret = qp ? 0 : -EINVAL;
	for (; ret == 0 && done < count; done += ret == 0)
		ret = post_if_room(local->world, qp, &wr[done], now);
	vrb_local_leave(local, true);
	if (__builtin_expect(local->dies, false))
		vrb_local_die(local);
	*ret_done = done;
	return ret;
}

static int local_post_batch(void *self, uint64_t handle, const struct hca_send_wr *wr,
			    uint32_t count)
{
	struct vrb_local *local = self;
	const ps_t now = vrb_local_enter(local, VRB_CALL_POST_SEND, count);
	struct vrb_object *qp = vrb_local_find(local, handle, VRB_QP);
	uint32_t room;
	int ret = -EINVAL;

	if (qp) {
		hca_advance(local->world->hca, now);
		room = hca_qp_send_room(qp->hca, qp->ended);
		ret = hca_qp_check_send(qp->hca, wr, count < room ? count : room);
		ret = ret || count <= room ? ret : -ENOMEM;
	}
	for (uint32_t i = 0; local->world->faults && ret == 0 && i < count; i++)
		ret = vrb_local_fault_send(local, qp, &wr[i], now);
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		CHECK(post_one(local->world, qp->hca, &wr[i], now) == 0);
	vrb_local_leave(local, true);
	if (__builtin_expect(local->dies, false))
		vrb_local_die(local);
	return ret;
}

static int local_post_recv(void *self, uint64_t handle, uint32_t listed,
			   const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done)
{
	struct vrb_local *local = self;
	struct vrb_object *qp;
	uint32_t done = 0;
	int ret;
	ps_t now;

	now = vrb_local_enter(local, VRB_CALL_POST_RECV, listed);
	qp = vrb_local_find(local, handle, VRB_QP);
	ret = qp ? 0 : -EINVAL;
	for (; ret == 0 && done < count; done += ret == 0) {
		if (__builtin_expect(local->world->faults != NULL, false))
			ret = vrb_local_fault_recv(local, qp);
		if (ret == 0)
			ret = hca_qp_post_recv(local->world->hca, qp->hca, &wr[done], now);
	}
	vrb_local_leave(local, false);
	*ret_done = done;
	return ret;
}

const struct vrb_backend vrb_local = {
	.name = "local",
	.attach = local_attach,
	.detach = local_detach,
	.open = local_open,
	.close = local_close,
	.query = local_query,
	.query_clock = local_query_clock,
	.query_gid = local_query_gid,
	.create_pd = vrb_local_create_pd,
	.destroy_pd = vrb_local_destroy_pd,
	.create_mr = vrb_local_create_mr,
	.change_mr = vrb_local_change_mr,
	.destroy_mr = vrb_local_destroy_mr,
	.create_mw = vrb_local_create_mw,
	.destroy_mw = vrb_local_destroy_mw,
	.advise_mr = vrb_local_advise_mr,
	.create_dm = vrb_local_create_dm,
	.destroy_dm = vrb_local_destroy_dm,
	.write_dm = vrb_local_write_dm,
	.read_dm = vrb_local_read_dm,
	.resolve_ah = local_resolve_ah,
	.create_channel = vrb_local_create_channel,
	.destroy_channel = vrb_local_destroy_channel,
	.wait_channel = vrb_local_wait_channel,
	.charge_event = vrb_local_charge_event,
	.refill = vrb_local_refill,
	.relax = vrb_local_relax,
	.create_cq = vrb_local_create_cq,
	.destroy_cq = vrb_local_destroy_cq,
	.poll_cq = vrb_local_poll_cq,
	.poll_stamped = vrb_local_poll_stamped,
	.arm_cq = vrb_local_arm_cq,
	.resize_cq = vrb_local_resize_cq,
	.moderate_cq = vrb_local_moderate_cq,
	.open_xrcd = vrb_local_open_xrcd,
	.close_xrcd = vrb_local_close_xrcd,
	.create_srq = vrb_local_create_srq,
	.destroy_srq = vrb_local_destroy_srq,
	.modify_srq = vrb_local_modify_srq,
	.query_srq = vrb_local_query_srq,
	.post_srq_recv = vrb_local_post_srq_recv,
	.create_qp = local_create_qp,
	.open_qp = vrb_local_open_qp,
	.destroy_qp = local_destroy_qp,
	.set_mcast = vrb_local_set_mcast,
	.modify_qp = local_modify_qp,
	.query_qp = local_query_qp,
	.post_send = local_post_send,
	.post_batch = local_post_batch,
	.post_recv = local_post_recv,
};

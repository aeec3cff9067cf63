/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/local.h"

#include "transport/verbs/convert.h"
#include "util/check.h"
#include <errno.h>
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
				      .inline_max = hca_device_profile(world->hca)->inline_max};
	memcpy(ret_info->name, world->device_name,
	       length < sizeof(ret_info->name) ? length : sizeof(ret_info->name) - 1);
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

/* Whom @object tells; 0: nobody. */
static int set_channels(struct vrb_object *object, uint64_t channel, uint64_t async)
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

static ps_t verbs_local_enter(struct vrb_local *local, enum vrb_call call, uint64_t amount)
{
	return local->world->ops->enter(local->world, call, amount);
}

static void verbs_local_leave(struct vrb_local *local, bool posted)
{
	local->world->ops->leave(local->world, posted);
}

static int local_query(void *self, struct vrb_limits *ret_limits)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	const struct hca_profile *profile;
	uint8_t gid[16];
	uint32_t gid_count = 0;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	profile = hca_device_profile(world->hca);
	while (gid_count < 256 && world->ops->gid(world, gid_count, gid) == 0)
		gid_count++;
	*ret_limits = (struct vrb_limits){
		.line_rate_bps = profile->line_rate_bps,
		.mtu_max = profile->mtu_max,
		.gid_count = gid_count,
		.qp_max = profile->qp_max,
		.cq_max = profile->cq_max,
		.mr_max = profile->mr_max,
		.pd_max = profile->pd_max,
		.wr_max = profile->wr_max,
		.sge_max = profile->sge_max,
		.cqe_max = profile->cqe_max,
		.inline_max = profile->inline_max,
		.rd_atomic_max = profile->rd_atomic_max,
		.qkey_violations = (uint32_t)hca_device_counters(world->hca)->qkey_violations};
	verbs_local_leave(local, false);
	return 0;
}

static int local_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	struct vrb_local *local = self;
	int ret;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = local->world->ops->gid(local->world, index, ret_gid);
	verbs_local_leave(local, false);
	return ret;
}

static int local_create_pd(void *self, uint64_t *ret_pd)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	struct hca_pd *pd;
	int ret;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = vrb_local_add(local, VRB_PD, &object);
	if (ret == 0) {
		ret = hca_pd_create(local->world->hca, &pd);
		if (ret < 0)
			vrb_local_remove(object);
	}
	if (ret == 0) {
		object->hca = pd;
		*ret_pd = object->handle;
	}
	verbs_local_leave(local, false);
	return ret;
}

static int local_destroy_pd(void *self, uint64_t pd)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, pd, VRB_PD);
	if (object)
		ret = hca_pd_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	verbs_local_leave(local, false);
	return ret;
}

static int verbs_local_create_mr(struct vrb_local *local, struct vrb_object *pd,
				 const struct vrb_mr_init *init, struct vrb_object **ret_object)
{
	const struct hca_mr_params params = {.ops = local->world->memory,
					     .iova = init->iova,
					     .length = init->length,
					     .access = init->access,
					     .address = init->addr};
	struct vrb_object *object;
	struct hca_mr *mr;
	int ret = vrb_local_add(local, VRB_MR, &object);

	if (ret < 0)
		return ret;
	ret = hca_mr_create(local->world->hca, pd->hca, &params, &mr);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = mr;
	*ret_object = object;
	return 0;
}

static int local_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			   struct vrb_mr_info *ret_info)
{
	struct vrb_local *local = self;
	struct vrb_object *in, *object;
	int ret = -EINVAL;

	verbs_local_enter(local, VRB_CALL_REG_MR, init->length);
	in = vrb_local_find(local, pd, VRB_PD);
	if (in)
		ret = verbs_local_create_mr(local, in, init, &object);
	if (ret == 0) {
		const struct hca_mr *mr = object->hca;

		*ret_info = (struct vrb_mr_info){object->handle, mr->lkey, mr->rkey, mr->number};
	}
	verbs_local_leave(local, false);
	return ret;
}

static int local_destroy_mr(void *self, uint64_t mr)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, mr, VRB_MR);
	if (object)
		ret = hca_mr_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	verbs_local_leave(local, false);
	return ret;
}

static int verbs_local_create_cq(struct vrb_local *local, const struct vrb_cq_init *init,
				 struct vrb_object **ret_object)
{
	struct vrb_object *object;
	struct hca_cq *cq;
	int ret = vrb_local_add(local, VRB_CQ, &object);

	if (ret < 0)
		return ret;
	ret = set_channels(object, init->channel, init->async);
	if (ret == 0)
		ret = hca_cq_create(local->world->hca, init->depth, object, &cq);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = cq;
	*ret_object = object;
	return 0;
}

static int local_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			   uint32_t *ret_depth)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = verbs_local_create_cq(local, init, &object);
	if (ret == 0) {
		*ret_cq = object->handle;
		*ret_depth = hca_cq_depth(object->hca);
	}
	verbs_local_leave(local, false);
	return ret;
}

static int local_destroy_cq(void *self, uint64_t cq)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, cq, VRB_CQ);
	if (object)
		ret = hca_cq_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	verbs_local_leave(local, false);
	return ret;
}

/* Number of completions taken from @cq. */
static uint32_t verbs_local_take(struct hca_cq *cq, uint32_t count, struct ibv_wc *wc)
{
	struct hca_wc some[16];
	uint32_t done = 0, want, got;

	do {
		want = count - done < 16 ? count - done : 16;
		got = hca_cq_poll(cq, want, some);
		for (uint32_t i = 0; i < got; i++)
			vrb_wc(&wc[done + i], &some[i]);
		done += got;
	} while (got == want && done < count);
	return done;
}

static int local_poll_cq(void *self, uint64_t handle, uint32_t count, struct ibv_wc *ret_wc)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;
	int done = -EINVAL;

	verbs_local_enter(local, VRB_CALL_POLL_CQ, count);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq) {
		done = (int)verbs_local_take(cq->hca, count, ret_wc);
		if (done == 0) {
			local->world->ops->poll_empty(local->world, cq->hca);
			done = (int)verbs_local_take(cq->hca, count, ret_wc);
		}
	}
	verbs_local_leave(local, false);
	return done;
}

static int local_arm_cq(void *self, uint64_t handle, bool solicited_only)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;

	verbs_local_enter(local, VRB_CALL_REQ_NOTIFY, 0);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq)
		hca_cq_arm(cq->hca, solicited_only ? HCA_CQ_ARM_SOLICITED : HCA_CQ_ARM_ANY);
	verbs_local_leave(local, false);
	return cq ? 0 : -EINVAL;
}

static int verbs_local_create_qp(struct vrb_local *local, const struct vrb_qp_init *init,
				 struct vrb_object **ret_object)
{
	struct vrb_object *pd = vrb_local_find(local, init->pd, VRB_PD);
	struct vrb_object *send_cq = vrb_local_find(local, init->send_cq, VRB_CQ);
	struct vrb_object *recv_cq = vrb_local_find(local, init->recv_cq, VRB_CQ);
	struct hca_qp_init hca = {
		.type = init->type, .cap = init->cap, .signal_all = init->signal_all};
	struct vrb_object *object;
	struct hca_qp *qp;
	int ret;

	if (!pd || !send_cq || !recv_cq)
		return -EINVAL;
	ret = vrb_local_add(local, VRB_QP, &object);
	if (ret < 0)
		return ret;
	hca.pd = pd->hca;
	hca.send_cq = send_cq->hca;
	hca.recv_cq = recv_cq->hca;
	hca.owner = object;
	hca.identity = local->world->ops->qp_identity(local->world);
	ret = set_channels(object, 0, init->async);
	if (ret == 0)
		ret = hca_qp_create(local->world->hca, &hca, &qp);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	object->hca = qp;
	*ret_object = object;
	return 0;
}

static int local_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			   uint32_t *ret_qpn)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = verbs_local_create_qp(local, init, &object);
	if (ret == 0) {
		*ret_qp = object->handle;
		*ret_qpn = hca_qp_qpn(object->hca);
	}
	verbs_local_leave(local, false);
	return ret;
}

static int local_destroy_qp(void *self, uint64_t qp)
{
	struct vrb_local *local = self;
	struct vrb_object *object;

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, qp, VRB_QP);
	if (object) {
		hca_qp_destroy(local->world->hca, object->hca);
		vrb_local_remove(object);
	}
	verbs_local_leave(local, true);
	return object ? 0 : -EINVAL;
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

	verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = local->world->ops->resolve(local->world, &path, av->sgid_index, 0, 0);
	verbs_local_leave(local, false);
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
	if (init.type == HCA_QPT_UD)
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
	return ret ? ret : hca_qp_modify(world->hca, qp, attr, mask, now);
}

static int local_modify_qp(void *self, uint64_t handle, const struct hca_qp_attr *attr,
			   uint32_t mask, const struct vrb_av *av, enum hca_qp_state cur_state)
{
	struct vrb_local *local = self;
	struct hca_qp_attr copy = *attr;
	struct vrb_object *qp;
	int ret = -EINVAL;
	ps_t now;

	now = verbs_local_enter(local, VRB_CALL_CONTROL, 0);
	qp = vrb_local_find(local, handle, VRB_QP);
	if (qp)
		ret = modify(local->world, qp->hca, &copy, mask, av, cur_state, now);
	verbs_local_leave(local, true);
	return ret;
}

static int local_query_qp(void *self, uint64_t handle, struct hca_qp_attr *ret_attr,
			  struct hca_qp_cap *ret_cap)
{
	struct vrb_local *local = self;
	struct hca_qp_init init;
	struct vrb_object *qp;

	hca_advance(local->world->hca, verbs_local_enter(local, VRB_CALL_CONTROL, 0));
	qp = vrb_local_find(local, handle, VRB_QP);
	if (qp) {
		hca_qp_query(qp->hca, ret_attr, &init);
		*ret_cap = init.cap;
	}
	verbs_local_leave(local, false);
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

static int local_post_send(void *self, uint64_t handle, uint32_t listed,
			   const struct hca_send_wr *wr, uint32_t count, uint32_t *ret_done)
{
	struct vrb_local *local = self;
	struct vrb_object *qp;
	uint32_t done = 0;
	int ret;
	ps_t now;

	now = verbs_local_enter(local, VRB_CALL_POST_SEND, listed);
	qp = vrb_local_find(local, handle, VRB_QP);
	ret = qp ? 0 : -EINVAL;
	for (; ret == 0 && done < count; done += ret == 0)
		ret = post_one(local->world, qp->hca, &wr[done], now);
	verbs_local_leave(local, true);
	*ret_done = done;
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

	now = verbs_local_enter(local, VRB_CALL_POST_RECV, listed);
	qp = vrb_local_find(local, handle, VRB_QP);
	ret = qp ? 0 : -EINVAL;
	for (; ret == 0 && done < count; done += ret == 0)
		ret = hca_qp_post_recv(local->world->hca, qp->hca, &wr[done], now);
	verbs_local_leave(local, false);
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
	.query_gid = local_query_gid,
	.create_pd = local_create_pd,
	.destroy_pd = local_destroy_pd,
	.create_mr = local_create_mr,
	.destroy_mr = local_destroy_mr,
	.resolve_ah = local_resolve_ah,
	.create_channel = vrb_local_create_channel,
	.destroy_channel = vrb_local_destroy_channel,
	.wait_channel = vrb_local_wait_channel,
	.charge_event = vrb_local_charge_event,
	.refill = vrb_local_refill,
	.relax = vrb_local_relax,
	.create_cq = local_create_cq,
	.destroy_cq = local_destroy_cq,
	.poll_cq = local_poll_cq,
	.arm_cq = local_arm_cq,
	.create_qp = local_create_qp,
	.destroy_qp = local_destroy_qp,
	.modify_qp = local_modify_qp,
	.query_qp = local_query_qp,
	.post_send = local_post_send,
	.post_recv = local_post_recv,
};

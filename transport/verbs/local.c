/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/backend.h"

#include "transport/verbs/convert.h"
#include "transport/verbs/world.h"
#include <errno.h>
#include <string.h>

/* Every operation: enter, one call of the adapter, leave. */

static ps_t enter(struct vrb_world *world, enum vrb_call call, uint64_t amount)
{
	return world->ops->enter(world, call, amount);
}

static void leave(struct vrb_world *world, bool posted)
{
	world->ops->leave(world, posted);
}

static struct vrb_world *begin_control(void *self)
{
	enter(self, VRB_CALL_CONTROL, 0);
	return self;
}

static int end_control(struct vrb_world *world, int ret)
{
	leave(world, false);
	return ret;
}

static uint64_t to_handle(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static void *from_handle(uint64_t handle)
{
	return (void *)(uintptr_t)handle;
}

static int local_query(void *self, struct vrb_limits *ret_limits)
{
	struct vrb_world *world = self;
	const struct hca_profile *profile;
	uint8_t gid[16];
	uint32_t gid_count = 0;

	enter(world, VRB_CALL_CONTROL, 0);
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
	leave(world, false);
	return 0;
}

static int local_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	struct vrb_world *world = begin_control(self);

	return end_control(world, world->ops->gid(world, index, ret_gid));
}

static int local_create_pd(void *self, uint64_t *ret_pd)
{
	struct vrb_world *world = self;
	struct hca_pd *pd;
	int ret;

	enter(world, VRB_CALL_CONTROL, 0);
	ret = hca_pd_create(world->hca, &pd);
	leave(world, false);
	if (ret == 0)
		*ret_pd = to_handle(pd);
	return ret;
}

static int local_destroy_pd(void *self, uint64_t pd)
{
	struct vrb_world *world = begin_control(self);

	return end_control(world, hca_pd_destroy(world->hca, from_handle(pd)));
}

static int local_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			   struct vrb_mr_info *ret_info)
{
	struct vrb_world *world = self;
	const struct hca_mr_params params = {.ops = world->memory,
					     .iova = init->iova,
					     .length = init->length,
					     .access = init->access,
					     .host = from_handle(init->addr)};
	struct hca_mr *mr;
	int ret;

	enter(world, VRB_CALL_REG_MR, init->length);
	ret = hca_mr_create(world->hca, from_handle(pd), &params, &mr);
	if (ret == 0)
		*ret_info = (struct vrb_mr_info){to_handle(mr), mr->lkey, mr->rkey, mr->number};
	leave(world, false);
	return ret;
}

static int local_destroy_mr(void *self, uint64_t mr)
{
	struct vrb_world *world = begin_control(self);

	return end_control(world, hca_mr_destroy(world->hca, from_handle(mr)));
}

static int local_create_cq(void *self, uint32_t depth, void *owner, uint64_t *ret_cq,
			   uint32_t *ret_depth)
{
	struct vrb_world *world = self;
	struct hca_cq *cq;
	int ret;

	enter(world, VRB_CALL_CONTROL, 0);
	ret = hca_cq_create(world->hca, depth, owner, &cq);
	if (ret == 0) {
		*ret_cq = to_handle(cq);
		*ret_depth = hca_cq_depth(cq);
	}
	leave(world, false);
	return ret;
}

static int local_destroy_cq(void *self, uint64_t cq)
{
	struct vrb_world *world = begin_control(self);

	return end_control(world, hca_cq_destroy(world->hca, from_handle(cq)));
}

/* Number of completions taken from @cq. */
static uint32_t take(struct hca_cq *cq, uint32_t count, struct ibv_wc *wc)
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
	struct vrb_world *world = self;
	struct hca_cq *cq = from_handle(handle);
	uint32_t done;

	enter(world, VRB_CALL_POLL_CQ, count);
	done = take(cq, count, ret_wc);
	if (done == 0) {
		world->ops->poll_empty(world, cq);
		done = take(cq, count, ret_wc);
	}
	leave(world, false);
	return (int)done;
}

static int local_arm_cq(void *self, uint64_t cq, bool solicited_only)
{
	struct vrb_world *world = self;

	enter(world, VRB_CALL_REQ_NOTIFY, 0);
	hca_cq_arm(from_handle(cq), solicited_only ? HCA_CQ_ARM_SOLICITED : HCA_CQ_ARM_ANY);
	leave(world, false);
	return 0;
}

static int local_create_channel(void *self, struct vrb_channel *channel)
{
	struct vrb_world *world = begin_control(self);

	*channel = (struct vrb_channel){.fd = -1, .tail = &channel->head};
	return end_control(world, world->ops->channel_init(world, channel));
}

static void local_destroy_channel(void *self, struct vrb_channel *channel)
{
	struct vrb_world *world = self;

	enter(world, VRB_CALL_CONTROL, 0);
	world->ops->channel_fini(world, channel);
	leave(world, false);
}

static int local_wait_channel(void *self, struct vrb_channel *channel)
{
	struct vrb_world *world = self;

	return world->ops->channel_wait(world, channel);
}

static void local_begin(void *self)
{
	enter(self, VRB_CALL_CHANNEL, 0);
}

static void local_end(void *self)
{
	leave(self, false);
}

static void local_relax(void *self, uint64_t cq)
{
	struct vrb_world *world = self;

	enter(world, VRB_CALL_CHANNEL, 0);
	world->ops->poll_empty(world, from_handle(cq));
	leave(world, false);
}

static int local_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			   uint32_t *ret_qpn)
{
	struct vrb_world *world = self;
	struct hca_qp_init hca = {.type = init->type,
				  .pd = from_handle(init->pd),
				  .send_cq = from_handle(init->send_cq),
				  .recv_cq = from_handle(init->recv_cq),
				  .cap = init->cap,
				  .signal_all = init->signal_all,
				  .owner = init->owner};
	struct hca_qp *qp;
	int ret;

	enter(world, VRB_CALL_CONTROL, 0);
	hca.identity = world->ops->qp_identity(world);
	ret = hca_qp_create(world->hca, &hca, &qp);
	if (ret == 0) {
		*ret_qp = to_handle(qp);
		*ret_qpn = hca_qp_qpn(qp);
	}
	leave(world, false);
	return ret;
}

static int local_destroy_qp(void *self, uint64_t qp)
{
	struct vrb_world *world = self;

	enter(world, VRB_CALL_CONTROL, 0);
	hca_qp_destroy(world->hca, from_handle(qp));
	leave(world, true);
	return 0;
}

/* Without a service level the DSCP decides, by its class selector: what switches that trust DSCP
 * do by default. */
static struct wire_path path_of(const struct vrb_av *av)
{
	const uint8_t dscp = av->traffic_class >> 2;
	struct wire_path path = {.dscp = dscp,
				 .ttl = av->hop_limit,
				 .flow_label = av->flow_label,
				 .priority = av->sl != 0 ? av->sl : dscp >> 3};

	memcpy(path.dst_ip, av->dgid, sizeof(path.dst_ip));
	return path;
}

static int local_resolve_ah(void *self, const struct vrb_av *av, struct wire_path *ret_path)
{
	struct vrb_world *world = begin_control(self);
	struct wire_path path = path_of(av);
	int ret = world->ops->resolve(world, &path, av->sgid_index, 0, 0);

	if (ret == 0)
		*ret_path = path;
	return end_control(world, ret);
}

static int resolve(struct vrb_world *world, struct hca_qp *qp, struct hca_qp_attr *attr,
		   uint32_t mask, const struct vrb_av *av)
{
	struct hca_qp_attr now;
	struct hca_qp_init init;

	hca_qp_query(qp, &now, &init);
	if (init.type == HCA_QPT_UD)
		return -EINVAL;
	attr->path = path_of(av);
	return world->ops->resolve(world, &attr->path, av->sgid_index, hca_qp_qpn(qp),
				   mask & HCA_QP_DEST_QPN ? attr->dest_qpn : now.dest_qpn);
}

static int local_modify_qp(void *self, uint64_t handle, struct hca_qp_attr *attr, uint32_t mask,
			   const struct vrb_av *av, enum hca_qp_state cur_state)
{
	struct vrb_world *world = self;
	struct hca_qp *qp = from_handle(handle);
	struct hca_qp_attr is;
	struct hca_qp_init init;
	int ret = 0;
	ps_t now;

	now = enter(world, VRB_CALL_CONTROL, 0);
	if (mask & HCA_QP_AV) {
		ret = resolve(world, qp, attr, mask, av);
		now = world->ops->now(world);
	}
	hca_advance(world->hca, now);
	hca_qp_query(qp, &is, &init);
	if (ret == 0 && mask & HCA_QP_CUR_STATE && cur_state != is.state)
		ret = -EINVAL;
	if (ret == 0)
		ret = hca_qp_modify(world->hca, qp, attr, mask, now);
	leave(world, true);
	return ret;
}

static int local_query_qp(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			  struct hca_qp_init *ret_init)
{
	struct vrb_world *world = self;

	hca_advance(world->hca, enter(world, VRB_CALL_CONTROL, 0));
	hca_qp_query(from_handle(qp), ret_attr, ret_init);
	leave(world, false);
	return 0;
}

/* No queue takes more work requests than this: a list that goes in a circle ends, too. */
static uint64_t queue_max(const struct vrb_world *world)
{
	return hca_device_profile(world->hca)->wr_max;
}

/* A datagram's way is that of its handle, but for what depends on the queue pairs. */
static int post_one(struct vrb_world *world, struct hca_qp *qp, const struct ibv_send_wr *wr,
		    ps_t now)
{
	const bool is_datagram = hca_qp_type_of(qp) == HCA_QPT_UD;
	struct wire_path path;
	struct hca_send_wr hca;
	int ret = vrb_send_wr(&hca, wr, is_datagram);

	if (ret == 0 && hca.path) {
		path = *hca.path;
		hca.path = &path;
		world->ops->reuse(world, &path, hca_qp_qpn(qp), hca.dest_qpn);
	}
	return ret ? ret : hca_qp_post_send(world->hca, qp, &hca, now);
}

static int local_post_send(void *self, uint64_t qp, struct ibv_send_wr *wr,
			   struct ibv_send_wr **ret_bad)
{
	struct vrb_world *world = self;
	uint64_t count = 0;
	int ret = 0;
	ps_t now;

	for (const struct ibv_send_wr *w = wr; w && count <= queue_max(world); w = w->next)
		count++;
	now = enter(world, VRB_CALL_POST_SEND, count);
	for (; wr; wr = wr->next) {
		ret = post_one(world, from_handle(qp), wr, now);
		if (ret != 0)
			break;
	}
	leave(world, true);
	if (ret != 0)
		*ret_bad = wr;
	return ret;
}

static int local_post_recv(void *self, uint64_t qp, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **ret_bad)
{
	struct vrb_world *world = self;
	struct hca_recv_wr hca;
	uint64_t count = 0;
	int ret = 0;
	ps_t now;

	for (const struct ibv_recv_wr *w = wr; w && count <= queue_max(world); w = w->next)
		count++;
	now = enter(world, VRB_CALL_POST_RECV, count);
	for (; wr; wr = wr->next) {
		ret = vrb_recv_wr(&hca, wr);
		if (ret == 0)
			ret = hca_qp_post_recv(world->hca, from_handle(qp), &hca, now);
		if (ret != 0)
			break;
	}
	leave(world, false);
	if (ret != 0)
		*ret_bad = wr;
	return ret;
}

const struct vrb_backend vrb_local = {
	.name = "local",
	.query = local_query,
	.query_gid = local_query_gid,
	.create_pd = local_create_pd,
	.destroy_pd = local_destroy_pd,
	.create_mr = local_create_mr,
	.destroy_mr = local_destroy_mr,
	.resolve_ah = local_resolve_ah,
	.create_cq = local_create_cq,
	.destroy_cq = local_destroy_cq,
	.poll_cq = local_poll_cq,
	.arm_cq = local_arm_cq,
	.create_channel = local_create_channel,
	.destroy_channel = local_destroy_channel,
	.wait_channel = local_wait_channel,
	.begin = local_begin,
	.end = local_end,
	.relax = local_relax,
	.create_qp = local_create_qp,
	.destroy_qp = local_destroy_qp,
	.modify_qp = local_modify_qp,
	.query_qp = local_query_qp,
	.post_send = local_post_send,
	.post_recv = local_post_recv,
};

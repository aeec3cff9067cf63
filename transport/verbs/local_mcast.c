/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs in multicast groups: the world hears a group while one of them is in it. */
#include "transport/verbs/local.h"

#include <errno.h>

static int join_group(struct vrb_world *world, struct hca_qp *qp, const uint8_t ip[16])
{
	const bool is_first = hca_mcast_count(world->hca, ip) == 0;
	int ret = is_first ? world->ops->hear_mcast(world, ip, true) : 0;

	if (ret < 0)
		return ret;
	ret = hca_mcast_attach(world->hca, qp, ip);
	if (ret < 0 && is_first)
		(void)world->ops->hear_mcast(world, ip, false);
	return ret;
}

static int leave_group(struct vrb_world *world, struct hca_qp *qp, const uint8_t ip[16])
{
	int ret = hca_mcast_detach(world->hca, qp, ip);

	if (ret == 0 && hca_mcast_count(world->hca, ip) == 0)
		(void)world->ops->hear_mcast(world, ip, false);
	return ret;
}

static int set_group(struct vrb_world *world, struct hca_qp *qp, const uint8_t gid[16], bool leaves)
{
	uint8_t ip[16];

	if (!wire_ip_is_multicast(gid) || hca_qp_type_of(qp) != HCA_QPT_UD)
		return -EINVAL;
	world->ops->mcast_ip(world, gid, ip);
	return leaves ? leave_group(world, qp, ip) : join_group(world, qp, ip);
}

int vrb_local_set_mcast(void *self, uint64_t handle, const uint8_t gid[16], bool leaves)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *qp;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	qp = vrb_local_find(local, handle, VRB_QP);
	if (qp && world->mcast_max == 0)
		ret = -EOPNOTSUPP;
	else if (qp)
		ret = set_group(world, qp->hca, gid, leaves);
	vrb_local_leave(local, false);
	return ret;
}

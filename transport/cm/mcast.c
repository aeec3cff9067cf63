/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups that ids have joined. On Ethernet nobody is asked: the group's GID is its
 * address (RoCEv2: ::ffff:a.b.c.d), and the adapter hears it once a queue pair is attached to it,
 * which librdmacm sees to when it reads of the join. */
#include "transport/cm/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* As the kernel has it: cma_make_mc_event(), cma_iboe_join_multicast(). */
enum { MCAST_QPN = 0xffffff };

static struct cm_event *join_event(struct cm_id *id, struct cm_mcast *mcast)
{
	struct cm_event *event = cm_event_new(id, CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ucm_ud_param *ud;

	if (!event)
		return NULL;
	event->mcast = mcast;
	event->said.uid = mcast->uid;
	event->said.id = mcast->handle;
	ud = &event->said.param.ud;
	ud->qp_num = MCAST_QPN;
	ud->qkey = id->qkey ? id->qkey : CM_UDP_QKEY;
	cm_ah_attr(id, &ud->ah_attr);
	memcpy(ud->ah_attr.grh.dgid, mcast->gid, 16);
	return event;
}

int cm_join(struct cm_id *id, const struct cm_addr *addr, uint64_t uid, uint32_t *ret_handle)
{
	struct cm *cm = id->cm;
	struct cm_mcast *mcast;
	struct cm_event *event;

	if (id->qp_type != CM_QPT_UD || (id->state != CM_BOUND && id->state != CM_ADDR_RESOLVED) ||
	    !wire_ip_is_multicast(addr->ip))
		return -EINVAL;
	if (id->mcast_count == CM_MCAST_MAX)
		return -ENOMEM;
	mcast = util_zalloc(sizeof(*mcast));
	if (!mcast)
		return -ENOMEM;
	*mcast = (struct cm_mcast){.next = id->mcasts, .uid = uid, .handle = ++cm->mcast_drawn};
	memcpy(mcast->gid, addr->ip, 16);
	event = join_event(id, mcast);
	if (!event) {
		util_free(mcast);
		return -ENOMEM;
	}
	id->mcasts = mcast;
	id->mcast_count++;
	cm_event_put(event);
	*ret_handle = mcast->handle;
	return 0;
}

struct cm_id *cm_id_of_mcast(const struct cm *cm, uint32_t handle, struct cm_mcast **ret_mcast)
{
	for (uint32_t i = 0; i < cm->ids_size; i++) {
		struct cm_mcast *mcast = cm->ids[i] ? cm->ids[i]->mcasts : NULL;

		while (mcast && mcast->handle != handle)
			mcast = mcast->next;
		if (mcast) {
			*ret_mcast = mcast;
			return cm->ids[i];
		}
	}
	return NULL;
}

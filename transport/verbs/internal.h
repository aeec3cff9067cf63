/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_INTERNAL_H
#define VERBS_INTERNAL_H

/* The objects that programs hold pointers to, each with the backend's handle next to it. */
#include "transport/verbs/backend.h"
#include "transport/verbs/convert.h"
#include "transport/verbs/world.h"
#include "util/units.h"

struct vrb_device {
	struct ibv_device ibv;
	/* Vendor libraries compare a member of their own right behind the public struct with their
	 * own address; here they find zeros. */
	uint8_t foreign[512];
	const struct vrb_backend *backend;
	void *self; /* of the backend */
	struct vrb_world *world;
	struct vrb_context *contexts;
};
_Static_assert(offsetof(struct vrb_device, ibv) == 0 &&
		       offsetof(struct vrb_device, foreign) == sizeof(struct ibv_device),
	       "foreign is what follows the public struct");

/* What waits in a channel: at most one node an object, so that an event needs no memory. */
struct vrb_cq_event {
	struct vrb_cq_event *next;
	bool queued;
	uint32_t unread;   /* completion events */
	uint32_t types;	   /* asynchronous events: a bit for each enum ibv_event_type */
	struct vrb_cq *cq; /* whose event it is; neither: the port's */
	struct vrb_qp *qp;
};

struct vrb_context {
	struct vrb_context *next;
	struct vrb_device *device;
	uint32_t ref_count; /* one for the program, one for each object */
	struct vrb_channel async;
	struct vrb_cq_event port_event;
	struct verbs_context verbs;
};

struct vrb_pd {
	struct ibv_pd ibv;
	uint64_t handle;
	uint32_t ah_count;
};

struct vrb_mr {
	struct ibv_mr ibv;
	uint64_t handle;
};

struct vrb_comp_channel {
	struct ibv_comp_channel ibv;
	struct vrb_channel channel;
};

struct vrb_cq {
	struct ibv_cq ibv;
	uint64_t handle;
	uint32_t events_got; /* handed to the program; ibv.comp_events_completed: acknowledged */
	struct vrb_cq_event event;
	uint32_t async_got; /* ibv.async_events_completed: acknowledged */
	struct vrb_cq_event async_event;
};

struct vrb_qp {
	struct ibv_qp ibv;
	uint64_t handle;
	uint32_t events_got; /* ibv.events_completed: acknowledged */
	struct vrb_cq_event event;
	struct ibv_ah_attr ah_attr;
	int sq_sig_all;
};

struct vrb_ah {
	struct ibv_ah ibv;
	struct wire_path path;
};

#define VRB_TO(type, member, ptr) container_of(ptr, struct type, member)

static inline struct vrb_context *vrb_context(struct ibv_context *context)
{
	return VRB_TO(vrb_context, verbs.context, context);
}

static inline const struct vrb_backend *vrb_backend(struct ibv_context *context)
{
	return vrb_context(context)->device->backend;
}

static inline void *vrb_self(struct ibv_context *context)
{
	return vrb_context(context)->device->self;
}

/* A context outlives ibv_close_device() until its last object is gone. */
void vrb_context_get(struct ibv_context *context);
void vrb_context_put(struct ibv_context *context);

/* channel.c; inside begin() .. end(). */
void vrb_channel_append(struct vrb_channel *channel, struct vrb_cq_event *event);
struct vrb_cq_event *vrb_channel_pop(struct vrb_channel *channel); /* there is one */
void vrb_channel_remove(struct vrb_channel *channel, struct vrb_cq_event *event);
/* Until *acked == *got; the one who acknowledges is another thread. */
void vrb_wait_acks(struct ibv_context *context, uint64_t cq, const uint32_t *acked,
		   const uint32_t *got);

/* Whether the process may read [@addr, @addr + @length), which does not wrap, and where it @writes,
 * write it: 0 or -EFAULT. Touches none of it. Where the system does not tell, all is well. */
int vrb_mapped_check(uint64_t addr, uint64_t length, bool writes);

/* The data path; reached through ibv_context.ops. */
int vrb_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int vrb_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* port.c; reached through verbs_context and ibv_context.ops. */
int vrb_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		   size_t attr_len);
int vrb_query_port_compat(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *attr);
int vrb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);

#endif

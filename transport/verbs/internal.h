/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_INTERNAL_H
#define VERBS_INTERNAL_H

/* The front: objects that programs hold pointers to, each with the backend's handle next to it, and
 * the events that programs have not read yet. What an adapter is, and in which world it lives, is
 * unknown here (tests/tidy/seam.sh); provider.c is told. */
#include "transport/verbs/backend.h"
#include "transport/verbs/convert.h"
#include "transport/verbs/table.h"
#include "util/units.h"
#include <pthread.h>

struct vrb_device {
	struct vrb_shown *shown;
	const struct vrb_backend *backend;
	void *self; /* of the backend */
	struct vrb_info info;
	struct vrb_ring *ring;
	/* Of everything below, and of the queues of events and what is counted about them. Never
	 * held in a call of the backend but refill(). */
	pthread_mutex_t lock;
	struct vrb_device *next;  /* provider.c's */
	struct vrb_world *world;  /* provider.c's */
	struct vrb_table objects; /* CQs, QPs, and contexts by their channel */
	/* A fork()'s copy. Descriptors are the parent's, too: what is read from them here is lost
	 * there. Nobody acknowledges events of threads that have stayed with the parent. */
	bool is_child;
};

/* What the program gets of it, in the program's memory, which may be gone before the device is. */
struct vrb_shown {
	struct ibv_device ibv;
	/* Vendor libraries compare a member of their own right behind the public struct with their
	 * own address; here they find zeros. */
	uint8_t foreign[512];
	struct vrb_device *device;
};
_Static_assert(offsetof(struct vrb_shown, ibv) == 0 &&
		       offsetof(struct vrb_shown, foreign) == sizeof(struct ibv_device),
	       "foreign is what follows the public struct");

/* What waits in a queue: at most one node an object, so that an event needs no memory. */
struct vrb_unread {
	struct vrb_unread *next;
	bool queued;
	uint32_t count;	   /* completion events */
	uint32_t types;	   /* asynchronous events: a bit for each enum ibv_event_type */
	struct vrb_cq *cq; /* whose event it is; neither: the port's */
	struct vrb_qp *qp;
};

/* The events of one channel that the program has not read, in order. The descriptor is readable
 * while there is one, here or on its way. */
struct vrb_queue {
	uint64_t handle; /* of the channel */
	int fd;
	uint32_t seen; /* of the channel's events, for wait_channel() */
	struct vrb_unread *head, **tail;
};

struct vrb_context {
	struct vrb_device *device;
	uint32_t ref_count; /* one for the program, one for each object */
	struct vrb_queue async;
	struct vrb_unread port_event;
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
	struct vrb_queue queue;
};

struct vrb_cq {
	struct ibv_cq ibv;
	uint64_t handle;
	uint32_t events_got; /* handed to the program; ibv.comp_events_completed: acknowledged */
	struct vrb_unread event;
	uint32_t async_got; /* ibv.async_events_completed: acknowledged */
	struct vrb_unread async_event;
};

struct vrb_qp {
	struct ibv_qp ibv;
	uint64_t handle;
	uint32_t events_got; /* ibv.events_completed: acknowledged */
	struct vrb_unread event;
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

static inline struct vrb_device *vrb_device(struct ibv_context *context)
{
	return vrb_context(context)->device;
}

static inline const struct vrb_backend *vrb_backend(struct ibv_context *context)
{
	return vrb_context(context)->device->backend;
}

static inline void *vrb_self(struct ibv_context *context)
{
	return vrb_context(context)->device->self;
}

/* provider.c: as calloc() and free(), in memory that is the program's own. */
void *vrb_calloc(size_t count, size_t bytes);
void vrb_free(void *ptr);

/* A context outlives ibv_close_device() until its last object is gone. */
void vrb_context_get(struct ibv_context *context);
void vrb_context_put(struct ibv_context *context);

/* queue.c */
int vrb_queue_init(struct vrb_device *device, struct vrb_queue *queue, enum vrb_channel_use use);
void vrb_queue_fini(struct vrb_device *device, struct vrb_queue *queue);
/* Waits for an event as the descriptor says and takes it; with the lock held on success, for the
 * caller to give back. -EAGAIN, -EINTR, -EIO. */
int vrb_queue_get(struct vrb_device *device, struct vrb_queue *queue,
		  struct vrb_unread **ret_event);
/* Both with the lock held. Puts @event at the end, or does nothing where it waits there already. */
void vrb_queue_append(struct vrb_queue *queue, struct vrb_unread *event);
/* The program took the last event, or an object went: the descriptor is readable only if there is
 * something left. */
void vrb_queue_settle(struct vrb_device *device, struct vrb_queue *queue);
/* The object of @handle is gone: so is its @event (of @queue). */
void vrb_queue_forget(struct vrb_device *device, struct vrb_queue *queue, struct vrb_unread *event);

/* Takes what is in the ring to the objects' queues; with the lock held. */
void vrb_events_take(struct vrb_device *device);

/* For events to find @object. 0 or -ENOMEM. */
int vrb_note(struct vrb_device *device, uint64_t handle, void *object);
void vrb_drop(struct vrb_device *device, uint64_t handle);

/* Until *acked == *got; the one who acknowledges is another thread. At once in a fork()'s child. */
void vrb_wait_acks(struct ibv_context *context, uint64_t cq, const uint32_t *acked,
		   const uint32_t *got);

/* provider.c: the list of devices. */
struct vrb_device *vrb_device_create(const struct vrb_backend *backend, void *self); /* device.c */
void vrb_device_destroy(struct vrb_device *device);

/* Whether the process may read [@addr, @addr + @length), which does not wrap, and where it @writes,
 * write it: 0 or -EFAULT. Changes none of it; pages of a small one may be made. Where the system
 * does not tell, all is well. */
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

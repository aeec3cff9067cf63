/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_INTERNAL_H
#define VERBS_INTERNAL_H

/* The front: objects that programs hold pointers to, each with the backend's handle next to it, and
 * the events that programs have not read yet. What an adapter is, and in which world it lives, is
 * unknown here (tests/tidy/seam.sh); provider.c is told. */
#include "transport/verbs/backend.h"
#include "transport/verbs/convert.h"
#include "transport/verbs/table.h"
#include "transport/verbs/types.h"
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
	struct vrb_table objects; /* CQs, QPs, SRQs, and contexts by their channel */
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
	uint32_t count;		/* completion events */
	struct vrb_types types; /* asynchronous events */
	struct vrb_cq *cq;	/* whose event it is; none of them: the port's */
	struct vrb_qp *qp;
	struct vrb_srq *srq;
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
	uint64_t file;	    /* what it shares with contexts that are imported of it; 0: none */
	struct vrb_queue async;
	struct vrb_unread port_event;
	struct verbs_context verbs;
};

struct vrb_pd {
	struct ibv_pd ibv;
	uint64_t handle; /* of a parent domain: that of the domain it is made of */
	/* What is made in it; of one that is imported the program's own use, too, and it is freed
	 * with the last. */
	uint32_t use_count;
	bool is_imported;
	struct vrb_pd *of; /* a parent domain; else NULL */
	struct vrb_td *td; /* or NULL */
};

struct vrb_td {
	struct ibv_td ibv;
	uint32_t use_count;
};

struct vrb_mr {
	struct ibv_mr ibv;
	uint64_t handle;
	struct vrb_mr_init init; /* what it is made from */
	void *map;		 /* of a dma-buf: where it is mapped, and how long */
	size_t map_bytes;
};

struct vrb_dm {
	struct ibv_dm ibv;
	uint64_t handle;
};

struct vrb_comp_channel {
	struct ibv_comp_channel ibv;
	struct vrb_queue queue;
};

struct vrb_cq {
	union { /* @ex begins with all of @ibv */
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
	};
	/* Behind what this front's ibv_cq_ex has: calls that newer headers know are not there. */
	void *later[8];
	uint64_t handle;
	struct vrb_stamped taken;	    /* @ex: the completion at hand */
	bool is_polled, is_single_threaded; /* @ex: from start_poll() to end_poll() */
	struct vrb_pd *parent_domain;	    /* NULL: made without one */
	uint32_t events_got; /* handed to the program; ibv.comp_events_completed: acknowledged */
	struct vrb_unread event;
	uint32_t async_got; /* ibv.async_events_completed: acknowledged */
	struct vrb_unread async_event;
};

/* Work requests of an extended queue pair from wr_start() on, until they are posted. */
struct vrb_batch {
	struct hca_send_wr *wr;
	/* Of @wr, in its order: where a list begins in @sges, or for an INLINE one in @sges, too,
	 * whose one element holds an offset into @bytes; and the pointers are set at the end. */
	struct hca_sge *sges;
	uint8_t *bytes;
	uint32_t count, room, sge_count, sge_room, byte_count, byte_room;
	int error; /* EXXX, the first: nothing will be posted */
};

struct vrb_qp {
	union { /* @ex begins with all of @ibv */
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	void *later[8]; /* as in struct vrb_cq */
	uint64_t handle;
	bool is_ex;
	bool is_built; /* @ex: from wr_start() to wr_complete() or wr_abort() */
	struct vrb_batch batch;
	uint32_t events_got; /* ibv.events_completed: acknowledged */
	struct vrb_unread event;
	struct ibv_ah_attr ah_attr;
	int sq_sig_all;
};

struct vrb_srq {
	struct ibv_srq ibv;
	uint64_t handle;
	uint32_t number;     /* of XRC, else 0 */
	uint32_t events_got; /* ibv.events_completed: acknowledged */
	struct vrb_unread event;
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

static inline bool vrb_is_parent_domain(struct ibv_pd *pd)
{
	return VRB_TO(vrb_pd, ibv, pd)->of != NULL;
}

static inline void vrb_pd_get(struct vrb_pd *pd)
{
	__atomic_add_fetch(&pd->use_count, 1, __ATOMIC_RELEASE);
}

/* import.c */
void vrb_pd_free_imported(struct vrb_pd *pd);
void vrb_file_create(struct ibv_context *context);

static inline void vrb_pd_put(struct vrb_pd *pd)
{
	const bool is_imported = pd->is_imported;

	if (__atomic_sub_fetch(&pd->use_count, 1, __ATOMIC_ACQ_REL) == 0 && is_imported)
		vrb_pd_free_imported(pd);
}

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
/* The same of what others may have imported, and destroyed. */
void vrb_drop_shared(struct vrb_device *device, uint64_t handle);

/* pd_mr.c: a region of what @init says, in @pd; its pointer to the program's memory is @addr. */
int vrb_mr_create(struct ibv_pd *pd, void *addr, const struct vrb_mr_init *init,
		  struct vrb_mr **ret_mr);

/* qp.c */
int vrb_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, struct vrb_qp **ret_qp);

/* cq.c */
int vrb_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
		  bool ignores_overrun, struct vrb_cq **ret_cq); /* -EINVAL: depth, vector */

/* Until *acked == *got; the one who acknowledges is another thread. At once in a fork()'s child. */
void vrb_wait_acks(struct ibv_context *context, uint64_t cq, const uint32_t *acked,
		   const uint32_t *got);
/* What several calls do by turns: waits until no other thread is at it (*at_it), and is at it until
 * vrb_turn_end(). No lock of the system: the other one may be a thread in virtual time, whose turn
 * comes in a call of the backend. @cq as above. */
void vrb_turn_begin(struct ibv_context *context, uint64_t cq, bool *at_it);
void vrb_turn_end(bool *at_it);

/* provider.c: the list of devices. */
struct vrb_device *vrb_device_create(const struct vrb_backend *backend, void *self); /* device.c */
void vrb_device_destroy(struct vrb_device *device);

/* Whether it is memory that the provider knows, and no address of the program's own. */
bool vrb_is_elsewhere(uint64_t address);
/* struct vrb_provider, find_dmabuf; -ENOENT: there are none as well. */
int vrb_find_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t *ret_address);

/* What is left to do once it is known what to make: qp.c; @shown is what the program sees of it,
 * but for its number. The events of all go to the context's channel. 0 or -EXXX. */
int vrb_qp_make(const struct ibv_qp *shown, struct vrb_qp_init *init, struct vrb_qp **ret_qp);
int vrb_qp_open(const struct ibv_qp *shown, struct vrb_qp_open *open, struct vrb_qp **ret_qp);
/* srq.c: of @init all but pd and async. */
struct ibv_srq *vrb_srq_make(struct ibv_pd *pd, void *srq_context, struct vrb_srq_init *init);

/* The data path; reached through ibv_context.ops. */
int vrb_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int vrb_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vrb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* mw.c; reached through ibv_context.ops. */
struct ibv_mw *vrb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vrb_dealloc_mw(struct ibv_mw *mw);
int vrb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* pd_mr.c; reached through verbs_context. */
struct ibv_mr *vrb_alloc_null_mr(struct ibv_pd *pd);
/* xrc.c; reached through verbs_context. */
struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vrb_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_srq *vrb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vrb_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
struct ibv_qp *vrb_create_target(struct ibv_context *context,
				 const struct ibv_qp_init_attr_ex *attr); /* qp_ex.c's */
struct ibv_qp *vrb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* wr.c: the calls of an extended queue pair that @ops, of enum ibv_qp_create_send_ops_flags, needs;
 * 0, or -EOPNOTSUPP: its type has not all of them. */
int vrb_wr_init(struct vrb_qp *qp, uint64_t ops);
void vrb_wr_fini(struct vrb_qp *qp);
/* qp_ex.c; reached through verbs_context. */
int vrb_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr); /* qp.c */
struct ibv_qp *vrb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* domain.c, dm.c, pd_mr.c; reached through verbs_context. */
struct ibv_td *vrb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vrb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vrb_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);
struct ibv_dm *vrb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vrb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vrb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
			     size_t length, unsigned int access);
int vrb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sges);
/* cq_ex.c; reached through verbs_context. */
struct ibv_cq_ex *vrb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int vrb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int vrb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
/* port.c; reached through verbs_context and ibv_context.ops. */
int vrb_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		   size_t attr_len);
int vrb_query_port_compat(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *attr);
int vrb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);

#endif

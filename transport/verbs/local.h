/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_LOCAL_H
#define VERBS_LOCAL_H

/* The adapter's side of the seam for an adapter in this address space: struct vrb_backend over
 * struct vrb_world. Everything here is reached only inside calls of the world. */
#include "transport/verbs/backend.h"
#include "transport/verbs/table.h"
#include "transport/verbs/types.h"
#include "transport/verbs/world.h"

struct vrb_object {
	struct vrb_local *local;
	uint64_t handle;
	void *hca; /* struct hca_pd, hca_mr, hca_mw, hca_cq, hca_srq, hca_xrcd, hca_qp */
	struct vrb_object *channel, *async; /* who is told */
	uint32_t use_count;		    /* of a channel */
	bool is_exported;		    /* of an MR: struct vrb_mr_init */
	struct vrb_object *twin;	    /* of a QP: its next handle */
	/* Of a QP: how many of its requests have ended, as far as their completions are polled. The
	 * places of a send queue are the program's until then, as with adapters in hardware. */
	uint32_t ended;

	/* What found no room in the ring. */
	struct vrb_object *next_pending;
	bool is_late;
	uint32_t pending_completions;
	struct vrb_types pending_types;

	uint32_t ordinal;	 /* of a QP: the so many-th of the device */
	struct vrb_channel wait; /* of a channel */
	bool is_async;
	struct vrb_object *next; /* the next asynchronous channel */
};

/* One program's view of one adapter. */
struct vrb_local {
	struct vrb_world *world;
	struct vrb_table table;
	struct vrb_ring ring;
	struct vrb_object *pending,
		**pending_tail; /* those with something left to tell, in order */
	struct vrb_object *async_channels;
	bool dies; /* when this call has ended: transport/verbs/fault.h */
};

extern const struct vrb_backend vrb_local;

/* NULL: no memory. detach() frees it. */
struct vrb_local *vrb_local_create(struct vrb_world *world);

/* local_events.c */
void vrb_local_forget(struct vrb_object *object); /* its events that are not told yet */
int vrb_local_create_channel(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
			     int *ret_fd);
int vrb_local_destroy_channel(void *self, uint64_t channel);
int vrb_local_wait_channel(void *self, uint64_t channel, uint32_t *seen);
void vrb_local_charge_event(void *self);
void vrb_local_refill(void *self);
void vrb_local_relax(void *self, uint64_t cq);

/* local_mem.c */
int vrb_local_create_pd(void *self, uint64_t *ret_pd);
int vrb_local_destroy_pd(void *self, uint64_t pd);
int vrb_local_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			struct vrb_mr_info *ret_info);
int vrb_local_change_mr(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init);
int vrb_local_destroy_mr(void *self, uint64_t mr);
int vrb_local_advise_mr(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			uint32_t count);
int vrb_local_create_dm(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm);
int vrb_local_destroy_dm(void *self, uint64_t dm);
int vrb_local_write_dm(void *self, uint64_t dm, uint64_t offset, const void *bytes,
		       uint64_t length);
int vrb_local_read_dm(void *self, uint64_t dm, uint64_t offset, void *ret_bytes, uint64_t length);

/* local_cq.c */
int vrb_local_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			uint32_t *ret_depth);
int vrb_local_destroy_cq(void *self, uint64_t cq);
int vrb_local_poll_cq(void *self, uint64_t handle, uint32_t count, struct ibv_wc *ret_wc);
int vrb_local_poll_stamped(void *self, uint64_t handle, bool may_wait, struct vrb_stamped *ret_wc);
int vrb_local_arm_cq(void *self, uint64_t handle, bool solicited_only);
int vrb_local_resize_cq(void *self, uint64_t handle, uint32_t depth, uint32_t *ret_depth);
int vrb_local_moderate_cq(void *self, uint64_t handle, uint32_t count, uint32_t after_us);

/* local.c */
/* Whom @object tells; 0: nobody. */
int vrb_local_set_channels(struct vrb_object *object, uint64_t channel, uint64_t async);
int vrb_local_add(struct vrb_local *local, enum vrb_kind kind, struct vrb_object **ret_object);
void vrb_local_remove(struct vrb_object *object);
/* Whom @object tells; 0: nobody. 0 or -EINVAL. */
int vrb_local_set_channels(struct vrb_object *object, uint64_t channel, uint64_t async);

/* A completion is the program's now. */
void vrb_local_polled(const struct vrb_local *local, const struct hca_wc *wc);

/* local_fault.c, of a device with faults */
/* What a request that is posted meets: 0 or -errno, or the end of the device (@dies). */
int vrb_local_fault_send(struct vrb_local *local, const struct vrb_object *qp,
			 const struct hca_send_wr *wr, ps_t now);
int vrb_local_fault_recv(struct vrb_local *local,
			 const struct vrb_object *qp); /* NULL: of an SRQ */
void vrb_local_fault_wc(struct vrb_local *local, struct ibv_wc *wc);
void vrb_local_die(struct vrb_local *local); /* outside of calls */

/* local_mw.c */
int vrb_local_create_mw(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			uint32_t *ret_rkey);
int vrb_local_destroy_mw(void *self, uint64_t mw);

/* local_xrc.c */
int vrb_local_open_xrcd(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd);
int vrb_local_close_xrcd(void *self, uint64_t xrcd);
int vrb_local_open_qp(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp);
void vrb_local_part(struct vrb_object *qp); /* is told of its events no more */

/* local_mcast.c */
int vrb_local_set_mcast(void *self, uint64_t qp, const uint8_t gid[16], bool leaves);

/* local_srq.c */
int vrb_local_create_srq(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			 uint32_t *ret_number);
int vrb_local_destroy_srq(void *self, uint64_t srq);
int vrb_local_modify_srq(void *self, uint64_t srq, const struct hca_srq_attr *attr, uint32_t mask);
int vrb_local_query_srq(void *self, uint64_t srq, struct hca_srq_attr *ret_attr);
int vrb_local_post_srq_recv(void *self, uint64_t srq, uint32_t listed, const struct hca_recv_wr *wr,
			    uint32_t count, uint32_t *ret_done);

static inline ps_t vrb_local_enter(struct vrb_local *local, enum vrb_call call, uint64_t amount)
{
	return local->world->ops->enter(local->world, call, amount);
}

static inline void vrb_local_leave(struct vrb_local *local, bool posted)
{
	local->world->ops->leave(local->world, posted);
}

static inline struct vrb_object *vrb_local_find(const struct vrb_local *local, uint64_t handle,
						enum vrb_kind kind)
{
	return vrb_table_find(&local->table, handle, kind);
}

#endif

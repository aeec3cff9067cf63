/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_LOCAL_H
#define VERBS_LOCAL_H

/* The adapter's side of the seam for an adapter in this address space: struct vrb_backend over
 * struct vrb_world. Everything here is reached only inside calls of the world. */
#include "transport/verbs/backend.h"
#include "transport/verbs/table.h"
#include "transport/verbs/world.h"

struct vrb_object {
	struct vrb_local *local;
	uint64_t handle;
	void *hca;			    /* struct hca_pd, hca_mr, hca_cq or hca_qp */
	struct vrb_object *channel, *async; /* who is told */
	uint32_t use_count;		    /* of a channel */

	/* What found no room in the ring. */
	struct vrb_object *next_pending;
	bool is_late;
	uint32_t pending_completions;
	uint32_t pending_types; /* a bit for each enum ibv_event_type */

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

/* local.c */
int vrb_local_add(struct vrb_local *local, enum vrb_kind kind, struct vrb_object **ret_object);
void vrb_local_remove(struct vrb_object *object);

static inline struct vrb_object *vrb_local_find(const struct vrb_local *local, uint64_t handle,
						enum vrb_kind kind)
{
	return vrb_table_find(&local->table, handle, kind);
}

#endif

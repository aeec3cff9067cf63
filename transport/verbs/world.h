/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_WORLD_H
#define VERBS_WORLD_H

/* What the adapter's side of the seam needs from the world in which the adapter lives: virtual time
 * (models/program) or real time (transport/nic). The ibv_ functions exist once, in this folder,
 * over struct vrb_backend (transport/verbs/backend.h); transport/verbs/local.c implements that
 * table for an adapter in this address space, through the few calls below. Of the front only
 * provider.c knows that there are worlds. */
#include "transport/hca/device.h"

struct vrb_faults;
struct vrb_world;

/* Where a program waits for events: completions of some CQs, or what is asynchronous. */
struct vrb_channel {
	int fd;		 /* the world's to set, and to write to; -1: none */
	uint32_t events; /* so far; goes in a circle */
};

/* Added to the adapter's time in ns: its clock as programs see it, and the time of the day (virtual
 * time: since the run began). */
struct vrb_clocks {
	uint64_t raw_ns, wall_ns;
	int64_t latest_ns; /* of the adapter's time, where that may be ahead of these clocks; no
			      stamp is later */
};

/* What a program is about to do; the world charges for it (virtual time) or makes progress. */
enum vrb_call {
	VRB_CALL_CONTROL,    /* create, modify, query, destroy; amount 0 */
	VRB_CALL_REG_MR,     /* amount: bytes */
	VRB_CALL_POST_SEND,  /* amount: work requests */
	VRB_CALL_POST_RECV,  /* amount: work requests */
	VRB_CALL_POLL_CQ,    /* amount: completions asked for */
	VRB_CALL_REQ_NOTIFY, /* amount 0 */
	VRB_CALL_CHANNEL,    /* get or acknowledge an event */
	VRB_CALL_WAIT,	     /* what belongs to a call that was charged for; free */
	VRB_CALL_COUNT,
};

/* Every member is filled. */
struct vrb_world_ops {
	const char *name;
	/* Begins a call: takes the adapter's lock, or lets virtual time pass up to the end of what
	 * the call costs. Returns the time at which it acts. */
	ps_t (*enter)(struct vrb_world *world, enum vrb_call call, uint64_t amount);
	/* Inside a call, after one of those below that wait: the time now. */
	ps_t (*now)(struct vrb_world *world);
	/* Inside a call. */
	struct vrb_clocks (*clocks)(struct vrb_world *world);
	/* Ends a call. @posted: the adapter may have something to send. */
	void (*leave)(struct vrb_world *world, bool posted);
	/* Inside a call: ibv_poll_cq() found @cq empty; NULL: another thread is waited for. Virtual
	 * time: waits for its next completion, the program's own timer or a quantum. Real time: one
	 * turn of the loop. */
	void (*poll_empty)(struct vrb_world *world, struct hca_cq *cq);
	/* Channels: set up (channel->fd), take down, an event more (called from inside the adapter,
	 * once for each event), wait until channel->events is not @seen: 0, -EINTR, -EIO: the
	 * adapter is dead. All inside a call; while channel_wait() waits, others may make theirs.
	 */
	int (*channel_init)(struct vrb_world *world, struct vrb_channel *channel);
	void (*channel_fini)(struct vrb_world *world, struct vrb_channel *channel);
	void (*channel_signal)(struct vrb_world *world, struct vrb_channel *channel);
	int (*channel_wait)(struct vrb_world *world, struct vrb_channel *channel, uint32_t seen);
	/* Inside a call, as the two below. Fills addresses, ports and link_* of @path, whose
	 * dst_ip, dscp, ttl, flow_label and priority are set, for the QP pair (local, remote).
	 * -EHOSTUNREACH, -EINVAL (gid index). */
	int (*resolve)(struct vrb_world *world, struct wire_path *path, uint32_t sgid_index,
		       uint32_t local_qpn, uint32_t remote_qpn);
	/* A path that resolve() has filled, for another QP pair. */
	void (*reuse)(struct vrb_world *world, struct wire_path *path, uint32_t local_qpn,
		      uint32_t remote_qpn);
	/* Inside a call, both where there is multicast. Which address packets to the group @gid
	 * have; it may be the same one. */
	void (*mcast_ip)(struct vrb_world *world, const uint8_t gid[16], uint8_t ret_ip[16]);
	/* Packets for that address come in from now on, or not any more: 0 or -EXXX. */
	int (*hear_mcast)(struct vrb_world *world, const uint8_t ip[16], bool hears);
	/* Inside a call: whether the program may have queue pairs of whole frames (transport/hca/
	 * raw.h): 0, -EPERM, or -EOPNOTSUPP: nobody may. */
	int (*may_send_frames)(struct vrb_world *world);
	/* -ENOENT past the end of the table. */
	int (*gid)(struct vrb_world *world, uint32_t index, uint8_t ret_gid[16]);
	/* A number that tells the n-th QP of this program apart, the same in every run
	 * (simulation); 0 where numbers are random. */
	uint64_t (*qp_identity)(struct vrb_world *world);
	/* The program opens a context, and closes it: outside of calls. 0 or -EXXX. */
	int (*open)(struct vrb_world *world);
	void (*close)(struct vrb_world *world);
	/* Outside of calls. A CHECK failed in a call of this thread: gives back what that call
	 * held; the adapter neither sends nor hears any more. Only where is_guarded and
	 * not @aborts. */
	void (*abandon)(struct vrb_world *world);
};

/* Where the adapter's side reaches a region; as in struct hca_mr_params. */
struct vrb_location {
	uint64_t address;
	uint16_t place;
	bool is_unreadable;
};

/* One adapter as a program sees it. Lives as long as the program. */
struct vrb_world {
	const struct vrb_world_ops *ops;
	struct hca_device *hca;
	const struct hca_mem_ops *memory;   /* how the adapter reaches what the program registers */
	const struct hca_mem_ops *doubtful; /* and where some of it may not be there */
	const char *device_name;	    /* "verbena0" */
	const char *netdev;		    /* "eth0" */
	uint32_t ifindex;		    /* of @netdev; 0: the system has none */
	const char *fw_ver;		    /* NULL: "verbena" */
	uint32_t part_id;		    /* 0: 1 */
	struct vrb_faults *faults;	    /* transport/verbs/fault.h; NULL: none */
	uint32_t qps_made;		    /* by now, for those */
	uint64_t guid;
	/* Where what a program registers is, if not at its own addresses, such as memory of a GPU:
	 * true; or *ret_errno is that of the refusal. NULL: all of it is the program's. Inside a
	 * call. */
	bool (*locate)(struct vrb_world *world, uint64_t address, uint64_t length,
		       struct vrb_location *ret_location, int *ret_errno);
	/* Of the table of GIDs; those behind the last GID are empty. Fewer than there are GIDs (0):
	 * as many. */
	uint32_t gid_places;
	uint32_t mcast_max;    /* groups that can be heard; 0: there is no multicast */
	const char *recording; /* a folder: calls are kept there (record.h); NULL: they are not */
	/* A test's: each call goes to bytes and back (transport/verbs/bytes.c), to no effect. */
	bool through_bytes;
	/* The adapter can die before the process (transport/verbs/guard.c): in a fork()'s child,
	 * and where a CHECK fails, unless that @aborts. */
	bool is_guarded, aborts;
	bool is_dead;		   /* an adapter of this process in which a CHECK failed */
	bool is_child;		   /* a fork()'s copy of the parent's adapter; is_dead as well */
	struct vrb_device *device; /* the front's; NULL at first */
	struct vrb_local *local;   /* the adapter's side of the seam; NULL at first */
	/* The longest that ibv_modify_qp() gave where the adapter's own goes before it, as with
	 * HCA_SELECTIVE: a code as in struct ibv_qp_attr; 0: none. */
	uint8_t timeout_unheard;
};

/* The adapters that the calling program has. Defined once by each final artefact. */
struct vrb_provider {
	/* Fills up to @count (0: @ret_worlds is NULL), returns how many there are. */
	uint32_t (*list)(struct vrb_world **ret_worlds, uint32_t count);
	/* Memory for the objects that programs get pointers to: as calloc() and free(), which both
	 * are where these are NULL. */
	void *(*calloc)(size_t count, size_t bytes);
	void (*free)(void *ptr);
	/* Whether memory at @address is not the program's own, but what struct vrb_world, locate,
	 * knows; NULL: all is the program's. */
	bool (*is_elsewhere)(uint64_t address);
};
const struct vrb_provider *vrb_provider(void);

/* Gives world->device back, when the program has ended. */
void vrb_world_fini(struct vrb_world *world);

/* For the world's struct hca_observer: pass on_cq_event() and on_async() to these. @owner is what
 * hca_cq_create() and hca_qp_create() were given here; NULL: the port's event, which all programs
 * in
 * @world hear of. */
void vrb_on_cq_event(void *cq_owner);
void vrb_on_async(struct vrb_world *world, void *owner, int event);

/* A CHECK has failed, and what the thread held was given back: the adapter is dead from now on. All
 * its queue pairs are flushed, IBV_EVENT_DEVICE_FATAL is raised. Outside of calls; not twice. */
void vrb_on_fatal(struct vrb_world *world);

/* Inside of a call, while a context is open, where the world has a thread of its own: faults whose
 * time has come happen. How many ns until the next, negative: never. The device may be dead then,
 * and the call be over (abandon()). */
int64_t vrb_on_time(struct vrb_world *world);

#endif

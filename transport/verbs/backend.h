/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_BACKEND_H
#define VERBS_BACKEND_H

/* The seam between the ibv_ functions (the front) and an adapter: calls go down, through struct
 * vrb_backend, and events come up, through struct vrb_ring. Whatever crosses is a value, so that
 * the adapter may live in another process:
 *
 *	objects		are known by handles (transport/verbs/table.h). The adapter knows nothing
 *			of the front's objects, the front nothing of the adapter's. A handle of an
 *			object that is gone, or of another kind, is refused with -EINVAL.
 *	memory		is an address in the program, a length and rights. Who reads and writes it
 *			is the adapter's affair.
 *	completions	stay in the adapter's queue until poll_cq() takes them, as an array.
 *	wake-ups	and asynchronous events are put into the ring at the instant they happen;
 *			none is lost when it is full. An event names its object by handle: one
 *			whose object has gone is dropped, whoever has its place by now.
 *	waiting		Each channel (of completion events, or of a context's asynchronous ones)
 *			has a descriptor, which the adapter writes to after it has put an event, and
 *			the front reads once it has handed the last one out, and a number of events
 *			so far, by which wait_channel() knows whether the caller has seen them all.
 *
 * Pointers in a call lead to values that it takes or fills before it returns, never further:
 * struct hca_send_wr to its list and its path, which end there; and where it is INLINE the list to
 * its bytes, wherever these are by then, which are no memory of the program any more.
 *
 * All calls return 0 or -EXXX unless said otherwise; outputs are written only on success. Any
 *thread may call, several at once; two calls about one object of which one destroys it are the
 *program's mistake, and one of them gets -EINVAL. The front holds no lock of its own but around
 *refill().
 *
 * An adapter that is dead (a CHECK in it failed, or it is the parent's of a fork) refuses with -EIO
 * what would use it; what is destroyed goes, and completions that are there can be polled.
 *
 * transport/verbs/local.c implements it for an adapter in this address space; transport/verbs/
 * bytes.c stands in front of another one and sends every call through bytes and back; guard.c keeps
 * what goes wrong in another one from the process. */
#include "transport/hca/mem.h"
#include "transport/hca/mw.h"
#include "transport/hca/qp.h"
#include "transport/hca/srq.h"
#include "transport/hca/xrc.h"
#include "transport/verbs/ring.h"
/* What is declared here is what the front shows to modules and to other people's programs. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

/* What an adapter is, for as long as it is there. */
struct vrb_info {
	char name[IBV_SYSFS_NAME_MAX]; /* "verbena0" */
	char fw_ver[64];
	uint64_t guid;
	uint32_t part_id; /* a number of ours, as the vendor id is */
	uint32_t wr_max;  /* work requests that any queue takes */
	uint32_t sge_max; /* elements of a list of any request; longer ones need not be read */
	/* Bytes of an INLINE request on any queue pair; of more none need be read. */
	uint32_t inline_max;
	uint32_t ifindex; /* of its network interface; 0: the system has none */
};

struct vrb_limits {
	uint64_t line_rate_bps;
	uint32_t mtu_max, gid_count;
	uint32_t gid_places; /* of the table of GIDs, whose last ones may be empty */
	uint32_t qp_max, cq_max, mr_max, pd_max, srq_max;
	uint32_t wr_max, sge_max, cqe_max, inline_max, rd_atomic_max;
	uint32_t qkey_violations; /* so far */
	bool has_xrc, port_is_down;
	bool has_annex;	       /* ATOMIC_WRITE and FLUSH */
	bool has_rate_limit;   /* of a queue pair's own */
	bool mw_is_2a;	       /* memory windows of type 2; else they are of type 2B */
	uint32_t dm_bytes_max; /* of all pieces of the device's memory */
	uint32_t mcast_max;    /* multicast groups */
};

/* Where a QP or an address handle sends to; the world underneath makes a struct wire_path of it. */
struct vrb_av {
	uint8_t dgid[16];
	uint32_t sgid_index, flow_label;
	uint8_t hop_limit, traffic_class, sl; /* of @sl what the fabric has bits for */
};

struct vrb_mr_init {
	uint64_t addr; /* in the program's address space */
	uint64_t iova, length;
	uint64_t dm;	   /* of the device's memory, where @addr is an offset; 0: the program's */
	uint32_t access;   /* enum hca_access */
	bool is_on_demand; /* parts of it need not be there */
	bool is_null;	   /* no memory at all: hca_mem_null */
	bool is_exported;  /* @addr is that of a dma-buf which the world knows */
};

struct vrb_mr_info {
	uint64_t mr; /* handle */
	uint32_t lkey, rkey, number;
};

struct vrb_cq_init {
	uint32_t depth;
	uint64_t channel;     /* told when the armed CQ fires; 0: nobody */
	uint64_t async;	      /* channel that is told of asynchronous events */
	bool ignores_overrun; /* see hca_cq_ignore_overrun() */
};

/* A completion with the time at which the adapter wrote it, in ns: by the adapter's clock, and by
 * that of the world (of the day where time is real, since the run began where it is virtual). */
struct vrb_stamped {
	struct ibv_wc wc;
	uint64_t clock_ns, wall_ns;
};

struct vrb_srq_init {
	uint64_t pd;
	uint64_t xrcd, cq; /* of XRC; else 0 */
	uint64_t async;	   /* channel that is told of asynchronous events */
	uint32_t depth, sge_max;
};

/* XRC_RECV has an xrcd, and of what else is a handle only @async; XRC_SEND no receive_cq. */
struct vrb_qp_init {
	enum hca_qp_type type;
	uint64_t pd, send_cq, recv_cq;
	uint64_t srq; /* 0: receives of its own */
	uint64_t xrcd;
	uint64_t async; /* channel that is told of asynchronous events */
	struct hca_qp_cap cap;
	bool signal_all;
};

struct vrb_qp_open {
	uint64_t xrcd;
	uint64_t async;
	uint32_t qpn;
};

enum vrb_channel_use {
	VRB_CHANNEL_COMPLETION,
	VRB_CHANNEL_ASYNC, /* is told of the port's events, too */
};

struct vrb_backend {
	const char *name;
	/* The first call, once; it takes no time. The ring is there until detach(), the last one,
	 * which takes along what was not destroyed. */
	int (*attach)(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring);
	void (*detach)(void *self);
	/* The program has one context more, or less. An adapter without any needs no threads. */
	int (*open)(void *self);
	void (*close)(void *self);

	int (*query)(void *self, struct vrb_limits *ret_limits);
	int (*query_clock)(void *self, uint64_t *ret_ns); /* what struct vrb_stamped goes by */
	int (*query_gid)(void *self, uint32_t index, uint8_t ret_gid[16]); /* -ENOENT: none */

	int (*create_pd)(void *self, uint64_t *ret_pd);
	int (*destroy_pd)(void *self, uint64_t pd); /* -EBUSY */
	int (*create_mr)(void *self, uint64_t pd, const struct vrb_mr_init *init,
			 struct vrb_mr_info *ret_info);
	/* It becomes what create_mr() would have made; its keys stay. On failure it is as it was.
	 */
	int (*change_mr)(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init);
	int (*destroy_mr)(void *self, uint64_t mr); /* -EBUSY */
	int (*create_mw)(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			 uint32_t *ret_rkey);
	int (*destroy_mw)(void *self, uint64_t mw);
	/* As hca_mr_advise(), for each of the @count elements of @sge. */
	int (*advise_mr)(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			 uint32_t count);

	/* Memory of the device; as hca_dm_create() and the others of its family. */
	int (*create_dm)(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm);
	int (*destroy_dm)(void *self, uint64_t dm);
	int (*write_dm)(void *self, uint64_t dm, uint64_t offset, const void *bytes,
			uint64_t length);
	int (*read_dm)(void *self, uint64_t dm, uint64_t offset, void *ret_bytes, uint64_t length);

	/* The way to @av, for the work requests of datagrams; it holds nothing. */
	int (*resolve_ah)(void *self, const struct vrb_av *av, struct wire_path *ret_path);

	/* The descriptor is the caller's to read; -1 where there is nothing to wait on. */
	int (*create_channel)(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
			      int *ret_fd);
	int (*destroy_channel)(void *self, uint64_t channel); /* -EBUSY: a CQ or QP has it */
	/* Waits until the channel's number of events is not *seen any more, which it becomes. They
	 * are in the ring then. -EINTR. Costs nothing but the time it waits. */
	int (*wait_channel)(void *self, uint64_t channel, uint32_t *seen);
	/* The program gets or acknowledges an event: what that costs. */
	void (*charge_event)(void *self);
	/* The front has emptied the ring and saw that there are more. Costs nothing. */
	void (*refill)(void *self);
	/* Somebody waits for another thread of the program, with @cq at hand (0: none). */
	void (*relax)(void *self, uint64_t cq);

	int (*create_cq)(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			 uint32_t *ret_depth);
	int (*destroy_cq)(void *self, uint64_t cq);					/* -EBUSY */
	int (*poll_cq)(void *self, uint64_t cq, uint32_t count, struct ibv_wc *ret_wc); /* number */
	/* One of them: 1, or 0 where there is none. @may_wait: as poll_cq() does. */
	int (*poll_stamped)(void *self, uint64_t cq, bool may_wait, struct vrb_stamped *ret_wc);
	int (*arm_cq)(void *self, uint64_t cq, bool solicited_only);
	/* -EINVAL: it holds more than @depth, or that is none. */
	int (*resize_cq)(void *self, uint64_t cq, uint32_t depth, uint32_t *ret_depth);
	/* As hca_cq_moderate(). */
	int (*moderate_cq)(void *self, uint64_t cq, uint32_t count, uint32_t after_us);

	int (*open_xrcd)(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd);
	int (*close_xrcd)(void *self, uint64_t xrcd); /* -EBUSY */
	/* *ret_number: of XRC, else 0. */
	int (*create_srq)(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			  uint32_t *ret_number);
	int (*destroy_srq)(void *self, uint64_t srq); /* -EBUSY */
	/* As hca_srq_modify(), hca_srq_query(), and post_recv() below. */
	int (*modify_srq)(void *self, uint64_t srq, const struct hca_srq_attr *attr, uint32_t mask);
	int (*query_srq)(void *self, uint64_t srq, struct hca_srq_attr *ret_attr);
	int (*post_srq_recv)(void *self, uint64_t srq, uint32_t listed,
			     const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done);

	int (*create_qp)(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			 uint32_t *ret_qpn);
	/* Another handle of a queue pair that there is, which goes with its last one. */
	int (*open_qp)(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp);
	int (*destroy_qp)(void *self, uint64_t qp); /* -EBUSY: it is in a multicast group */
	/* It is in that group from now on, or, where it leaves, not any more. -EINVAL: no multicast
	 * address, not UD, or not in it; -EOPNOTSUPP: there is no multicast here. */
	int (*set_mcast)(void *self, uint64_t qp, const uint8_t gid[16], bool leaves);
	/* @av where HCA_QP_AV is in @mask (attr->path is not looked at); @cur_state where
	 * HCA_QP_CUR_STATE is. */
	int (*modify_qp)(void *self, uint64_t qp, const struct hca_qp_attr *attr, uint32_t mask,
			 const struct vrb_av *av, enum hca_qp_state cur_state);
	/* Without attr->path. */
	int (*query_qp)(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			struct hca_qp_cap *ret_cap);
	/* The first @count of the @listed requests that the program posts; the others are known to
	 * be bad, but their price is paid. Those of a UD queue pair have a path, that of
	 * resolve_ah(). *ret_done, always written: how many were taken; the next one is the one
	 * that was refused. */
	int (*post_send)(void *self, uint64_t qp, uint32_t listed, const struct hca_send_wr *wr,
			 uint32_t count, uint32_t *ret_done);
	/* All @count of them, or where one would be refused none. */
	int (*post_batch)(void *self, uint64_t qp, const struct hca_send_wr *wr, uint32_t count);
	int (*post_recv)(void *self, uint64_t qp, uint32_t listed, const struct hca_recv_wr *wr,
			 uint32_t count, uint32_t *ret_done);
};

#endif

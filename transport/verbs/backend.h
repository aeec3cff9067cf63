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
#include "transport/hca/qp.h"
#include "transport/verbs/ring.h"
/* What is declared here is what the front shows to modules and to other people's programs. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

/* What an adapter is, for as long as it is there. */
struct vrb_info {
	char name[IBV_SYSFS_NAME_MAX]; /* "verbena0" */
	uint64_t guid;
	uint32_t wr_max;  /* work requests that any queue takes */
	uint32_t sge_max; /* elements of a list of any request; longer ones need not be read */
	/* Bytes of an INLINE request on any queue pair; of more none need be read. */
	uint32_t inline_max;
};

struct vrb_limits {
	uint64_t line_rate_bps;
	uint32_t mtu_max, gid_count;
	uint32_t qp_max, cq_max, mr_max, pd_max;
	uint32_t wr_max, sge_max, cqe_max, inline_max, rd_atomic_max;
	uint32_t qkey_violations; /* so far */
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
	uint32_t access; /* enum hca_access */
};

struct vrb_mr_info {
	uint64_t mr; /* handle */
	uint32_t lkey, rkey, number;
};

struct vrb_cq_init {
	uint32_t depth;
	uint64_t channel; /* told when the armed CQ fires; 0: nobody */
	uint64_t async;	  /* channel that is told of asynchronous events */
};

struct vrb_qp_init {
	enum hca_qp_type type;
	uint64_t pd, send_cq, recv_cq;
	uint64_t async; /* channel that is told of asynchronous events */
	struct hca_qp_cap cap;
	bool signal_all;
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
	int (*query_gid)(void *self, uint32_t index, uint8_t ret_gid[16]); /* -ENOENT: none */

	int (*create_pd)(void *self, uint64_t *ret_pd);
	int (*destroy_pd)(void *self, uint64_t pd); /* -EBUSY */
	int (*create_mr)(void *self, uint64_t pd, const struct vrb_mr_init *init,
			 struct vrb_mr_info *ret_info);
	int (*destroy_mr)(void *self, uint64_t mr);

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
	int (*arm_cq)(void *self, uint64_t cq, bool solicited_only);

	int (*create_qp)(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			 uint32_t *ret_qpn);
	int (*destroy_qp)(void *self, uint64_t qp);
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
	int (*post_recv)(void *self, uint64_t qp, uint32_t listed, const struct hca_recv_wr *wr,
			 uint32_t count, uint32_t *ret_done);
};

#endif

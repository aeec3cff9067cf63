/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CM_CM_H
#define CM_CM_H

/* Connection management of one process on one adapter: what the kernel's rdma_cm, ib_cm and
 * rdma_ucm do together. From above come the commands that librdmacm writes to
 * /dev/infiniband/rdma_cm (linux, include/uapi/rdma/rdma_user_cm.h), from below the messages of
 * queue pair 1 (mad.h); states and timers are those of IBTA vol 1, chapter 12.
 *
 * No socket, clock, thread or descriptor: the caller brings time and bytes and holds one lock
 * around all of it. Everything that a peer or a program can make it remember has a bound. */
#include "transport/cm/mad.h"
#include "transport/wire/path.h"
#include "util/units.h"

struct cm;
struct cm_file; /* an opened /dev/infiniband/rdma_cm */

enum {
	CM_IDS_MAX = 1 << 14,  /* of a process */
	CM_BACKLOG_MAX = 1024, /* of a listener */
	CM_REPLY_MAX = 512,    /* bytes of an answer */
	CM_COMMAND_MAX = 1024, /* bytes of a command that are looked at */
	CM_SLOT_BITS = 6,      /* the highest bits of a communication id */
	CM_OUTBOX = 1024,      /* messages that wait to be sent; more are lost, timers know */
};

/* What it asks of the one around it. @owner is that of struct cm_params. */
struct cm_ops {
	/* This process takes a port of the host for itself, 0 or -EADDRINUSE, or gives it back. */
	int (*take_port)(void *owner, uint16_t space, uint16_t port);
	void (*give_port)(void *owner, uint16_t space, uint16_t port);
	/* The way to path->dst_ip, by GID 1. May let go of the lock meanwhile. 0 or -errno. */
	int (*resolve)(void *owner, struct wire_path *path);
	/* @file has events, or has none any more. */
	void (*readable)(void *file_owner, bool is_readable);
	/* The file of that descriptor; NULL: it is none. */
	struct cm_file *(*file_of)(void *owner, int fd);
	/* Bytes of the program that a command points to: 0, or it points nowhere. */
	int (*read_program)(void *owner, uint64_t address, uint8_t *ret_bytes, uint32_t count);
	/* It is known that no process of the host at @ip is left: nobody there answers any more for
	 * those that were, as a kernel would. */
	bool (*is_gone)(void *owner, const uint8_t ip[16]);
};

struct cm_params {
	const struct cm_ops *ops;
	void *owner;
	uint8_t ip[16];	   /* of the host; IPv4 as ::ffff:a.b.c.d */
	uint32_t scope_id; /* of a link-local one */
	uint64_t guid;	   /* of the adapter */
	uint8_t gid_index; /* of @ip */
	uint8_t mtu;	   /* enum ibv_mtu */
	uint64_t seed;	   /* of PSNs, ids and ports */
};

struct cm *cm_create(const struct cm_params *params); /* NULL: no memory */
/* Files are gone before. */
void cm_destroy(struct cm *cm);
/* Which of the processes of this host it is; before there are ids. */
void cm_set_slot(struct cm *cm, uint32_t slot);

/* ---- from and to queue pair 1 ---- */

/* Whom a message that has come is for. */
enum cm_target_kind { CM_FOR_NOBODY, CM_FOR_SLOT, CM_FOR_PORT };
struct cm_target {
	enum cm_target_kind kind;
	uint32_t slot;
	uint16_t space, port; /* a request for who listens there */
};
struct cm_target cm_target_of(const uint8_t *bytes, size_t length);
/* Whether it asks for the end of a connection, and what that one's queue pair here is. */
bool cm_ends(const uint8_t *bytes, size_t length, uint32_t *ret_qpn);
/* Whether this process listens there. */
bool cm_listens(const struct cm *cm, uint16_t space, uint16_t port);

/* A message; @path as it came. One that nobody listens for is answered so. */
void cm_input(struct cm *cm, const struct wire_path *path, const uint8_t *bytes, size_t length,
	      ps_t now);
/* The next message to be sent, and by which way; false: none. */
bool cm_output(struct cm *cm, struct wire_path *ret_path, uint8_t ret_bytes[CM_MAD_BYTES]);
bool cm_has_output(const struct cm *cm);
ps_t cm_next_at(const struct cm *cm); /* when it wants cm_advance(); PS_NEVER */
void cm_advance(struct cm *cm, ps_t now);
void cm_move_epoch(struct cm *cm, ps_t by); /* time begins anew, @by later */

/* ---- from programs ---- */

struct cm_file *cm_file_create(struct cm *cm, void *file_owner); /* NULL: no memory */
/* Ends all that was begun over it. */
void cm_file_destroy(struct cm_file *file, ps_t now);

/* What a command wants written to the program's memory. */
struct cm_reply {
	uint64_t address;
	uint32_t length; /* 0: nothing */
	uint8_t bytes[CM_REPLY_MAX];
};
/* One command. 0 or what errno shall be, negative; -EAGAIN: there is no event. Of a command that
 * is longer than this knows the rest means nothing. */
int cm_command(struct cm_file *file, const void *bytes, size_t length, struct cm_reply *ret_reply,
	       ps_t now);

#endif

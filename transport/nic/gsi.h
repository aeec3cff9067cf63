/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_GSI_H
#define NIC_GSI_H

/* Queue pair 1 of a NIC: messages of communication management between the wire and transport/cm.
 *
 * Where several processes share an address, what is for queue pair 1 comes to a socket that all of
 * them have. Whoever reads a message looks whose it is, and hands it on through a unix datagram
 * socket of an abstract name: a request to the name of the port that it asks for, which the
 * process has that listens there; all else to the name of the slot, which is the highest bits of
 * the receiver's communication id. So a port belongs to one process of a host, and the kernel
 * gives it back however that process ends; a request for a port that nobody has within half a
 * second, and the end of a connection that nobody knows any more, are answered by whoever read
 * them.
 *
 * With the lock held, except where it says otherwise. */
#include "transport/cm/cm.h"
#include "transport/nic/link.h"

#include <sys/types.h>

struct nic;
struct nic_gsi;
struct vrb_world;

/* What struct cm knows a file as. */
struct nic_cm_file {
	struct cm_file *cm_file;
	struct vrb_world *world;  /* whose adapter it is of */
	int fd;			  /* an eventfd: readable while there are events */
	pid_t asker;		  /* the thread that asked for an event last; 0: none */
	struct nic_cm_file *next; /* of those that were closed during a call */
};

/* The link is open. 0 or -errno. */
int nic_gsi_open(struct nic *nic, struct nic_gsi **ret_gsi);
/* @forgets: what it knows was another process's, or is in disorder: it is left as it is. NULL:
 * nothing. */
void nic_gsi_close(struct nic_gsi *gsi, bool forgets);
struct cm *nic_gsi_cm(const struct nic_gsi *gsi);

int nic_gsi_fd(const struct nic_gsi *gsi); /* readable when there is something to take */
/* Takes what others have handed on; true: nic_gsi_link() has packets. */
bool nic_gsi_take(struct nic_gsi *gsi);
struct nic_link *nic_gsi_link(const struct nic_gsi *gsi); /* of the group's socket; NULL: none */
/* Takes a packet for queue pair 1. */
void nic_gsi_input(struct nic_gsi *gsi, const struct wire_path *path, const struct wire_pkt *pkt);
/* Looks at what was taken. It came by another way than data: before that, whatever had come first
 * is to be looked at, or the end of a connection would overtake its last acknowledgement. */
void nic_gsi_deliver(struct nic_gsi *gsi);
bool nic_gsi_has_mail(const struct nic_gsi *gsi); /* there is something to deliver */
bool nic_gsi_has_output(const struct nic_gsi *gsi);
/* Fills packet and path of the next message; its payload is @payload. False: none. */
bool nic_gsi_output(struct nic_gsi *gsi, struct wire_path *ret_path, struct wire_pkt *pkt);
ps_t nic_gsi_next_at(const struct nic_gsi *gsi); /* when nic_gsi_advance() is to be called */
void nic_gsi_advance(struct nic_gsi *gsi, ps_t now);
void nic_gsi_move_epoch(struct nic_gsi *gsi, ps_t by); /* as hca_device_move_epoch() */

/* ---- descriptors, without the lock ---- */

/* Which files are there; @file NULL takes @fd out. -EMFILE. */
int nic_cm_file_set(int fd, struct nic_cm_file *file);
struct nic_cm_file *nic_cm_file_get(int fd); /* NULL: none */
/* The same, and until it is released whoever has set NULL in its place sees that it is held. In any
 * thread; what is held for ever is never given back. */
struct nic_cm_file *nic_cm_file_hold(int fd);
void nic_cm_file_release(int fd);
bool nic_cm_file_is_held(int fd);
int nic_cm_file_next(int fd); /* the next one that there is behind @fd; -1: none */

#endif

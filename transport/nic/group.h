/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_GROUP_H
#define NIC_GROUP_H

/* Several processes of one user on one emulated host, as several programs use one adapter: each has
 * a slot, which is the highest bits of all its queue pair numbers, and all have the same address
 * and the same port.
 *
 * Whoever is first makes a socket for each slot, all in one SO_REUSEPORT group, whose classic BPF
 * program reads the slot from a packet's queue pair number: the kernel hands each process what is
 * its own. Every process holds all of the sockets, so that none closes, and no slot becomes another
 * one's, while any of them lives. A newcomer gets them from any other (SCM_RIGHTS), whose door is a
 * unix socket of an abstract name; that name is also what holds a slot, and the kernel gives it
 * back however a process ends: there is nothing in the file system and nothing to clean up.
 *
 * Queue pair 1 is nobody's own: what is for it comes to one more socket, which any of them may read
 * (transport/nic/gsi.h). Multicast is in the last slot. */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct nic_group;

enum {
	NIC_GROUP_SLOT_BITS = 6,
	NIC_GROUP_SLOTS = 1 << NIC_GROUP_SLOT_BITS,
	NIC_GROUP_SOCKETS = NIC_GROUP_SLOTS + 1 /* and that of queue pair 1 */
};

/* What tells hosts apart: the address in hexadecimal, and the interface of one that is link-local.
 */
enum { NIC_GROUP_NAME_BYTES = 48 };
void nic_group_name(const uint8_t ip[16], uint32_t scope_id, char ret_name[NIC_GROUP_NAME_BYTES]);

/* A socket that may share its address, bound, or -errno. */
typedef int nic_group_socket_fn(void *owner);

/* @name is of nic_group_name(). 0, or -errno: that of make(), where this is the first
 * process; -EADDRINUSE: the address is held by something that is no member and does not answer;
 * -EUSERS: all slots are taken. */
int nic_group_join(const char *name, nic_group_socket_fn *make, void *owner,
		   struct nic_group **ret_group);
void nic_group_leave(struct nic_group *group); /* NULL: nothing */

uint32_t nic_group_slot(const struct nic_group *group);
int nic_group_socket(const struct nic_group *group);	 /* that of the slot; the group's */
int nic_group_gsi_socket(const struct nic_group *group); /* that of queue pair 1; the group's */
/* A name of the group's in the abstract namespace of unix sockets, which ends in @suffix. */
socklen_t nic_group_address(const struct nic_group *group, const char *suffix,
			    struct sockaddr_un *ret_address);
/* The name of this process's door, without a zero at its end but with those of the structure. */
socklen_t nic_group_door_address(const struct nic_group *group, struct sockaddr_un *ret_address);
/* Readable when somebody is at the door, whom nic_group_serve() answers; it never waits. */
int nic_group_door(const struct nic_group *group);
void nic_group_serve(struct nic_group *group);

#endif

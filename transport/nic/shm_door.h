/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SHM_DOOR_H
#define NIC_SHM_DOOR_H

/* How a ring (transport/nic/shm_ring.h) gets from the process that sends into it to the one that
 * takes from it.
 *
 * Each process that takes rings listens at a door, a unix socket whose abstract name is made of
 * user, address and slot (transport/nic/group.h): of no two processes that live is it the same,
 * and the kernel takes it back however one ends. Who wants to send makes a memfd, seals it so that
 * it never shrinks, and passes it through the door with who he is; the other answers when it has
 * looked at it and mapped it. The connection stays: a byte on it wakes who sleeps, and its end is
 * the other's. Only processes of this user are let in or talked to.
 *
 * Nothing here waits. Each function that makes a descriptor says -errno. */
#include "transport/nic/shm_ring.h"

#include <sys/types.h>

/* Who sends, as it says itself: what a source address is in a datagram. */
struct nic_door_guest {
	uint8_t ip[16];
	uint32_t slot;
	/* It would lend payloads: at this address of its memory is this word. 0: it would not. */
	uint64_t word_at, word;
};

struct nic_door_place {
	uint8_t ip[16];
	uint32_t scope_id, slot;
};

/* A socket that listens. */
int nic_door_open(const struct nic_door_place *own);
/* Somebody who has come, or -EAGAIN: there is nobody more. */
int nic_door_accept(int door);

/* A connection to the process at @place, a new ring for it in *@ret_memory on its way.
 * -ECONNREFUSED: nobody is there. */
int nic_door_ask(const struct nic_door_place *place, const struct nic_door_guest *self,
		 void **ret_memory);
/* 0: the ring is taken, and payloads may be lent if *@ret_takes_loans; -EAGAIN: nothing is said
 * yet; else the connection is of no use. */
int nic_door_hear(int connection, bool *ret_takes_loans);

/* What somebody who was accepted brought, mapped; -EAGAIN: nothing yet; else it is of no use. */
int nic_door_take(int connection, struct nic_door_guest *ret_guest, void **ret_memory);
int nic_door_answer(int connection, bool takes_loans);
/* The process at the other end, from the kernel; 0: it is none that can be named here. */
pid_t nic_door_pid(int connection);

void nic_door_unmap(void *memory); /* NULL: nothing */

/* The other end is to look at its ring. */
void nic_door_ring(int connection);
/* All rings of the bell until now are heard. False: the other end is gone. */
bool nic_door_heard(int connection);

#endif

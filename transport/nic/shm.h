/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SHM_H
#define NIC_SHM_H

/* The way between processes of one user on one machine: rings of packets in shared memory
 * (transport/nic/shm_ring.h), one for each that sends to each that it sends to, in place of the
 * socket. A process is known by its address and its slot, which are what a packet is addressed to.
 *
 * The first packet to a process makes a ring and asks at that one's door
 * (transport/nic/shm_door.h); the socket carries packets until it is taken, where it is not, and
 * messages of queue pair 1 and what goes to many. What comes out of a ring is treated as what comes
 * out of the socket, from a source address that its sender has given.
 *
 * Order: what was sent through the socket before lies in the other end's before the first packet
 * lies in the ring (a datagram to this machine is queued there when sendmsg() returns), and who
 * takes empties its socket before it begins with a ring. Should the kernel have put a datagram off
 * nevertheless, it comes late, as on any way: the transport repairs it.
 *
 * A full ring holds back what follows, as a full socket does, while the other end still takes
 * something; who has not for 100 ms loses what is for it. A process that ends is noticed by its
 * connection: what it had sent is taken, the ring is given up, and packets to it go to the socket
 * until somebody is at that door again. What is bad about a ring gives it up, too.
 *
 * With the lock held. */
#include "transport/nic/link.h"

struct nic;
struct nic_shm;

/* The group is joined. 0 or -errno: there is no door then, and no ring. */
int nic_shm_open(struct nic *nic, struct nic_shm **ret_shm);
void nic_shm_close(struct nic_shm *shm); /* NULL: nothing */

/* Readable when nic_shm_serve() has something to do: who comes, who leaves, bells. */
int nic_shm_fd(const struct nic_shm *shm);
void nic_shm_serve(struct nic_shm *shm);

/* Before this thread waits; true: not now, since there are packets. Others ring from now on. */
bool nic_shm_sleep(struct nic_shm *shm);
void nic_shm_wake(struct nic_shm *shm);

/* Where the payload of a packet to that queue pair goes best; NULL: nowhere. And whether it may be
 * lent instead. */
uint8_t *nic_shm_place(struct nic_shm *shm, const uint8_t ip[16], uint32_t qpn);
/* Right after that gave a place: how many bytes of a run (transport/hca/run.h) may go there; 0: its
 * packets go one by one. */
uint32_t nic_shm_run(struct nic_shm *shm);

enum nic_shm_way {
	NIC_SHM_ELSEWHERE, /* the socket's */
	NIC_SHM_GONE,
	NIC_SHM_LATER, /* no room now */
};

/* A packet, or a run of @packets, that travels by @path and is in no slot yet; a capture gets it,
 * where it is gone. */
enum nic_shm_way nic_shm_put(struct nic_shm *shm, struct wire_path *path,
			     const struct wire_pkt *pkt, uint32_t packets, ps_t now);
/* In place of the link's send(): those that have a ring go there. */
uint32_t nic_shm_send(struct nic_shm *shm, const struct nic_slot *slots, uint32_t count);
/* As the functions of struct hca_lender. */
bool nic_shm_pull(struct nic_shm *shm, uint64_t address, uint8_t *to, uint32_t length,
		  uint8_t *tail, uint32_t follows);
const uint8_t *nic_shm_at_hand(struct nic_shm *shm, uint64_t address, uint32_t length,
			       const uint8_t *to);
void nic_shm_revoke(struct nic_shm *shm, const struct wire_path *path, uint32_t dest_qpn);
/* After some: who sleeps is woken. */
void nic_shm_flush(struct nic_shm *shm);

bool nic_shm_has_guests(const struct nic_shm *shm); /* anybody sends by a ring */
/* Looks at rings from which nothing was taken yet; one has something: the socket is to be emptied.
 */
bool nic_shm_looks(struct nic_shm *shm);
/* Takes a batch from each ring; from a new one only where nic_shm_looks() had seen something in it
 * and the socket @is_empty since then. Returns how many packets came. */
uint32_t nic_shm_input(struct nic_shm *shm, bool is_empty);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_BOARD_H
#define NIC_BOARD_H

/* What a device that is open tells of itself while it runs: who it is and what it has counted. It
 * stands in a memfd of its process, which "verbena devices" and "verbena stat" find among the
 * files of the processes of their user under /proc; so there is nothing to ask, a process that is
 * stopped is seen as well, and one that is killed leaves nothing behind.
 *
 * It is written by the progress thread, at most every millisecond and before that sleeps, and when
 * somebody knocks at the door of its group (transport/nic/group.h). */
#include "transport/nic/counters.h"
#include "transport/nic/nic.h"

struct nic_board {
	uint64_t magic;
	uint32_t round; /* odd while it is written */
	int32_t pid;	/* as its process knows itself */
	uint32_t slot, qp_count, gid_count;
	uint64_t since_ns; /* CLOCK_BOOTTIME */
	char device[16], command[16], profile[32], host[NIC_HOST_TEXT_MAX];
	char door[108]; /* the abstract name of a unix socket, without its zero; "": none */
	uint8_t gids[NIC_GID_MAX][16];
	uint64_t values[NIC_COUNTER_COUNT];
};

/* Makes it, and where there is a folder of "verbena exec" finds the totals there; one without the
 * other where one of them cannot be had. The link is open. */
void nic_board_open(struct nic *nic);
/* Or forgets it, in the child of a fork(): it stays the parent's. There is none: nothing. */
void nic_board_close(struct nic *nic);
/* With the lock held: what is counted by now is told. */
void nic_board_publish(struct nic *nic);

/* ---- for who looks from outside ---- */

/* A copy, as it was at one instant. @pid as the caller knows the process. */
typedef void nic_board_fn(void *owner, const struct nic_board *board, int pid);

/* Each device of this user's that is open now, fresh where its process answers at once. 0, or
 * -errno of /proc. */
int nic_board_each(nic_board_fn *each, void *owner);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_INTERNAL_H
#define NIC_INTERNAL_H

#include "transport/hca/loan.h"
#include "transport/nic/board.h"
#include "transport/nic/capture.h"
#include "transport/nic/group.h"
#include "transport/nic/gsi.h"
#include "transport/nic/impair.h"
#include "transport/nic/link.h"
#include "transport/nic/nic.h"
#include "transport/nic/shm.h"

#include <pthread.h>
#include <stdatomic.h>

/* While the application has polled within NIC_APP_POLLS, the progress thread looks only every
 * NIC_NAP: two threads that fight for one lock and one core are slower than either. */
#define NIC_APP_POLLS (100 * PS_US)
enum { NIC_NAP_NS = 50000 };
#define NIC_LINGER (50 * PS_US) /* see nic_lingers(); some times what it takes to be woken */

#define NIC_BOARD_NAME "verbena-adapter"
#define NIC_BOARD_MAGIC 0x7662626f61726401 /* the last digits: its version */

struct nic {
	struct nic_params params;
	struct nic_link *link;	  /* NULL: shared, and not started */
	int socket;		  /* udp, not shared; -1 */
	struct nic_group *group;  /* NULL: not shared, or not started */
	struct nic_gsi *gsi;	  /* NULL: the link is not open */
	struct nic_shm *shm;	  /* NULL: all goes through the link */
	struct hca_lender lender; /* path direct */
	ps_t link_looked_at;	  /* where there are rings: when the link was asked last, ... */
	ps_t link_heard_at;	  /* ... and when it had something */
	char netdev[16];
	uint32_t netdev_mtu; /* of IP; 0: unknown */
	ps_t door_looked_at; /* when the group was served last */
	struct hca_device *hca;
	struct nic_capture *capture;	/* NULL: none */
	struct nic_impair *impair;	/* NULL: packets go as they are */
	struct nic_impair_board *board; /* NULL: the counts are nobody else's */
	struct nic_stats stats;
	uint64_t epoch_ns;   /* where the device's time begins */
	uint32_t time_users; /* calls that know an instant and let go of the lock; until none does
			      * the epoch stays */
	struct nic_identity identity;

	pthread_mutex_t lock;
	atomic_uint wanted; /* so many wait for it */
	bool lock_ready;
	bool locked;	  /* for CHECKs; touched only by the holder */
	pthread_t holder; /* where @locked */
	atomic_bool dead;

	uint8_t *memory; /* of all slots */
	struct nic_slot rx[NIC_BATCH], tx[NIC_BATCH];
	uint32_t tx_head, tx_count; /* made, not yet gone */
	ps_t seen_at;		    /* the loop's last instant */
	_Atomic ps_t ahead_at;	    /* that of a packet made before its time */
	uint32_t ring_count;	    /* of this batch went by rings */
	bool ring_waits;	    /* one in a slot did not; none may overtake it */
	uint8_t payload[WIRE_MTU_MAX];

	int wake_fd;
	pthread_t thread;
	bool thread_ready;
	atomic_bool stop;
	ps_t asleep_until; /* the progress thread's timer; 0: it is awake */
	ps_t moved_at;	   /* when the progress thread last moved a packet */
	ps_t app_turn_at;  /* when the application last turned the loop */

	/* board.c */
	struct nic_board *card;	   /* NULL: none */
	struct nic_totals *totals; /* NULL: none */
	int board_fd;		   /* where there is a card */
	uint64_t told[NIC_COUNTER_COUNT];
};

/* nic.c. nic_now() of the clock alone, and of what it says. */
ps_t nic_clock(const struct nic *nic);
ps_t nic_now_from(const struct nic *nic, ps_t clock_at);

/* link_open.c */
void nic_link_interface(struct nic *nic); /* netdev, netdev_mtu */
/* The way to others. 0 or -errno. */
int nic_link_open(struct nic *nic);
void nic_link_close(struct nic *nic); /* there is none: nothing */

/* loop.c; all with the lock held. */
/* A packet that has come by @path, which was parsed with @verdict; or, where nothing captures, a
 * run of @packets. */
void nic_loop_input(struct nic *nic, const struct wire_path *path, const struct wire_pkt *pkt,
		    uint32_t packets, enum wire_verdict verdict, ps_t now);
uint32_t nic_loop_turn(struct nic *nic);
void nic_loop_flush(struct nic *nic, uint32_t *moved);
/* When a packet may be to send or a timer due. */
ps_t nic_loop_next_at(const struct nic *nic);
/* Waits until something may be to do or @wait_ns (negative: without end) are over; the lock is free
 * meanwhile. */
void nic_loop_wait(struct nic *nic, int64_t wait_ns);
/* Timers of queue pair 1, and what has come for it, if it @takes that. */
void nic_loop_mind_gsi(struct nic *nic, bool takes);
/* The progress thread sleeps on the timers as they were: tells it if one is due earlier now. */
void nic_loop_wake(struct nic *nic);

#endif

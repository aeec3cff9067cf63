/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_INTERNAL_H
#define NIC_INTERNAL_H

#include "transport/nic/capture.h"
#include "transport/nic/link.h"
#include "transport/nic/nic.h"

#include <pthread.h>
#include <stdatomic.h>

/* While the application has polled within NIC_APP_POLLS, the progress thread looks only every
 * NIC_NAP: two threads that fight for one lock and one core are slower than either. */
#define NIC_APP_POLLS (100 * PS_US)
enum { NIC_NAP_NS = 50000 };

struct nic {
	struct nic_params params;
	struct nic_link *link;
	struct hca_device *hca;
	struct nic_capture *capture; /* NULL: none */
	struct nic_stats stats;
	uint64_t epoch_ns;   /* where the device's time begins */
	uint32_t time_users; /* calls that know an instant and let go of the lock; until none does
			      * the epoch stays */
	uint8_t mac[6];
	uint8_t gids[NIC_GID_MAX][16];
	uint32_t gid_count;

	pthread_mutex_t lock;
	bool lock_ready;
	bool locked;	  /* for CHECKs; touched only by the holder */
	pthread_t holder; /* where @locked */
	atomic_bool dead;

	uint8_t *memory; /* of all slots */
	struct nic_slot rx[NIC_BATCH], tx[NIC_BATCH];
	uint32_t tx_head, tx_count; /* made, not yet gone */
	uint8_t payload[WIRE_MTU_MAX];

	int wake_fd;
	pthread_t thread;
	bool thread_ready;
	atomic_bool stop;
	ps_t asleep_until; /* the progress thread's timer; 0: it is awake */
	ps_t app_turn_at;  /* when the application last turned the loop */
};

/* loop.c; all with the lock held. */
uint32_t nic_loop_turn(struct nic *nic);
void nic_loop_flush(struct nic *nic, uint32_t *moved);
/* Waits until something may be to do or @wait_ns (negative: without end) are over; the lock is free
 * meanwhile. */
void nic_loop_wait(struct nic *nic, int64_t wait_ns);
/* The progress thread sleeps on the timers as they were: tells it if one is due earlier now. */
void nic_loop_wake(struct nic *nic);

#endif

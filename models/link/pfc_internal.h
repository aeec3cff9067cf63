/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PFC_INTERNAL_H
#define MODELS_PFC_INTERNAL_H

/* What the parts of priority flow control share.
 *
 *	pfc.c           made, with its buffer divided	pfc_xoff_xon.c  when the other end is to
 *stop, pfc_watchdog.c  pauses that never end		                and when it may go on
 *	pfc_pause.c     pause frames, how long they hold	pfc_peer.c      it is told, and the
 *timer pfc_outage.c    links that are down
 *
 * Each calls only those behind it: made, when, told, watchdog and outages, pauses. */
#include "models/link/pfc.h"
#include "util/check.h"

struct pfc_watch {     /* of one port and priority */
	ps_t heard_at; /* the last pause frame */
	bool storm;    /* pauses are not obeyed */
};

struct pfc_outage {
	ps_t at;
	uint32_t port;
	bool back;
};

struct pfc {
	struct sim_fc fc; /* first */
	struct pfc_params params;
	uint32_t *reserve;			       /* fc.reserve; NULL: there is none */
	uint8_t kinds[SIM_PRIORITIES_MAX], kind_count; /* a priority of each threshold */
	bool dynamic;				       /* one of them is a share of what is free */
	uint64_t pool_bytes;			       /* the buffer less headrooms and reserves */
	uint64_t headroom_left;			       /* of the pool that headrooms share */
	uint32_t *headroom;			       /* by port */
	ps_t *refresh_at;	    /* by port and priority, PS_NEVER: none; NULL: without quanta */
	struct pfc_watch *watch;    /* by port and priority; NULL: no watchdog */
	ps_t poll_at;		    /* PS_NEVER: nothing is paused */
	struct pfc_outage *outages; /* ascending */
	uint32_t outage_count, outage_next;
	ps_t outage_at; /* of the next that has anything to change; PS_NEVER: none */
	const struct pfc_class *at_port; /* pfc_class_at() ... */
	uint32_t port_stride;		 /* ... 0: the same at every port */
	/* Of the fabric's priorities: what all ports have, with the least alpha of any; behind
	 * them, where alpha differs, those of each port. */
	struct pfc_class classes[];
};

static inline const struct pfc_class *pfc_class_at(const struct pfc *pfc, uint32_t port,
						   uint8_t priority)
{
	return &pfc->at_port[port * pfc->port_stride + priority];
}

static inline struct pfc *pfc_of(struct sim_fc *fc)
{
	return container_of(fc, struct pfc, fc);
}

enum { PFC_QUANTA_MAX = 65535 };

static inline bool pfc_is_lossless(const struct pfc *pfc, uint8_t priority)
{
	return (uint32_t)pfc->params.lossless >> priority & 1;
}

/* pfc_xoff_xon.c; all but the first as in struct sim_fc_ops */
void pfc_move_bounds(struct pfc *pfc, uint64_t used); /* @used bytes of the pool are */
bool pfc_quiet(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress);
bool pfc_may_queue(const struct sim_fc *fc, uint8_t priority, uint32_t queue_bytes);
uint64_t pfc_limit(const struct sim_fc *fc, uint32_t port, uint8_t priority);
enum sim_fc_verdict pfc_on_buffered(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
				    uint8_t priority, uint32_t bytes, ps_t at);
void pfc_on_freed(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
		  uint32_t bytes, ps_t at);

/* pfc_peer.c */
void pfc_stop_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
		   ps_t at);
void pfc_release_peer(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority,
		      ps_t at);
void pfc_on_control(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
		    const struct sim_pkt *pkt);
void pfc_on_timer(struct sim_fc *fc, struct sim_thread *th, ps_t at);
void pfc_find_timer(struct pfc *pfc);

/* pfc_pause.c */
int pfc_refresh_init(struct pfc *pfc); /* 0 or -ENOMEM */
ps_t pfc_pause_time(const struct sim_port *port, uint64_t quanta);
void pfc_send(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
	      uint16_t quanta, ps_t at);
/* A pause that is sent again in time, if it runs out. */
void pfc_refresh(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority, ps_t at);
/* What the other end was told last of @priority, once more. */
void pfc_say(struct pfc *pfc, struct sim_thread *th, uint32_t port, uint8_t priority, ps_t at);
/* Until when @priority is paused; 0: it is not. */
void pfc_set_until(struct pfc *pfc, uint32_t port, uint8_t priority, ps_t until);

/* pfc_outage.c */
void pfc_outage_find(struct pfc *pfc); /* sets outage_at */
/* Those up to @at are over: to be called before anything changes that a later one would look at. */
void pfc_outage_pass(struct pfc *pfc, ps_t at);
void pfc_outage_timer(struct pfc *pfc, struct sim_thread *th, ps_t at);

/* pfc_watchdog.c */
int pfc_watch_init(struct pfc *pfc); /* 0 or -ENOMEM */
/* A pause of @priority came in at @port. False: it is not obeyed. */
bool pfc_watch_pause(struct pfc *pfc, uint32_t port, uint8_t priority, ps_t at);
void pfc_watch_poll(struct pfc *pfc, struct sim_thread *th, ps_t at);

#endif

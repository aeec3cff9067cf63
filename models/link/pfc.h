/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PFC_H
#define MODELS_PFC_H

/* Priority flow control (IEEE 802.1Qbb), which knows eight priorities, behind sim/fc.h. In a fabric
 * of sixteen none is lossless, and this is the buffer alone. The buffer of a switch is a shared
 * pool less the headrooms and reserves; what came in at one port and priority may hold up to a
 * threshold of it, fixed or a fraction of what is free. Beyond, XOFF goes back, and what still
 * arrives in excess is kept in the headroom of that port and priority. A host uses the gate alone.
 */
#include "sim/fc.h"

enum { PFC_FRAME_BYTES = 84 }; /* 64, preamble and gap */

/* One priority, at every port. */
struct pfc_class {
	/* What came in at one port may hold up to this: a share of what is free of the pool
	 * (dynamic threshold, Choudhury and Hahne 1998), or with alpha_den 0 so many bytes,
	 * UINT32_MAX: all of it. Beyond, a lossless class sends XOFF, another one drops. */
	uint32_t alpha_num, alpha_den, xoff_bytes;
	uint32_t resume_bytes;	/* XON this much below the threshold */
	uint32_t reserve_bytes; /* of each port, beside the pool: filled first */
	/* Frames that would make the queue of a port longer than this share of what is free are
	 * dropped, where the switch asks; den 0: no limit. */
	uint32_t queue_num, queue_den;
};

struct pfc_share { /* of what is free of the pool; den > 0 */
	uint32_t num, den;
};

/* For ports that are paused for ever (as the PFC watchdog of SONiC has it). */
struct pfc_watchdog {
	ps_t detection, restoration;
	ps_t poll;  /* between two looks, > 0 */
	bool drops; /* a storm's port and priority drops; otherwise it sends in spite of pauses */
};

struct pfc_params {
	uint64_t buffer_bytes;
	uint8_t lossless; /* mask of priorities; the others share the pool until it is full. 0 in a
			   * fabric of sixteen priorities */
	bool dynamic;
	uint32_t alpha_num, alpha_den;	 /* dynamic: threshold = free * num / den */
	uint32_t xoff_bytes;		 /* static */
	uint32_t resume_bytes;		 /* XON this much below the threshold; 2 MTUs by default */
	uint32_t reserve_bytes;		 /* of each port and lossless priority, beside the pool */
	const struct pfc_class *classes; /* by priority, instead of the five above; NULL: none */
	/* Mask of priorities whose alpha, which is set, is that of the port; NULL: none. */
	const struct pfc_share *shares;
	uint8_t alpha_by_port;
	uint32_t headroom_bytes;	     /* of each port and lossless priority ... */
	const uint32_t *headrooms;	     /* ... unless given by port */
	uint64_t headroom_pool_bytes;	     /* that they share; 0: each has its own in full */
	const struct pfc_watchdog *watchdog; /* NULL: none */
	bool quanta;	       /* pauses run out and are refreshed at half their time */
	uint16_t pause_quanta; /* of an XOFF; 0: 65535 */
	ps_t response_delay;   /* until the other end obeys, its interface included */
};

/* For @node, which is sealed; buffer_bytes 0: a gate only. NULL: no memory. CHECKs that the pool is
 * larger than headrooms and reserves. */
struct sim_fc *pfc_create(struct sim_node *node, const struct pfc_params *params);
/* Of one that pfc_create() has made: the bytes of its buffer that all ports share, less headrooms
 * and reserves; 0: a gate only. */
uint64_t pfc_pool_bytes(const struct sim_fc *fc);

/* Before the run: the link of @port changes at @at. What this end sends is lost from then on, and
 * it obeys no pause that it has heard; or, @back, it is heard again, and says once more what it has
 * said. In any order. -ENOMEM. */
int pfc_outage(struct sim_fc *fc, uint32_t port, ps_t at, bool back);

/* What may still come in after XOFF was decided (IEEE 802.1Qbb annex N, in bytes on the wire,
 * rounded up): a frame just begun here, the pause frame, cable, interfaces and response, a frame
 * just begun there. */
struct pfc_headroom {
	uint64_t rate_bps;
	ps_t delay;		  /* of the cable, one way */
	ps_t response_delay;	  /* of the other end, interfaces included */
	uint32_t frame_bytes_max; /* here, of any priority */
	uint32_t lossless_bytes_max;
};
uint32_t pfc_headroom_bytes(const struct pfc_headroom *link);

#endif

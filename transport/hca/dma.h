/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_DMA_H
#define HCA_DMA_H

/* The seam between the adapter and memory. What lies between them may take its time: a bus, or
 * another process. So the adapter never waits for memory and never holds a pointer into it: it
 *hands an operation over, and goes on; tokens (queue pair, sequence, addresses that only the memory
 *side understands) come back when something of it has happened.
 *
 * Without a memory side (struct hca_device_params, dma == NULL) fetch, start on the wire and
 * placement are one instant: the operations of the region's kind (transport/hca/mem.h) answer
 * inside hca_input() and hca_output(), and nothing of this page is called. Otherwise:
 *
 *	sending		hca_dma_output() decides: whose packet, its PSN, the gap that its rate
 *			leaves, what congestion control counts. What the packet carries is handed
 *over in HCA_DMA_FETCH operations, from inside that call; the packet waits for its bytes and then
 *for the port, in the world's transmit buffer, which keeps the order of a queue pair. When it
 *starts on the wire hca_dma_start() hears of it: timers, round trips, counters and the completions
 *of UC and UD count from there; or says that it must not go: its queue pair was reset, has failed
 *or is gone. What was fetched before a NAK still goes out. receiving	hca_input() decides and
 *answers; an ACK says that a packet was taken in order and handed to memory, not that memory shows
 *it. Its bytes are HCA_DMA_PLACE operations.
 *	posting		where there are doorbells: HCA_DMA_DOORBELL tells the adapter of a request,
 *			which it may have to read; hca_dma_posted() says that it knows it.
 *	completing	an entry of a completion queue is written like everything else,
 *			HCA_DMA_COMPLETE; hca_dma_completed() says that it is there, and only then
 *			it can be polled and raises its event.
 *	atomics		HCA_DMA_ATOMIC reads the word; hca_dma_atomic() takes what was found, and
 *			says what to write. The answer goes out from then on.
 *
 * What the memory side owes, of what one adapter hands over:
 *  - placements of one region, and everything that touches the same bytes, reach memory in the
 *    order in which they were handed over; regions do not wait for each other;
 *  - an operation that is @fenced reaches memory when all placements and atomics of its queue pair
 *    that were handed over before it are visible: the completion behind its data, a READ or an
 *    atomic behind a WRITE;
 *  - an atomic holds its word from its fetch until what it writes is visible: to every other
 *    operation it is one;
 *  - completions of one queue become visible in order;
 *  - memory is read when the read reaches it and written when the write does, last bytes last;
 *  - after release() nothing touches the region any more: what was under way has happened. */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

struct hca_device;
struct hca_qp;
struct hca_tx;
struct wire_pkt;

enum hca_dma_kind {
	HCA_DMA_FETCH,
	HCA_DMA_PLACE,
	HCA_DMA_ATOMIC,
	HCA_DMA_COMPLETE,
	HCA_DMA_DOORBELL
};

/* An operation. */
struct hca_dma {
	uint64_t sequence; /* its name: grows with all that this adapter hands over, from 1 */
	uint32_t qpn;
	uint8_t kind;	/* enum hca_dma_kind */
	bool fenced;	/* see above */
	bool synthetic; /* the region has no bytes: they are a function of (stream, offset) */
	bool is_word;	/* what is placed is one number of 8 bytes in this machine's byte order */
	bool is_swap;	/* atomic: compare and swap; else fetch and add */
	bool by_reference; /* fetch, synthetic: the packet carries (stream, offset) instead */
	uint32_t cqn;	   /* complete: the queue's number */
	uint32_t psn; /* atomic: of its request; doorbell: requests posted so far, which wrap */
	/* The bytes: all kinds but complete and doorbell. */
	uint32_t region;  /* struct hca_mr, number */
	uint16_t place;	  /* and which memory of the machine that is in */
	uint64_t address; /* as its owner gave it to hca_mr_create(), and ... */
	uint64_t offset;  /* ... this added already */
	uint64_t stream;
	uint32_t length; /* doorbell: of the request in the queue */
	uint32_t at;	 /* fetch: where in the payload of its packet they go */
	uint64_t swap_add, compare;
};

/* A packet that is decided, until it starts on the wire. The world keeps it and looks at nothing in
 * it. */
struct hca_dma_ticket {
	uint64_t sequence;
	struct hca_qp *qp; /* as long as nothing of the device has ended since */
	uint32_t qpn, psn; /* psn: unreliable, or @is_timed */
	uint32_t end_psn;  /* a request: one past the last PSN that it stands for */
	uint16_t length;
	uint8_t kind;	    /* enum hca_turn_kind */
	bool again;	    /* was sent before */
	bool is_end;	    /* of its work request */
	bool is_timed;	    /* the ACK that it asks for says how long it took */
	uint32_t again_psn; /* if @again */
};

struct hca_dma_ops {
	const char *name;
	/* Every way takes the same time, always. Then nothing is overtaken, and of memory without
	 * bytes there is nothing to say but when: the world counts from the packet that is sent
	 * (synthetic) instead of an HCA_DMA_FETCH that is not fenced, and from on_place() of its
	 * observer, which is called at once, instead of an HCA_DMA_PLACE. Both may still come, from
	 * packets that carry what memory has not. */
	bool is_even;
	/* Posted requests are handed over, too, and the adapter knows of one when hca_dma_posted()
	 * says so; else at once. */
	bool has_doorbells;
	/* @bytes: of a placement into memory that has some; they are the caller's again
	 * afterwards. From inside a call into the adapter, which must not be called back then. */
	void (*hand)(void *world, const struct hca_dma *dma, const uint8_t *bytes);
	/* The region is about to be deregistered. */
	void (*release)(void *world, uint32_t region);
};

/* hca_output() for a device with a memory side: pkt->payload is left as it is but for inline bytes;
 * fetches are handed over meanwhile. */
bool hca_dma_output(struct hca_device *dev, uint32_t priorities, struct wire_pkt *pkt,
		    struct hca_tx *ret_tx, struct hca_dma_ticket *ret_ticket, ps_t now);
/* The adapter knows of the request that @dma, a doorbell, was about, and of all before it. */
void hca_dma_posted(struct hca_device *dev, const struct hca_dma *dma, ps_t now);
/* The packet starts on the wire now. False: it must not, and vanishes. */
bool hca_dma_start(struct hca_device *dev, const struct hca_dma_ticket *ticket, ps_t now);
/* What an atomic that found @original leaves behind. */
static inline uint64_t hca_dma_result(const struct hca_dma *dma, uint64_t original)
{
	if (!dma->is_swap)
		return original + dma->swap_add;
	return original == dma->compare ? dma->swap_add : original;
}
/* The word of an atomic is read, it was @original; returns what is to be written. */
uint64_t hca_dma_atomic(struct hca_device *dev, const struct hca_dma *dma, uint64_t original,
			ps_t now);
/* The oldest completion of that queue that was not visible yet is now. The queue may be gone. */
void hca_dma_completed(struct hca_device *dev, uint32_t cqn, ps_t now);

#endif

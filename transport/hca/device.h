/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_DEVICE_H
#define HCA_DEVICE_H

/* One adapter. It decides everything about queue pairs and does no input or output: the world
 * around it (models/host in virtual time, transport/nic in real time) brings packets and the time
 * and takes packets away. One thread at a time.
 *
 *	hca_input(dev, pkt, rx, now)	a packet has arrived
 *	hca_output(dev, ...)		the port is free: what shall it send?
 *	hca_next_at(dev, ...)		when to ask again, if nothing happens before */
#include "transport/cc/cc.h"
#include "transport/hca/cq.h"
#include "transport/hca/dma.h"
#include "transport/hca/framing.h"
#include "transport/hca/mcast.h"
#include "transport/hca/mem.h"
#include "transport/hca/mw.h"
#include "transport/hca/qp.h"
#include "transport/hca/raw.h"
#include "transport/hca/srq.h"
#include "transport/hca/xrc.h"
#include "transport/wire/pkt.h"

/* What is sent again when a packet is lost, and what a responder does with those behind it. */
enum hca_retransmit {
	HCA_GO_BACK_N, /* everything from the lost packet on (IBTA 9.7.5.2) */
	HCA_GO_BACK_0, /* the message from its first packet on: early RoCE adapters (Guo et al.,
			* SIGCOMM 2016, section 4.1). The responder forgets what it has of the
			* message */
	HCA_SELECTIVE, /* the lost packets alone (IRN: Mittal et al., SIGCOMM 2018): the responder
			* places what comes before its turn, and a NAK says what that was. Sequence
			* NAKs count as no retries; psn_window bounds what is under way. Of two
			* WRITEs under way to the same bytes either may be the last to be placed */
};
/* Which status an error has where adapters differ. */
enum hca_statuses {
	HCA_STATUSES_HARDWARE, /* IBTA 11.6.2: what was wrong at the end that is told */
	/* Linux' rxe (rxe_resp.c, rxe_comp.c): a receive fails with the status of the NAK that goes
	 * back (REM_INV_REQ_ERR, REM_ACCESS_ERR), LOC_QP_OP_ERR where its memory refuses; a
	 * response that does not fit gives FATAL_ERR. */
	HCA_STATUSES_RXE,
};
enum { HCA_SELECTIVE_WINDOW_MAX = 1 << 15, HCA_FEW_PACKETS = 3 };

/* How this adapter behaves where IBTA leaves a choice; from a hardware profile. */
struct hca_profile {
	uint64_t line_rate_bps; /* of the port: the cap of pacing */
	uint32_t mtu_max;	/* bytes; a queue pair may have it, too, or a power of two below */
	enum hca_retransmit retransmit; /* both ends of a queue pair need the same */
	/* HCA_SELECTIVE: the timeout with at most HCA_FEW_PACKETS under way, and with more, instead
	 * of that of the queue pair (where that is 0, there is none). */
	ps_t rto_low, rto_high;
	uint32_t psn_window; /* unacknowledged packets a QP may have, 1..2^23 - 1 */
	uint32_t ack_every;  /* AckReq (so an ACK) at every N-th packet; 0: end of message only.
			      * The last packet of a message always asks. rxe: 66; default 64 */
	bool ack_on_data_priority; /* ACK, NAK and READ responses on the QP's priority, or ... */
	uint8_t ack_priority;	   /* ... on this one */
	uint8_t cnp_priority;	   /* NVIDIA: 6 */
	bool cnp_enabled;	   /* answers CE with CNP (notification point) */
	ps_t cnp_interval; /* least time between two CNPs of a QP: 50 us in the DCQCN paper, 4.1 */
	bool cnp_keeps_marks; /* CE within it makes a CNP at its end; else it makes none */
	bool cnp_on_gap;      /* a packet that comes before its turn, and makes a NAK, is like CE */
	const struct cc_ops *cc; /* reaction point */
	struct cc_params cc_params;
	uint32_t wire_overhead; /* bytes around BTH..ICRC on the wire, preamble and gap included */
	struct hca_framing framing; /* what packets take on the wire instead, where it is set */
	enum hca_statuses statuses;
	uint32_t qp_max, cq_max, mr_max, pd_max, srq_max; /* objects of the device */
	uint32_t wr_max, sge_max, cqe_max, inline_max, rd_atomic_max;
	bool mw_is_2a; /* memory windows of type 2 are of type 2A, not 2B */
};

/* What the world is told, at the instant it happens, from inside the calls below. It must not call
 * back into the device. Every member is filled. */
struct hca_observer {
	void (*on_wc)(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now);
	void (*on_cq_event)(void *world, void *cq_owner, ps_t now); /* an armed CQ fired */
	/* Bytes of a request or a response were placed; not where there is a memory side, which
	 * knows it before the adapter (an even one: which is on its way to knowing it). @is_word:
	 * they are one number of 8 bytes, of an atomic, in this machine's byte order; all else is
	 * the same bytes everywhere. */
	void (*on_place)(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
			 bool is_word, ps_t now);
	/* enum ibv_event_type; @owner as given at creation, of a QP, a CQ or an SRQ. */
	void (*on_async)(void *world, void *owner, int event, ps_t now);
};

/* Where a device with HCA_SELECTIVE has the memory from for what it knows of packets under way: how
 * much that is goes with them, and on the packet path nothing else is taken. Called from inside the
 * calls below. */
struct hca_room {
	/* Undefined bytes, aligned for any object. NULL: there are none, and queue pairs know less:
	 * what they have no room for is as if it were lost. */
	void *(*take)(struct hca_room *room, size_t bytes);
	void (*give_back)(struct hca_room *room, void *piece, size_t bytes); /* as it was taken */
};

enum { HCA_PRIORITY_COUNT = 8, HCA_PRIORITY_COUNT_MAX = 16 };

struct hca_lender;

struct hca_device_params {
	uint64_t key[2]; /* of QPNs and rkeys: the seed and the host's name, or getrandom() */
	uint32_t qpn_slot, qpn_slot_bits; /* fixed high bits of every QPN (several processes) */
	uint32_t priority_count;	  /* of the fabric, 1..16; 0: HCA_PRIORITY_COUNT */
	struct hca_profile profile;
	const struct hca_observer *observer;
	const struct hca_dma_ops *dma; /* the memory side; NULL: memory answers at once */
	struct hca_room *room;	       /* the caller's; NULL: that of the process */
	struct hca_lender *lender;     /* the caller's; NULL: none */
	void *world;
};

/* Counters under the names that mlx5 and rxe use (linux drivers/infiniband/hw/mlx5/counters.c). */
struct hca_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* bytes: payload */
	uint64_t rx_write_requests, rx_read_requests, rx_atomic_requests;
	uint64_t out_of_buffer;	  /* receive queue empty: RNR NAK sent; UC, UD: dropped */
	uint64_t out_of_sequence; /* responder saw a gap, or on UC another PSN than the next */
	uint64_t duplicate_request;
	uint64_t packet_seq_err; /* NAK 0x60 received */
	uint64_t implied_nak_seq_err;
	uint64_t rnr_nak_retry_err; /* RNR NAKs received */
	uint64_t local_ack_timeout_err;
	uint64_t req_transport_retries_exceeded, req_rnr_retries_exceeded;
	uint64_t req_remote_access_errors, req_remote_invalid_request, req_cqe_error,
		resp_cqe_error;
	uint64_t resp_local_length_error;
	uint64_t resp_remote_access_errors; /* refused: key, bounds or rights of the memory */
	uint64_t np_ecn_marked_roce_packets, np_cnp_sent, rp_cnp_handled, rp_cnp_ignored;
	uint64_t packets_retransmitted;
	uint64_t rx_unknown_qp, rx_wrong_state, rx_dropped; /* silently dropped, by reason */
	uint64_t qkey_violations; /* and datagrams with another Q_Key than their receiver's */
};

/* NULL: no memory. */
struct hca_device *hca_device_create(const struct hca_device_params *params);
/* Of queue pairs from now on; there is none yet. */
void hca_device_set_qpn_slot(struct hca_device *dev, uint32_t slot, uint32_t slot_bits);
void hca_device_destroy(struct hca_device *dev); /* takes every object along; NULL allowed */
const struct hca_counters *hca_device_counters(const struct hca_device *dev);
const struct hca_profile *hca_device_profile(const struct hca_device *dev);
uint32_t hca_device_qp_count(const struct hca_device *dev);   /* there are now */
uint32_t hca_device_priorities(const struct hca_device *dev); /* how many the fabric has, 1..16 */

int hca_pd_create(struct hca_device *dev, struct hca_pd **ret_pd); /* -ENOMEM */
int hca_pd_destroy(struct hca_device *dev, struct hca_pd *pd);	   /* -EBUSY */

/* From the @nth message on that needs a receive (1: the next), @count are answered as if there were
 * none, of RC; what is sent again counts again. 0: no more. */
void hca_device_starve(struct hca_device *dev, uint64_t nth, uint64_t count);
/* All of them, until it is over. */
void hca_device_storm(struct hca_device *dev, bool begins);
/* What the port is said to be; whether packets come and go is the world's affair. */
void hca_device_set_port(struct hca_device *dev, bool is_down);
bool hca_device_port_is_down(const struct hca_device *dev);

/* How a packet came; what queue pairs need of the network part. */
struct hca_rx {
	uint8_t ecn;		      /* enum wire_ecn */
	const struct wire_path *path; /* of a datagram, whose receive gets it; others need none */
};

/* A packet for this device. Nothing in it is trusted. pkt->payload stays the caller's. */
void hca_input(struct hca_device *dev, const struct wire_pkt *pkt, const struct hca_rx *rx,
	       ps_t now);

/* How the packet shall travel. */
struct hca_tx {
	const struct wire_path *path; /* valid until the next call */
	uint8_t priority;
	uint8_t ecn; /* enum wire_ecn: ECT(0) where CC listens */
};

/* The packet that the port sends at @now, among those whose priority is in @priorities (bit mask):
 * the highest priority first, responses before requests, QPs in turn. The caller gives room for a
 * payload of the MTU at pkt->payload; it holds bytes afterwards where pkt->length > 0 and not
 * pkt->synthetic. False: nothing to send now. The bytes are those in memory at @now. Of a device
 * with a memory side: hca_dma_output(). */
bool hca_output(struct hca_device *dev, uint32_t priorities, struct wire_pkt *pkt,
		struct hca_tx *ret_tx, ps_t now);

/* Whom hca_output() would make a packet for now, if its queue pair, *ret_qp, has one to send: the
 * path to the other end and its number. NULL: nobody, or a datagram, which is for anybody. */
const struct wire_path *hca_output_path(struct hca_device *dev, uint32_t priorities,
					struct hca_qp **ret_qp, uint32_t *ret_qpn, ps_t now);
/* A way that loses nothing for want of room: until it is reset the queue pair may have as many as
 * @packets under way, if psn_window is less. Not where a window is congestion control's. */
void hca_qp_widen(struct hca_qp *qp, uint32_t packets);

/* When a device wants to be called; every device begins with it, for the world to read. */
struct hca_agenda {
	ps_t wake_at;	/* of the first timer, or of the first packet whose rate lets it go */
	uint32_t ready; /* bit mask of priorities: something may be sent at once */
};

/* The earliest time at which hca_output() with @priorities may have a packet or hca_advance() work
 * to do: @now or earlier means at once, PS_NEVER not before an input or a post. O(1). */
static inline ps_t hca_next_at(const struct hca_device *dev, uint32_t priorities)
{
	const struct hca_agenda *agenda = (const void *)dev;

	return agenda->ready & priorities ? 0 : agenda->wake_at;
}

/* Runs the timers that are due (retransmission, RNR). hca_output() does so by itself; a world whose
 * port is paused or busy calls this, so that time passes for the timers too. */
void hca_advance(struct hca_device *dev, ps_t now);

/* Time begins @by later: what was at t is at t - @by from now on, before every call. For worlds
 * that outlive ps_t (transport/nic). hca_advance() has been called for @by or later; the congestion
 * control has no memory of its own (state_bytes 0: none, or a form of DCQCN but NVIDIA's). */
void hca_device_move_epoch(struct hca_device *dev, ps_t by);

#endif

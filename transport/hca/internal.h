/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_INTERNAL_H
#define HCA_INTERNAL_H

/* What the parts of the adapter share; never leaves this folder.
 *
 *	post.c       work requests into the rings   queues.c     the rings
 *	requester.c  send queue -> requests         completer.c  responses -> completions
 *	responder.c  requests -> memory             respond.c    -> responses
 *	uc.c, ud.c   responders; unreliable.c both  state.c      attributes of transitions
 *	sched.c      whose turn it is, and when     retry.c      what is sent again
 *	ooo.c        requests before their turn     recover.c    which packets were lost
 *	rtt.c        ACKs -> congestion control     cnp.c        CE -> CNP -> the same
 *	copy.c       packets <-> memory: at once    dma.c        by a memory side
 *	srq.c        receives that many take        slab.c       memory of many alike */
#include "transport/hca/device.h"
#include "transport/hca/loan.h"
#include "transport/hca/watch.h"
#include "transport/wire/psn.h"
#include "util/check.h"
#include "util/idmap.h"

enum { HCA_QPN_BITS = 24 };

/* A binary heap of instants. An alarm is in at most one heap. */
struct hca_alarm {
	ps_t at;
	uint32_t place; /* in the heap, from 1; 0: in none */
	uint32_t qpn;	/* breaks ties, by hca_heap's key; HCA_ALARM_OF_CQ: no QP's */
};

/* The alarms of completion queues: with the number of one, or of all of them together. */
enum { HCA_ALARM_OF_CQ = 1 << HCA_QPN_BITS };

static inline bool hca_alarm_is_qp(const struct hca_alarm *alarm)
{
	return alarm->qpn - 1 < HCA_ALARM_OF_CQ - 1;
}

struct hca_heap_entry {
	ps_t at;
	struct hca_alarm *alarm;
};

struct hca_heap {
	struct hca_heap_entry *entries; /* from 1 */
	uint32_t count, capacity;
	uint64_t key;
};

int hca_heap_reserve(struct hca_heap *heap, uint32_t capacity); /* 0 or -ENOMEM */
void hca_heap_fini(struct hca_heap *heap);
void hca_heap_set(struct hca_heap *heap, struct hca_alarm *alarm, ps_t at); /* in it or not */
void hca_heap_move(struct hca_heap *heap, ps_t by); /* all are later than @by, and now less */
void hca_heap_remove(struct hca_heap *heap, struct hca_alarm *alarm); /* not in it: nothing */

static inline ps_t hca_heap_first_at(const struct hca_heap *heap)
{
	return heap->count ? heap->entries[1].at : PS_NEVER;
}

struct hca_list {
	struct hca_list *next, *prev;
};

static inline void hca_list_init(struct hca_list *list)
{
	list->next = list->prev = list;
}

static inline bool hca_list_is_empty(const struct hca_list *list)
{
	return list->next == list;
}

static inline void hca_list_add_tail(struct hca_list *list, struct hca_list *node)
{
	node->next = list;
	node->prev = list->prev;
	list->prev->next = node;
	list->prev = node;
}

static inline void hca_list_remove(struct hca_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

/* What a QP may have to send: each kind waits for its own turn. At one instant the responses of a
 * QP go before its requests. */
enum hca_turn_kind {
	HCA_TURN_CNP,
	HCA_TURN_RESPONSE,
	HCA_TURN_REQUEST,
	HCA_TURN_COUNT,
	HCA_TURN_UNRELIABLE = HCA_TURN_COUNT, /* in the place of requests: UC, UD */
};
enum hca_turn_state { HCA_TURN_IDLE, HCA_TURN_READY, HCA_TURN_PACED };

struct hca_turn {
	union {
		struct hca_list node;	/* of the device's list for (priority, kind): READY */
		struct hca_alarm alarm; /* PACED */
	};
	struct hca_list *list; /* that of (priority, kind) */
	struct hca_qp *qp;
	uint8_t kind, state, priority;
};

struct hca_pd {
	struct hca_list node;
	uint32_t use_count; /* QPs and regions */
};

struct hca_cq {
	struct hca_list node;
	struct hca_device *dev;
	void *owner;
	struct hca_wc *ring;
	uint32_t mask, depth, head, tail; /* counters that wrap */
	uint32_t cqn, written; /* with a memory side: its number; written >= tail, as it sees it */
	uint32_t use_count;
	enum hca_cq_arm arm;
	bool overflowed, lost; /* lost: a completion, and its users live still */
	bool ignores_overrun, is_moderated;
	/* Moderated: what fires the armed queue, and what waits for it since it was armed. */
	uint32_t event_count, waiting_count;
	ps_t event_after;
	struct hca_alarm event_alarm;
};

/* A local scatter/gather entry; @slot saves the permutation of the key. */
struct hca_local_sge {
	uint64_t addr;
	uint32_t length, lkey, slot;
};

struct hca_wqe { /* of a send queue; first what every packet of it reads */
	uint32_t length;
	uint32_t first_psn, packets; /* PSNs that it takes; LOCAL_INV: none */
	uint8_t opcode;		     /* enum hca_wr_opcode */
	uint8_t flags;		     /* enum hca_send_flags */
	bool answered; /* READ, atomic: done when the response is here, not when acknowledged */
	bool held;     /* has to be looked at before it starts: answered, fence, LOCAL_INV */
	uint32_t sge_count;
	uint32_t word; /* immediate in host order, rkey to invalidate, or 0 */
	struct hca_local_sge *sge;
	uint8_t *inline_bytes;	     /* INLINE */
	uint64_t wr_id, remote_addr; /* UD: of the QP it is for, its number */
	uint32_t rkey;		     /* UD: its Q_Key */
	uint32_t srqn;		     /* XRC */
	uint64_t compare_add, swap;
};

struct hca_rwqe { /* of a receive queue */
	uint64_t wr_id;
	uint32_t length, sge_count;
	struct hca_local_sge *sge;
};

/* One bit a PSN, of some PSNs in a row; a power of two. */
struct hca_psn_set {
	uint64_t *words;
	uint32_t mask;
};

static inline uint32_t hca_psn_set_words(uint32_t mask)
{
	return mask / 64 + 1;
}

static inline bool hca_psn_set_has(const struct hca_psn_set *set, uint32_t psn)
{
	return set->words[(psn & set->mask) / 64] >> (psn % 64) & 1;
}

static inline void hca_psn_set_put(const struct hca_psn_set *set, uint32_t psn, bool in)
{
	uint64_t *word = &set->words[(psn & set->mask) / 64];
	const uint64_t bit = (uint64_t)1 << (psn % 64);

	*word = in ? *word | bit : *word & ~bit;
}

/* A READ or an atomic is at the responder, before its turn. */
#define HCA_SENT_WAITS UINT64_MAX

/* HCA_SELECTIVE, at the requester: what is answered of the window that begins at una_psn, and when
 * each packet of it was last sent. Networks keep the order of a queue pair: what was sent before
 * something that has come, and has not come itself, is lost. There is room for a few packets here,
 * and for more of them while there are more under way. */
struct hca_recovery {
	struct hca_psn_set done; /* need not be sent again */
	uint64_t *sent;		 /* by PSN: the how manieth packet it was; or HCA_SENT_WAITS */
	uint32_t most;		 /* PSNs that there may be room for, by the window of the device */
	uint64_t few_sent[16], few_done;
	uint64_t sent_count;
	uint32_t done_count;
	uint32_t receives;    /* that the posted requests use */
	uint64_t lost_before; /* what was sent before that one and is not done is lost */
	uint32_t acked_psn;   /* everything before it is executed */
	uint32_t seen_psn;    /* READs: responses before it should have come ... */
	uint32_t asked_psn;   /* ... and were asked for again up to there */
	bool is_late;	      /* the short timeout is over, the long one not */
};

/* HCA_SELECTIVE, at the responder: requests that came before their turn. Their payload is in its
 * place, but for the end of a message that lacks something: of those one is kept. There is room for
 * them while something is missing. */
struct hca_ooo {
	struct hca_psn_set here, refused; /* refused: came, but could not be taken */
	struct wire_pkt *pkts;		  /* by PSN, without payload; NULL: there is no room */
	size_t piece_bytes;		  /* all of the room */
	uint32_t packets, end_psn;	  /* that are awaited in all, 0: not known; one past them */
	uint32_t ahead_max;		  /* so far before its turn may one come */
	uint32_t count, refused_count;
	uint32_t turn_psn; /* that was expected last */
	bool is_over;	   /* all that are awaited have come */
	uint32_t sack_psn; /* which came last */
	bool is_kept;
	struct wire_pkt kept;
	uint8_t *kept_bytes;
	struct hca_repair { /* parts of READs that are asked for again */
		uint32_t psn, end_psn;
	} repairs[16];
	uint32_t repair_first, repair_count;
};

/* The requester. PSNs grow: una <= next <= high, and a go-back moves next back to una. Counters of
 * the ring: una (oldest not completed) <= next (to be sent) <= known (to the adapter) <= tail. */
struct hca_sq {
	struct hca_wqe *ring; /* behind it lists, paths and inline bytes: queues.c */
	uint32_t mask;
	uint32_t tail, known, next, una;
	uint32_t next_psn, una_psn,
		high_psn;   /* to be sent; oldest without answer; never sent yet */
	uint32_t since_ack; /* packets since the last AckReq */
	uint32_t window;    /* packets that may be under way */
	uint8_t retry_cnt, rnr_retry, retry_left, rnr_left;
	bool retrying; /* a NAK was obeyed and nothing has moved since */
	bool rnr_wait;
	uint8_t exceptions;	  /* enum hca_sq_exception: what makes the next packet another than
				     @next_psn */
	uint8_t failed_status;	  /* enum hca_wc_status */
	uint8_t rd_max, rd_count; /* READs and atomics sent and not answered */
	bool tells_drained;	  /* SQD: an event was asked for, and not raised yet */
	uint8_t timeout_code;	  /* as asked for; so @start_psn */
	uint32_t end_psn;	  /* of the next WQE to be posted */
	ps_t timeout;		  /* 2T, PS_NEVER: none */
	ps_t timer_at;		  /* when it fires; the alarm may be set earlier, never later */
	uint64_t retransmitted;	  /* packets */
	uint32_t resume_psn;	  /* of the last READ that was resumed: a response may start here */
	uint32_t wire_psn; /* with a memory side: one past the last that has started on the wire */
	uint32_t depth;
	uint32_t start_psn;
	struct hca_recovery *recovery; /* HCA_SELECTIVE */
	struct wire_path *paths;       /* UD: where each WQE of the ring goes */
};

/* For a congestion control that takes ACKs: when packets that ask for one were sent, oldest first.
 * Where there are too many, the latest are not kept, and their ACKs tell no round trip. */
struct hca_rtt {
	struct hca_stamp {
		uint32_t psn;
		ps_t sent_at; /* and 1 ps */
	} stamps[256];
	uint32_t first, count;
	uint64_t acked; /* bytes */
	/* The responder: something since the last ACK was marked; what the last packet gathered. */
	bool is_marked;
	uint8_t hop_count;
	uint64_t hops[WIRE_INT_HOPS];
};

enum hca_sq_exception {
	HCA_SQ_FAILED = 1, /* the WQE at @next cannot be sent: it fails when all before are done */
	HCA_SQ_LOST = 2,   /* HCA_SELECTIVE: there are lost packets */
};

/* What a READ or an atomic leaves behind, to be answered and, if asked for again, answered again.
 */
struct hca_resource {
	uint64_t va;
	uint64_t original; /* atomic */
	uint32_t rkey, slot, length;
	uint32_t first_psn, packets, msn;
	uint32_t start_psn, cursor_psn, end_psn; /* of the stream of responses; end: one past */
	uint32_t stream_end;			 /* bytes from @va */
	uint8_t opcode;
	bool is_atomic, pending, replay;
	bool awaits; /* atomic: the memory side has not read the word yet */
};

/* The first number of a READ or an atomic: that counters wrap shows early, and everywhere. */
#define HCA_RES_START UINT32_MAX
#define HCA_STORM ((uint64_t)1 << 63) /* of starve_count */

/* The responder. */
struct hca_rq {
	uint32_t expected_psn, msn;
	bool in_message, is_send; /* the message at hand */
	bool wqe_taken;		  /* it uses the receive WQE at @head */
	bool nak_state;		  /* a sequence or RNR NAK was sent; silence until expected_psn */
	bool ack_due, ack_fatal, is_established;
	bool is_placed; /* HCA_SELECTIVE: the payload of the packet at hand came early */
	uint8_t ack_syndrome;
	uint32_t ack_psn, ack_msn;
	uint32_t placed; /* bytes of the message so far */
	uint32_t write_length, write_key, write_slot;
	uint32_t res_pending; /* with repairs */
	uint64_t write_va;
	struct hca_rwqe *ring;
	uint32_t mask, head, tail, depth;
	struct hca_resource *resources;
	uint32_t res_mask, res_max;   /* res_max: how many are remembered */
	uint32_t res_first, res_next; /* wrap; first: none before it is pending */
	struct hca_ooo *ooo;	      /* HCA_SELECTIVE */
};

static inline uint32_t hca_repair_count(const struct hca_rq *rq)
{
	return __builtin_expect(rq->ooo != NULL, false) ? rq->ooo->repair_count : 0;
}

/* What a queue pair hears, by its state and its halves. */
enum { HCA_HEARS_REQUESTS = 1, HCA_HEARS_RESPONSES = 2 };

/* Three stretches: the responder, what both need, the requester. Of a queue pair that has one half
 * alone (struct hca_qp_init) memory holds two of them, and a pointer to it is what a pointer to the
 * whole would be: nothing of the other half may be touched. Within each what packets touch stands
 * together. The path comes first for its end. */
struct hca_qp {
	/* The responder. */
	ps_t cnp_next_at;	/* the notification point sends none before */
	uint64_t response_from; /* see request_from */
	uint32_t recv_sge_max;
	uint32_t rq_psn; /* as asked for, as are the next ones */
	uint8_t min_rnr_timer;
	uint8_t res_most; /* that rq.res_max may be */
	struct hca_cq *recv_cq;
	struct hca_srq *srq; /* NULL: receives of its own */
	struct hca_turn cnp_turn, response_turn;
	struct hca_rq rq;
	/* Both. */
	struct wire_path path;
	uint32_t mtu;
	struct hca_device *dev;
	struct hca_pd *pd;
	uint32_t qpn, dest_qpn;
	uint8_t opcodes_end; /* all below are for it: RC 0x20; UC, UD 0, and others look closer */
	uint8_t state, hears, type, priority;
	uint8_t half;			    /* enum hca_qp_half */
	bool signal_all : 1, tells_all : 1; /* the latter: signal_all, or somebody watches */
	uint8_t port;
	uint32_t access;
	uint16_t pkey_index;
	struct hca_rtt *rtt;	/* NULL: not metered */
	struct hca_cq *send_cq; /* here, for a responder has room for it */
	void *owner;
	/* The requester. */
	struct hca_sq sq;
	struct hca_turn request_turn;
	struct hca_alarm timer;
	ps_t next_start; /* pacing: of requests and READ responses */
	struct cc_flow cc;
	uint64_t gap_rate_bps; /* the last gap computed */
	ps_t gap;
	uint32_t gap_bytes;
	uint32_t send_sge_max, inline_max;
	uint32_t qkey;
	/* With a memory side: packets decided before this one do not start any more. */
	uint64_t request_from;
	/* XRC_RECV alone: a requester has no memory for it. */
	struct hca_xrcd *xrcd;
	uint32_t open_count; /* ways to it besides the first */
};

static inline bool hca_has_requester(const struct hca_qp *qp)
{
	return qp->half != HCA_RESPONDER;
}

/* RC or XRC: acknowledges and sends again. */
static inline bool hca_is_reliable(const struct hca_qp *qp)
{
	return qp->type == HCA_QPT_RC || qp->type >= HCA_QPT_XRC_SEND;
}

static inline bool hca_has_responder(const struct hca_qp *qp)
{
	return qp->half != HCA_REQUESTER;
}

/* Objects of one size, many of which a device may have (slab.c). */
struct hca_pool {
	void *free; /* a list through their first words */
	void **slabs;
	uint32_t slab_count, object_count;
};

struct hca_mr_slot {
	struct hca_mr *mr; /* NULL: free, or invalidated */
	struct hca_mr *owner;
	uint32_t next_free; /* slot + 1 */
	uint8_t tag;
};

struct hca_device {
	struct hca_agenda agenda;	/* first: wake_at is the earliest of both heaps */
	uint32_t psn_window, ack_every; /* as in the profile */
	/* As the profile says: HCA_SELECTIVE, HCA_GO_BACK_0, cc takes ACKs. */
	bool selective, restarts, takes_rtt;
	bool full_path;	     /* selective, metered, a framing, or a queue pair of XRC */
	uint8_t request_ecn; /* enum wire_ecn */
	uint32_t mr_slots;
	struct hca_mr_slot *mrs;
	struct util_idmap qps;
	const struct hca_observer *observer;
	void *world;
	struct hca_watcher *watcher;   /* NULL: nobody watches */
	const struct hca_dma_ops *dma; /* NULL: memory answers at once */
	struct hca_counters counters;
	struct hca_heap paced, timers;
	struct hca_alarm cq_alarm; /* among the timers: a CQ has lost a completion */
	struct hca_room *room;	   /* see hca_room_take() */
	struct hca_lender *lender; /* NULL: no payload stays where it is */
	uint32_t wire_overhead; /* as in the profile; with a framing that of the packet at hand */
	struct hca_profile profile;
	uint32_t mr_capacity, mr_free; /* mr_free: slot + 1 of the first free one */
	uint32_t mr_count, mr_number;
	uint32_t mr_keys[4]; /* of the permutation */
	uint64_t key[2], qpn_drawn;
	uint32_t qpn_slot, qpn_slot_bits;
	uint32_t qp_count, cq_count, pd_count, srq_count, xrcd_count, mw_count;
	struct hca_pool requesters, responders, regions;
	uint32_t timer_count, pace_count; /* that may be in the heaps, of all QPs */
	struct hca_list pd_list, cq_list, srq_list, xrcd_list, mw_list, dm_list;
	struct hca_list mcast_list;
	struct util_idmap srqs; /* of XRC, by number */
	uint64_t dm_bytes;	/* given out */
	/* With a memory side. */
	uint64_t dma_sequence, dma_ended; /* ended: at that time a QP was reset, failed or went */
	struct hca_dma_ticket *ticket;	  /* of the packet that is being decided; else NULL */
	struct util_idmap cqs;
	uint32_t cqn;
	uint32_t priority_count;
	uint64_t starve_after, starve_count; /* hca_device_starve(); in a storm with HCA_STORM */
	bool port_is_down;
	bool loan_is_lost; /* what was to be placed last is not to be had */
	/* By priority: requests; responses and CNPs. The two in one cache line. */
	struct hca_list ready[][2] __attribute__((aligned(64)));
};
_Static_assert(offsetof(struct hca_device, agenda) == 0, "hca_next_at() reads it there");

/* mem.c */
uint32_t hca_mr_slot_of(const struct hca_device *dev, uint32_t key);
/* A slot for @mr, which is not to be found there yet, with keys that are new; 0 or -ENOMEM. */
int hca_mr_slot_take(struct hca_device *dev, struct hca_mr *mr);
void hca_mr_slot_give_back(struct hca_device *dev, const struct hca_mr *mr);
/* False: no such key, or a region that stays as it is, for whoever asks. */
bool hca_mr_invalidate(struct hca_device *dev, const struct hca_pd *pd, uint32_t key, bool remote);
void hca_mem_fini(struct hca_device *dev);

/* mem_device.c */
bool hca_dm_has(const struct hca_dm *dm, uint64_t offset, uint64_t length);
/* @mr, whose address is an offset in @dm, lies in it from now on. */
void hca_dm_get(struct hca_dm *dm, struct hca_mr *mr);
void hca_dm_put(struct hca_dm *dm);
void hca_dm_destroy_all(struct hca_device *dev);

/* hca_mr_find() for a key whose slot is known. */
static inline struct hca_mr *hca_mr_at(const struct hca_device *dev, uint32_t slot,
				       const struct hca_pd *pd, uint32_t key, uint64_t va,
				       uint64_t length, uint32_t access)
{
	struct hca_mr *mr = slot < dev->mr_slots ? dev->mrs[slot].mr : NULL;

	if (!mr || mr->lkey != key || mr->pd != pd || (mr->access & access) != access)
		return NULL;
	/* va - iova wraps to something large where va is below; never a sum of two lengths. */
	if (length && (va - mr->iova > mr->length || length > mr->length - (va - mr->iova)))
		return NULL;
	return mr;
}

/* mw.c */
void hca_mw_destroy_all(struct hca_device *dev);
void hca_mw_leave(struct hca_qp *qp); /* it is going */
/* hca_mr_at() for what nobody else may reach. */
struct hca_mr *hca_mw_at(const struct hca_qp *qp, uint32_t slot, uint32_t key, uint64_t va,
			 uint64_t length, uint32_t access);
bool hca_invalidate(struct hca_qp *qp, uint32_t key, bool remote); /* a region or a window */
bool hca_mw_bind(struct hca_qp *qp, const struct hca_wqe *wqe);	   /* false: not that */

/* number.c */
/* A number that @taken does not have yet: a function of (device key, identity), and of the try
 * where that is taken. 0 and 1 belong to management, the last one
 * to multicast. */
uint32_t hca_draw_number(struct hca_device *dev, const struct util_idmap *taken, uint64_t identity);

/* copy.c: between packets and local scatter/gather lists */
bool hca_gather(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done, uint32_t length,
		struct wire_pkt *pkt);
/* The same where the packet waits before it starts, and for who sends seldom: the others have a
 * single caller, and are part of it. */
bool hca_gather_ahead(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done,
		      uint32_t length, struct wire_pkt *pkt);
bool hca_gather_apart(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done,
		      uint32_t length, struct wire_pkt *pkt);
/* Into memory of @pd: hca_recv_pd() for a receive. */
bool hca_scatter(struct hca_qp *qp, const struct hca_pd *pd, const struct hca_local_sge *sge,
		 uint32_t sge_count, uint32_t done, const struct wire_pkt *pkt, ps_t now);
bool hca_place(struct hca_qp *qp, struct hca_mr *mr, uint64_t offset, const struct wire_pkt *pkt,
	       uint32_t from, uint32_t length, ps_t now);
/* Payload from byte @at on; @fenced: behind what @qp has placed. */
bool hca_fetch_part(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		    uint32_t length, uint32_t at, bool fenced, struct wire_pkt *pkt);
bool hca_fetch_moved(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		     uint32_t length, bool fenced, struct wire_pkt *pkt);

/* All of the payload, of a region that was found; false, as above: its bytes are gone. */
static inline bool hca_fetch(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
			     uint32_t length, bool fenced, struct wire_pkt *pkt)
{
	pkt->length = (uint16_t)length;
	if (!mr->is_pattern || (fenced && qp->dev->dma))
		return hca_fetch_moved(qp, mr, offset, length, fenced, pkt);
	pkt->synthetic = true;
	pkt->pattern = wire_pattern(mr->stream, offset);
	return true;
}

/* dma.c; where there is a memory side */
void hca_dma_fetch(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		   uint32_t length, uint32_t at, bool fenced, bool by_reference);
void hca_dma_place(struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		   const uint8_t *bytes, bool is_word);
void hca_dma_read_word(struct hca_qp *qp, const struct hca_mr *mr, const struct wire_pkt *pkt);
void hca_dma_complete(const struct hca_cq *cq, uint32_t qpn);
void hca_dma_ring(const struct hca_qp *qp, const struct hca_wqe *wqe); /* it is posted */

/* What has no answer yet has not even started on the wire: no timer runs. */
static inline bool hca_dma_holds_all(const struct hca_qp *qp)
{
	return __builtin_expect(qp->dev->dma != NULL, false) &&
	       wire_psn_diff(qp->sq.una_psn, qp->sq.wire_psn) >= 0;
}

/* requester.c: a packet of @qp, of that PSN, has started on the wire once more; and that at hand
 * was sent before, and counts when it does. */
void hca_sent_again(struct hca_qp *qp, uint32_t psn, bool is_answer);
void hca_count_again(struct hca_qp *qp, uint32_t psn, bool is_answer);

/* slab.c; of struct hca_room: NULL: no memory; @piece NULL: nothing to give back. */
void *hca_room_take(struct hca_device *dev, size_t bytes);
void hca_room_give_back(struct hca_device *dev, void *piece, size_t bytes);
/* @bytes: of an object, the same for all calls with a pool. */
void *hca_pool_get(struct hca_pool *pool, size_t bytes); /* all zero; NULL: no memory */
void hca_pool_put(struct hca_pool *pool, void *object);
void hca_pool_fini(struct hca_pool *pool); /* takes all objects along */

/* cq.c */
void hca_cq_push(struct hca_cq *cq, const struct hca_wc *wc, bool is_solicited, ps_t now);
void hca_cq_free(struct hca_device *dev, struct hca_cq *cq);
void hca_cq_forget(struct hca_cq *cq, uint32_t qpn); /* the completions of that QP */
void hca_cq_show(struct hca_cq *cq, ps_t now);	     /* the oldest that is written */
void hca_cq_alarm(struct hca_device *dev, struct hca_alarm *alarm, ps_t now); /* rings */

/* queues.c */
/* Of so many places, empty, with lists and inline bytes as @qp has them; 0 or -ENOMEM. */
int hca_queues_create(struct hca_qp *qp, uint32_t send_depth, uint32_t recv_depth);
struct hca_local_sge *hca_sq_list(const struct hca_qp *qp, uint32_t number); /* of a WQE */
uint8_t *hca_sq_inline(const struct hca_qp *qp, uint32_t number);
struct hca_local_sge *hca_rq_list(const struct hca_qp *qp, uint32_t number);
enum { HCA_MESSAGE_MAX = 1u << 31 };
/* Of a list that has been found to be no longer than its queue takes. */
uint64_t hca_list_bytes(const struct hca_sge *sge, uint32_t sge_count);
void hca_list_copy(const struct hca_device *dev, struct hca_local_sge *to,
		   const struct hca_sge *from, uint32_t sge_count);
/* @wqe is what @wr says, with its list in @list. */
void hca_receive_fill(const struct hca_device *dev, struct hca_rwqe *wqe,
		      struct hca_local_sge *list, const struct hca_recv_wr *wr);
int hca_resources_create(struct hca_qp *qp); /* where there are none; 0 or -ENOMEM */
void hca_queues_destroy(struct hca_qp *qp);

/* state.c */
bool hca_state_allows(const struct hca_qp *qp, uint32_t mask, enum hca_qp_state next);

/* qp.c */
void hca_qp_destroy_all(struct hca_device *dev);
void hca_qp_set_priority(struct hca_qp *qp, uint8_t priority, ps_t now); /* then update it */
void hca_qp_set_state(struct hca_qp *qp, enum hca_qp_state state);
void hca_qp_fail(struct hca_qp *qp, ps_t now);	 /* to ERR: both queues are flushed */
void hca_qp_update(struct hca_qp *qp, ps_t now); /* all turns, from the state as it is */
void hca_qp_flush_send(struct hca_qp *qp, ps_t now);
void hca_qp_flush_recv(struct hca_qp *qp, ps_t now);
void hca_qp_async(struct hca_qp *qp, int event, ps_t now);
enum {
	HCA_EVENT_CQ_ERR = 0,
	HCA_EVENT_QP_FATAL,
	HCA_EVENT_QP_REQ_ERR,
	HCA_EVENT_QP_ACCESS_ERR,
	HCA_EVENT_COMM_EST,
	HCA_EVENT_SQ_DRAINED,
	HCA_EVENT_SRQ_ERR = 14,
	HCA_EVENT_SRQ_LIMIT = 15,
	HCA_EVENT_QP_LAST_WQE = 16,
};

/* requester.c */
bool hca_requester_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now);
/* The same where it waits before it starts (hca_dma_output()). */
bool hca_requester_output_ahead(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx,
				ps_t now);
void hca_requester_update(struct hca_qp *qp, ps_t now); /* local operations, then the turn */
void hca_requester_go_back(struct hca_qp *qp);		/* to the oldest PSN without an answer */
void hca_requester_resend(struct hca_qp *qp);		/* from where the profile says */
void hca_requester_complete(struct hca_qp *qp, const struct hca_wqe *wqe, enum hca_wc_status status,
			    ps_t now);
void hca_requester_fail(struct hca_qp *qp, enum hca_wc_status status, ps_t now); /* WQE una */

void hca_requester_paced(struct hca_qp *qp, const struct wire_pkt *pkt, struct hca_tx *tx,
			 ps_t now); /* @pkt is on its way */

/* The headers of the next packet of a SEND or WRITE; returns the bytes of its payload. */
uint32_t hca_requester_fill(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done,
			    struct wire_pkt *pkt);

/* unreliable.c, uc.c, ud.c */
bool hca_unreliable_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now);
/* With a memory side: the packet starts on the wire. */
void hca_unreliable_started(struct hca_qp *qp, const struct hca_dma_ticket *ticket, ps_t now);
void hca_unreliable_fail(struct hca_qp *qp, enum hca_wc_status status, ps_t now); /* WQE una */
/* Nothing about @pkt is checked yet, and @op may be NULL. */
void hca_unreliable_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			  struct hca_rx rx, ps_t now);
void hca_uc_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		  ps_t now);
void hca_ud_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		  const struct wire_path *path, ps_t now);
/* The WQE that is posted next is @wqe, as @wr says. */
void hca_ud_posted(struct hca_qp *qp, struct hca_wqe *wqe, const struct hca_send_wr *wr, ps_t now);
bool hca_ud_fill(struct hca_qp *qp, const struct hca_wqe *wqe, struct wire_pkt *pkt);
void hca_ud_look_at_head(struct hca_qp *qp, ps_t now);	/* another WQE is the next */
void hca_ud_take_priority(struct hca_qp *qp, ps_t now); /* that of the next WQE */

/* recover.c; HCA_SELECTIVE */
int hca_recover_create(struct hca_qp *qp); /* -ENOMEM */
void hca_recover_destroy(struct hca_qp *qp);
void hca_recover_reset(struct hca_qp *qp);
void hca_recover_start(struct hca_qp *qp); /* the first PSN is known */
/* A packet is on its way, for the first time or again. */
void hca_recover_sent(struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t psn,
		      struct wire_pkt *pkt);
const struct hca_wqe *hca_recover_next(const struct hca_qp *qp, uint32_t *ret_psn); /* lost */
void hca_recover_again(struct hca_qp *qp, const struct hca_wqe *wqe, struct wire_pkt *pkt);
void hca_recover_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		       ps_t now);
bool hca_recover_waits(struct hca_qp *qp, ps_t now); /* the timer: not lost yet */
void hca_recover_timeout(struct hca_qp *qp);

/* ooo.c; HCA_SELECTIVE */
int hca_ooo_create(struct hca_qp *qp, uint32_t request_packets); /* -ENOMEM */
void hca_ooo_destroy(struct hca_qp *qp);
void hca_ooo_reset(struct hca_qp *qp);
void hca_ooo_start(struct hca_qp *qp); /* the first PSN is known */
/* The packet @psn was looked at, whatever became of it. */
void hca_ooo_had_its_turn(struct hca_qp *qp, uint32_t psn);
/* Nothing that came before its turn is left to be taken. */
void hca_ooo_rest(struct hca_qp *qp);
/* @pkt comes before its turn; false: it cannot be taken yet, as if it were lost. */
bool hca_ooo_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		   ps_t now);
/* Whether the packet that is expected now is here; then it is @ret_pkt, and gone. rq.is_placed says
 * whether its payload is where it belongs. */
bool hca_ooo_take(struct hca_qp *qp, struct wire_pkt *ret_pkt);
/* Makes the NAK @pkt say what came. */
/* Whether the packet that is expected now was refused. */
bool hca_ooo_was_refused(struct hca_qp *qp);
void hca_ooo_fill_nak(const struct hca_qp *qp, struct wire_pkt *pkt);

/* completer.c, for recover.c */
void hca_completer_retire(struct hca_qp *qp, ps_t now); /* the oldest WQE has all its answers */
void hca_completer_progress(struct hca_qp *qp, ps_t now);
void hca_completer_refused(struct hca_qp *qp, uint8_t syndrome, ps_t now); /* RNR and fatal NAKs */
/* What a response brings goes into the memory of @wqe; false: the QP has failed. */
bool hca_completer_take(struct hca_qp *qp, const struct hca_wqe *wqe, const struct wire_pkt *pkt,
			const struct wire_op *op, ps_t now);

/* completer.c, responder.c, respond.c */
void hca_completer_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			 ps_t now);
void hca_responder_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			 ps_t now);
bool hca_responder_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now);
/* The same for hca_dma_output(), apart: the other one has a single caller, and is part of it. */
bool hca_responder_output_ahead(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx,
				ps_t now);
void hca_responder_update(struct hca_qp *qp, ps_t now);
ps_t hca_responder_next_at(const struct hca_qp *qp); /* something is waiting: since or until when */
/* The receive at hand is used up; without an error, by @pkt. */
void hca_responder_complete(struct hca_qp *qp, enum hca_wc_status status,
			    const struct wire_pkt *pkt, const struct wire_op *op, ps_t now);
/* What a receive whose request is refused with @syndrome says: @status, or as the profile has it.
 */
enum hca_wc_status hca_responder_status(const struct hca_qp *qp, uint8_t syndrome,
					enum hca_wc_status status);
/* @res is waiting no more. */
void hca_responder_answered(struct hca_rq *rq, struct hca_resource *res);
void hca_responder_replay(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op);
void hca_responder_fail(struct hca_qp *qp, uint8_t syndrome, enum hca_wc_status status, ps_t now);

/* sched.c */
void hca_sched_move(struct hca_turn *turn, ps_t at, ps_t now);
void hca_sched_pace(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now); /* cc is active */
void hca_sched_measure(struct hca_device *dev, const struct wire_pkt *pkt); /* a framing: before */
void hca_sched_wake(struct hca_device *dev, ps_t now);
void hca_sched_heaps_changed(struct hca_device *dev);

/* @turn has something to send from @at on; PS_NEVER: nothing. Mostly nothing changes. */
static inline void hca_sched_set(struct hca_turn *turn, ps_t at, ps_t now)
{
	if (at <= now ? turn->state == HCA_TURN_READY
		      : at == PS_NEVER && turn->state == HCA_TURN_IDLE)
		return;
	hca_sched_move(turn, at, now);
}

/* retry.c */
void hca_timer_fire(struct hca_qp *qp, ps_t now);
void hca_retry(struct hca_qp *qp, ps_t now); /* a sequence NAK, or what amounts to one */
void hca_retry_rnr(struct hca_qp *qp, uint8_t code, ps_t now); /* an RNR NAK */

/* The deadline of @qp is @at: the alarm is touched only where it would ring too late. */
static inline void hca_timer_set(struct hca_qp *qp, ps_t at)
{
	qp->sq.timer_at = at;
	if (at == PS_NEVER || (qp->timer.place && qp->timer.at <= at))
		return;
	hca_heap_set(&qp->dev->timers, &qp->timer, at);
	hca_sched_heaps_changed(qp->dev);
}

/* rtt.c */
int hca_rtt_create(struct hca_qp *qp); /* and the state of its control; -ENOMEM */
void hca_rtt_destroy(struct hca_qp *qp);
void hca_rtt_reset(struct hca_qp *qp);
void hca_rtt_set_window(struct hca_qp *qp); /* from qp->cc */
void hca_rtt_sent(struct hca_qp *qp, struct wire_pkt *pkt, bool is_new, ps_t now);
void hca_rtt_stamp(struct hca_qp *qp, uint32_t psn, ps_t now); /* it leaves, and asks for an ACK */
void hca_rtt_take_hops(struct hca_qp *qp, const struct wire_pkt *pkt);
void hca_rtt_fill_ack(struct hca_qp *qp, struct wire_pkt *pkt);
void hca_rtt_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		   ps_t now);

/* cnp.c */
void hca_cnp_on_ce(struct hca_qp *qp, ps_t now);
void hca_cnp_on_ce_apart(struct hca_qp *qp, ps_t now); /* see hca_gather_apart() */
void hca_cnp_on_gap(struct hca_qp *qp, ps_t now);      /* a NAK goes back */
void hca_cnp_on_cnp(struct hca_qp *qp, ps_t now);
void hca_cnp_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx);

/* Between an immediate as consumers have it, in network order, and its value. */
static inline uint32_t hca_swap_imm(uint32_t imm)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(imm) : imm;
}

static inline uint32_t hca_pow2(uint32_t count)
{
	return count <= 1 ? 1 : 1u << (32 - __builtin_clz(count - 1));
}

/* Whether @pkt, of @op, keeps the rules of all transports. */
static inline bool hca_pkt_is_sound(const struct wire_pkt *pkt, const struct wire_op *op)
{
	return op && pkt->length <= WIRE_MTU_MAX && (!pkt->length || op->payload) &&
	       pkt->psn <= WIRE_U24_MAX &&
	       (!pkt->has_rare || (pkt->rare.pkey & 0x7fff) == (WIRE_PKEY_DEFAULT & 0x7fff));
}

/* A packet without anything; the caller's payload pointer stays. */
static inline void hca_pkt_init(struct wire_pkt *pkt, uint8_t opcode, uint32_t dest_qpn,
				uint32_t psn)
{
	pkt->opcode = opcode;
	pkt->solicited = pkt->ack_req = pkt->fecn = pkt->becn = false;
	pkt->synthetic = pkt->has_rare = pkt->apart = false;
	pkt->length = 0;
	pkt->dest_qpn = dest_qpn;
	pkt->psn = psn;
	pkt->word = 0;
	pkt->va = 0;
	pkt->rkey = 0;
	pkt->dma_length = 0;
}

#endif

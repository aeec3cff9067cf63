/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_IMPAIR_H
#define NIC_IMPAIR_H

/* What a bad network does to the packets that this NIC sends, in the words of tc-netem(8):
 *
 *	[to HOST] [qp N] [only data|acks|cnps] WORD...	[, another rule]
 *
 *	limit PACKETS		held at once (1000); what comes more is dropped
 *	delay TIME [JITTER [CORRELATION]] [distribution uniform|normal]
 *	loss P [CORRELATION]	also "loss random P"
 *	loss gemodel P [R [1-H [1-K]]]
 *				Gilbert and Elliott: P into the bad state, R out of it, lost there
 *				1-H, else 1-K
 *	corrupt P [CORRELATION]	one bit, anywhere
 *	duplicate P [CORRELATION]
 *	reorder P [CORRELATION] [gap N]
 *				so many go at once while the others are delayed
 *	rate RATE		bits a second ("10Gbps", "10gbit") of frames without FCS
 *	ecn P [CORRELATION]	makes data ECT(0) and marks so many; ours, not netem's
 *
 * The first rule that a packet meets is its only one. N is the number of the queue pair that it
 * goes to. P is a percentage or a fraction ("0.1%", "1/1000"). A draw is a function of seed, rule,
 * purpose and the packet's number among those of the rule.
 *
 * One thread at a time, but for the counters. */
#include "transport/nic/link.h"

#include <stdatomic.h>

enum { NIC_RULES_MAX = 16, NIC_RULE_TEXT_MAX = 1024 };

/* Of one rule, by all processes that map them; each packet is in @met, and in any of the others. */
struct nic_impair_counts {
	atomic_uint_fast64_t met, lost, over_limit, marked, corrupted, doubled, early, delayed;
};

/* A file of these is a folder's "impair", see nic_impair_map(). */
struct nic_impair_board {
	struct nic_impair_counts rules[NIC_RULES_MAX];
};

/* The first word that is not understood. */
struct nic_impair_bad {
	char found[64];
	const char *expected;
};

/* How many rules these are: 1 to NIC_RULES_MAX; or -EINVAL. */
int nic_impair_check(const char *text, struct nic_impair_bad *ret_bad);

struct nic_impair;

/* -EINVAL: see nic_impair_check(); -ENOMEM. @board NULL: counts for itself. */
int nic_impair_open(const char *text, uint64_t seed, struct nic_impair_board *board,
		    struct nic_impair **ret_impair);
void nic_impair_close(struct nic_impair *impair); /* NULL allowed */

/* A board in the file "impair" of @folder: made anew, or (@is_there) mapped where there is one.
 * NULL: it could not be. */
struct nic_impair_board *nic_impair_map(const char *folder, bool is_there);
void nic_impair_unmap(struct nic_impair_board *board); /* NULL allowed */

/* What becomes of one packet. */
struct nic_fate {
	int rule; /* -1: none is met, and nothing happens */
	bool lost, doubled, corrupted;
	ps_t at; /* when it may leave, but for the rule's rate */
	uint32_t bit;
};

/* Before @pkt is turned into bytes; may mark path->ecn. */
void nic_impair_decide(struct nic_impair *impair, const struct wire_pkt *pkt,
		       struct wire_path *path, ps_t now, struct nic_fate *ret_fate);

/* Then: false where it leaves now, from this slot, its bit flipped where fate->corrupted. Else a
 * copy waits, or two, or it is over the limit. */
bool nic_impair_hold(struct nic_impair *impair, const struct nic_fate *fate,
		     const struct nic_slot *slot, const struct wire_pkt *pkt, ps_t now);

/* A packet whose time has come, into @slot; @ret_pkt has its payload in there. */
bool nic_impair_release(struct nic_impair *impair, struct nic_slot *slot, struct wire_pkt *ret_pkt,
			struct nic_fate *ret_fate, ps_t now);

/* Flips the bit that is to be. */
void nic_impair_corrupt(const struct nic_fate *fate, struct nic_slot *slot);

ps_t nic_impair_next_at(const struct nic_impair *impair); /* of the first that waits; PS_NEVER */
void nic_impair_move_epoch(struct nic_impair *impair, ps_t by);
/* Whether all that wait may leave at once, in their order. */
void nic_impair_hurry(struct nic_impair *impair, bool hurries);

#endif

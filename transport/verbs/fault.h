/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_FAULT_H
#define VERBS_FAULT_H

/* What goes wrong on purpose in the verbs of one device, by counts and so the same each time, or by
 * the time since the device was opened:
 *
 *	post	a post is refused with an errno
 *	wc	a completion says another status, and another vendor_err
 *	port	the port goes down, or comes up again, at the @nth request posted for sending
 *	rnr	from the @nth message on that needs a receive, @count are answered as if there were
 *		none (RC; what is sent again counts again)
 *	fatal	the device is dead from the @nth such request on
 *
 * @nth counts what the rule is about, from 1: of its operation and its queue pair, where it has
 * them, and from @from_ns until @until_ns alone. With @nth 0 nothing is counted: the port changes
 * at @from_ns and back at @until_ns, the device dies at @from_ns, and between the two every message
 * is answered as if there were no receive.
 * As text, rules with ';' between them, each "KIND:OP:QP:NTH:COUNT:A:B:FROM:UNTIL:PROGRAM". */
#include <stdbool.h>
#include <stdint.h>

enum { VRB_FAULTS_MAX = 32, VRB_FAULT_PROGRAM_MAX = 64 };

enum vrb_fault_kind {
	VRB_FAULT_POST, /* a: errno */
	VRB_FAULT_WC,	/* a: enum ibv_wc_status; b: vendor_err */
	VRB_FAULT_PORT, /* a: 1 down, 0 up; b: 1: queue pairs are flushed */
	VRB_FAULT_RNR,
	VRB_FAULT_FATAL,
};
enum vrb_fault_op { /* a bit each */
		    VRB_FAULT_SEND = 1,
		    VRB_FAULT_WRITE = 2,
		    VRB_FAULT_READ = 4,
		    VRB_FAULT_ATOMIC = 8,
		    VRB_FAULT_OTHER = 16, /* memory windows, invalidate, flush */
		    VRB_FAULT_RECV = 32,
		    VRB_FAULT_SENDING = 31,
};

struct vrb_fault {
	uint32_t kind, op, qp; /* qp: the so many-th that the device has made; 0: any */
	uint32_t nth, count, a, b;
	uint64_t from_ns, until_ns;	     /* since the device was opened; until_ns 0: for ever */
	char program[VRB_FAULT_PROGRAM_MAX]; /* "-": any */
	uint64_t seen; /* of those that time alone brings: 1: it has begun, 2: it is over */
};

struct vrb_faults {
	struct vrb_fault rules[VRB_FAULTS_MAX];
	uint32_t count;
	uint64_t opened_ns; /* the clock of vrb_clocks.raw_ns; 0: not yet */
};

/* -EINVAL. */
int vrb_faults_parse(const char *text, struct vrb_faults *ret_faults);
/* Leaves those alone that are of this program. */
void vrb_faults_of_program(struct vrb_faults *faults, const char *program);

/* One of what the rules of that kind are about: the rule that it is the turn of, or NULL. */
const struct vrb_fault *vrb_fault_met(struct vrb_faults *faults, enum vrb_fault_kind kind,
				      enum vrb_fault_op op, uint32_t qp, uint64_t age_ns);

/* What time alone brings, the earliest first and each once: it begins or, where *@ret_is_over,
 * ends by @age_ns. NULL: nothing more by then. */
const struct vrb_fault *vrb_fault_due(struct vrb_faults *faults, uint64_t age_ns,
				      bool *ret_is_over);
/* When the next of these is due; UINT64_MAX: none. */
uint64_t vrb_fault_next_ns(struct vrb_faults *faults);

#endif

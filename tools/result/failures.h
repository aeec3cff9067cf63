/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_FAILURES_H
#define TOOLS_FAILURES_H

/* Which programs failed, and which of their work requests ended in error: how many with which
 * status, and in words what that says. A program may take them as they come and end well, so that
 * its ranks tell nothing. */
#include "models/input/bad.h"
#include "tools/result/result.h"
#include "transport/hca/wr.h"

enum { FAILURES_STATUSES = HCA_WC_FATAL_ERR + 1 };

struct failures {
	uint64_t count;			   /* of all: flushed behind another, too */
	uint64_t of[FAILURES_STATUSES];	   /* by enum hca_wc_status */
	uint64_t first[FAILURES_STATUSES]; /* wr...; where there is one of that status */
};

/* After result_collect(). */
struct failures failures_of(const struct result *result);

/* "ok", "rem_access_err": as libibverbs names it, in lower case and without the prefix. */
const char *failures_name(enum hca_wc_status status);
/* "the target refused ...": what such a status says. */
const char *failures_words(enum hca_wc_status status);

/* Whether the program has failed: a rank says so, or waits although nothing can happen any more, or
 * has not ended where the scenario ends the run and does not call it endless. Nobody knows of a
 * rank that waits in a run that is partial. */
bool failures_has_program(const struct result *result, uint32_t number);
/* What it has to say of its ranks. */
const char *failures_of_ranks(const struct result *result, uint32_t number,
			      struct bad_text *ret_text);

#endif

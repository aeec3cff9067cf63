/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_REPORT_H
#define TESTS_PROGRAMS_REPORT_H

/* What the hosts of the test programs print, the same in every world. A line is
 *	rank peer qp wr_id status opcode byte_len hash
 * with "-" for an opcode where the status is an error, for a length that IBTA does not define (only
 * receives and READs have one) and for a hash without bytes. The lines of a run are sorted, so that
 * equal multisets are equal files (tests/programs/compare.sh). */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REPORT_LINE_MAX = 160 };

struct report_list {
	char (*lines)[REPORT_LINE_MAX];
	size_t count, room;
};

/* FNV-1a, 64 bits. */
uint64_t report_hash(const void *bytes, size_t length);
/* @bytes as in struct vb_prog. */
void report_line(char ret_line[REPORT_LINE_MAX], int rank, int peer, int nth_qp,
		 const struct ibv_wc *wc, const void *bytes);
/* -ENOMEM */
int report_add(struct report_list *list, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
	       const void *bytes);
/* Moves all of @from to the end of @list. -ENOMEM. */
int report_take(struct report_list *list, struct report_list *from);
void report_sort(struct report_list *list);
void report_print(const struct report_list *list, FILE *file);
void report_free(struct report_list *list);

#endif

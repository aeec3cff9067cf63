/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SUBJECT_H
#define TOOLS_SUBJECT_H

/* What a question can be about, and how people write it. */
#include <stdbool.h>
#include <stdint.h>

/* A flow as in flows.csv, or a work request as in requests.csv. */
struct subject {
	bool is_request;
	uint64_t number;
};

/* "17", or "wr17": *text goes behind it. False: it is neither. Whether there is such a one nobody
 * looks. */
bool subject_read(const char **text, struct subject *ret_subject);
enum { SUBJECT_MAX = 24 };
/* As it is read. */
const char *subject_name(const struct subject *subject, char ret_text[SUBJECT_MAX]);

#endif

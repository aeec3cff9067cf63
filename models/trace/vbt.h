/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_VBT_H
#define MODELS_VBT_H

/* A file of recorded verbs calls (transport/verbs/record.h), record by record. Lines of errors name
 * the record, from 1, where text files have a line. */
#include "models/input/bad.h"
#include "transport/verbs/record.h"

struct vbt_reader {
	uint8_t *begin, *next, *end;
	struct bad_at at; /* of the record that was read last; 0: of the file's head */
	uint64_t last_ns;
	uint32_t process_count;
	bool is_cut;   /* the file ends, and does not say that this is the end */
	bool is_whole; /* it has said so */
};

/* @bytes stay as long as the reader, and are only read. 0, or -EINVAL with a line in @errors. */
int vbt_open(struct vbt_reader *ret_reader, const char *file, uint8_t *bytes, size_t length,
	     struct bad_list *errors);
/* The next record and, NULL allowed, where it lies. 1; 0: there is none; -EINVAL with a line in
 * @errors. Times never go back, and the first record of process n, from 0, names it after that of
 * process n - 1. */
int vbt_next(struct vbt_reader *reader, struct vrb_record *ret_record, uint8_t **ret_bytes,
	     struct bad_list *errors);
/* How long the record at @bytes is, which vbt_next() has returned. */
uint32_t vbt_length(const uint8_t *bytes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_SCAN_H
#define TOOLS_EXPECT_SCAN_H

/* An expression of jq, read as far as paths (.drops.buffer, $baseline.drops.buffer) go. libjq does
 * not show what it has parsed, and does not tell a field that is missing from one that is null. */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	EXPECT_PATHS_MAX = 16,
	EXPECT_PATH_MAX = 128,
};

struct expect_path { /* from the root to a value that is neither object nor array */
	char text[EXPECT_PATH_MAX];
	const json_t *value; /* borrowed from the root */
};

struct expect_scan {
	/* The expression again, each access to a field turned into a call: .a.b is
	 * (_field("a")|_field("b")), and what [] brings goes through another: .a[0] is
	 * (_field("a")[0]|_value("")). For free(). */
	char *program;
	char missing[EXPECT_PATH_MAX]; /* the first path from the root that is not there; "": none
					*/
	char word[EXPECT_PATH_MAX];    /* the first word that is not allowed; "": none */
	struct expect_path paths[EXPECT_PATHS_MAX];
	size_t path_count; /* the first of them */
	/* .flows and .programs of the root, and of nothing that might be something else. */
	bool names_flows, names_programs;
	bool names_baseline; /* $baseline */
	bool is_closed;	     /* every bracket and string: may stand in brackets itself */
};

/* What looks at anything but the result (the clock, the environment, further input) is not allowed.
 * A path counts as missing where @root tells, or @baseline (NULL: nothing does) of those from
 * $baseline, whether or not it would ever be taken. What is no good jq is copied as it stands. 0 or
 * -ENOMEM. */
int expect_scan(const char *expression, const json_t *root, const json_t *baseline,
		struct expect_scan *ret_scan);
void expect_scan_fini(struct expect_scan *scan);

#endif

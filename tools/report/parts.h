/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_PARTS_H
#define TOOLS_REPORT_PARTS_H

/* The parts of the page, in their order. -ENOMEM where they return something. */
#include "tools/report/report.h"

/* report.c: of all pages, up to <body>. @more_policy: "", or "; ..." of what else a page may
 * load. */
void report_head(const char *title, const char *more_policy, FILE *file);

/* run_name.c: what a command that asks about this run takes: RUN and, of a scenario, its settings.
 */
void report_run(const struct report *report, FILE *file);

/* Flows, the worst first; of very many the first ones. */
struct report_rows {
	struct result_flow *rows;
	uint64_t count, total; /* here, and in flows.csv */
};

/* story.c: the run in sentences. */
void report_verdict(const struct report *report, FILE *file);
void report_story(const struct report *report, const struct report_rows *rows, FILE *file);

/* cure.c: what would cure it. */
void report_cure(const struct report *report, FILE *file);

/* figures.c: the most important numbers, what was expected, classes of traffic, programs. */
void report_figures(const struct report *report, FILE *file);
void report_expects(const struct report *report, FILE *file);
void report_classes(const struct report *report, FILE *file);
void report_programs(const struct report *report, FILE *file);

/* tables.c: the worst of many. */
int report_ports(const struct report *report, FILE *file);

/* flows.c: those of lists and those of streams. -ENOMEM, or the log's error; to be freed in any
 * case. */
int report_rows_make(const struct result *result, struct report_rows *ret_rows);
void report_rows_free(struct report_rows *rows);
void report_flows(const struct report_rows *rows, FILE *file);
struct json_t *report_flow_data(const struct result *result, const struct report_rows *rows);
struct json_t *report_slowdowns(const struct result *result, const struct report_rows *rows);

/* data.c: what the scripts draw. Parts of it, NULL: no memory. */
int report_data(const struct report *report, const struct report_rows *rows, FILE *file);
struct json_t *
report_frames(const struct report *report); /* frames.c; there are points over time */
struct json_t *report_insides(const struct report *report); /* insides.c; JSON's null: none */
struct json_t *report_pauses(const struct report *report);  /* pauses.c; JSON's null: not known */
struct json_t *report_packets(const struct report *report); /* packets.c; the same */

/* Sums over the result that several parts need. */
uint64_t report_lost(const struct result *result);	    /* packets, for whatever reason */
uint64_t report_retransmitted(const struct report *report); /* packets, of programs, too */
bool report_has_programs_failed(const struct result *result);

#endif

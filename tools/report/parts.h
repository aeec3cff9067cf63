/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_PARTS_H
#define TOOLS_REPORT_PARTS_H

/* The parts of the page, in their order. -ENOMEM where they return something. */
#include "tools/report/report.h"

/* story.c: the run in sentences. */
void report_verdict(const struct report *report, FILE *file);
void report_story(const struct report *report, FILE *file);

/* figures.c: the most important numbers, what was expected, classes of traffic, programs. */
void report_figures(const struct report *report, FILE *file);
void report_expects(const struct report *report, FILE *file);
void report_classes(const struct report *report, FILE *file);
void report_programs(const struct report *report, FILE *file);

/* tables.c: the worst of many. */
int report_ports(const struct report *report, FILE *file);
int report_flows(const struct report *report, FILE *file);

/* data.c: what the scripts draw. */
int report_data(const struct report *report, FILE *file);

/* Sums over the result that several parts need. */
uint64_t report_lost(const struct result *result);	    /* packets, for whatever reason */
uint64_t report_retransmitted(const struct report *report); /* packets, of programs, too */
bool report_has_programs_failed(const struct result *result);

#endif

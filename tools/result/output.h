/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

/* A result in the forms that people and programs read. Write errors are the stream's: the caller
 * asks ferror(). */
#include "tools/result/result.h"

#include <jansson.h>
#include <stdio.h>

/* What stands in result.json. NULL: no memory. */
json_t *output_json_value(const struct result *result);
/* result.json. -ENOMEM, -EIO. */
int output_json(const struct result *result, FILE *file);
/* flows.csv: a row per posted flow, in id order. An unfinished flow has no end, one that failed no
 * slowdown. */
int output_flows(const struct result *result, FILE *file); /* 0 or negative errno */
/* ports.csv: a row per port and priority, in order of node, link and priority. What a port counts
 * only once (its control frames, its faults) is the same in all rows of it. */
void output_ports(const struct result *result, FILE *file);
/* lanes.csv: a row per direction of a lane of each machine, in order of their names, with what it
 * has done and how long something waited at it for nothing but credits; and how long reads of the
 * part that it comes from waited for a tag, which is the same in all rows of that. */
void output_lanes(const struct result *result, FILE *file);
/* engines.csv: a row per engine of each GPU that copies, in order of the machines' names: copies
 * that are over, and how long it had something to do. */
void output_engines(const struct result *result, FILE *file);
/* requests.csv: a row per work request that a program has posted to a send queue, in the order of
 * tools/observe/request_log.h. One that has not ended has no end. */
void output_requests(const struct result *result, FILE *file);
/* For people. */
void output_table(const struct result *result, FILE *file);

/* @text in one line, whatever is in it, as util_text_show() shows it; no newline behind it. */
void output_line(const char *text, FILE *file);

/* "12.3 us", three digits; for tables. */
enum { OUTPUT_TEXT_MAX = 32 };
const char *output_time(ps_t time, char ret_text[OUTPUT_TEXT_MAX]);
const char *output_rate(uint64_t bps, char ret_text[OUTPUT_TEXT_MAX]);
const char *output_bytes(uint64_t bytes, char ret_text[OUTPUT_TEXT_MAX]);
/* The largest of those units that is not larger than @value, for a key of result.json whose name
 * ends in _ps, _bps or bytes; else one without a name. */
struct output_unit {
	const char *name;
	double size;
};
struct output_unit output_unit(const char *key, double value);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BACK_H
#define TOOLS_BACK_H

/* What a run has left in its folder, read back. Anybody may have written into it since, so nothing
 * is taken for what it does not say: each refusal is a line "FILE:LINE: KEY: found X, expected Y"
 * on stderr, and COMMAND_BAD. */
#include "models/input/file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Opens @path to be read; NULL: there is none. What is no regular file is refused, and a FIFO not
 * waited for. COMMAND_DONE or COMMAND_BAD. */
int back_open(const char *path, FILE **ret_file);
/* The same, and reads it: what is no JSON is refused as @key, where @expected was expected. */
int back_load(const char *path, const char *key, const char *expected, json_t **ret_json);

/* @found NULL: nothing. JSON does not tell where a value stood: its line is 1. */
int back_refuse(const char *path, const char *key, const json_t *found, const char *expected);
/* A whole number from 0 to 2^63 - 1, for JSON. */
bool back_is_count(const json_t *value);

/* Hashes and digests of runs, as text. */
enum { BACK_HASH_DIGITS = 16 };
bool back_is_hash(const json_t *value);

/* What result.json in the folder of a run says of it. */
struct back_run {
	char digest[BACK_HASH_DIGITS + 1]; /* "": there is no such file, and all below is false */
	bool same_version;		   /* of this command */
	bool partial;			   /* it did not come to its end */
	bool fixed_programs; /* the memory of its programs lay where it does in every run */
};

/* Whether @json, read from @path, is a result.json of ours. COMMAND_DONE or COMMAND_BAD. */
int back_check_result(const char *path, const json_t *json, struct back_run *ret_run);
/* Of the folder @run: whether its result.json is one of ours, if there is one. COMMAND_DONE or
 * COMMAND_BAD. */
int back_result(const char *run, struct back_run *ret_run);

/* The result.json of @run, its folder or that file itself. For free(); NULL: no memory. */
char *back_baseline_file(const char *run);
/* What a later run is compared with: the result.json @path, by way of @source (NULL: the file
 * system). One of an older schema, in which what is over nothing is 0, or of a run that ended early
 * is refused. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN and no JSON. */
int back_baseline(const struct read_source *source, const char *path, json_t **ret_json);

/* Says where the baseline @json, from @path, is of another version than this command. */
void back_warn_of_version(const char *path, const json_t *json);

/* The number of the flow that fared worst in flows.csv of the folder @run: the first of those that
 * failed or have not ended, or else the one with the largest slowdown, the first of equals; -1:
 * there is none, or no such file. COMMAND_DONE or COMMAND_BAD. */
int back_worst(const char *run, int64_t *ret_flow);
/* The number of the work request that took longest in requests.csv of the folder @run, the first of
 * equals, whether or not it ended well; -1: none has ended, or there is no such file. COMMAND_DONE
 * or COMMAND_BAD. */
int back_slowest_request(const char *run, int64_t *ret_request);

#endif

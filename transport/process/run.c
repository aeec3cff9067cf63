/* SPDX-License-Identifier: BSD-2-Clause */

/* vb_run(): a program that is a function, as one rank in a process of its own. */
#include "include/verbena/program.h"
#include "transport/process/process.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 256 };

/* Its part of the rendezvous, beside what it puts there with vb_put(). */
static bool run_key(const char *key, char ret_key[KEY_MAX])
{
	return snprintf(ret_key, KEY_MAX, "prog/%s", key) < KEY_MAX;
}

static int run_put(const struct vb_prog *prog, const char *key, const void *bytes, size_t length)
{
	char own[KEY_MAX];

	(void)prog;
	return run_key(key, own) ? vb_put(own, bytes, length) : -EINVAL;
}

static int run_get(const struct vb_prog *prog, const char *key, void *ret_bytes, size_t length)
{
	char own[KEY_MAX];
	int64_t got;

	(void)prog;
	if (!run_key(key, own))
		return -EINVAL;
	got = vb_get(own, ret_bytes, length);
	return got == (int64_t)length ? 0 : got < 0 ? (int)got : -EMSGSIZE;
}

static void run_sleep_ns(const struct vb_prog *prog, uint64_t ns)
{
	(void)prog;
	vb_sleep_ns(ns);
}

/* Nobody compares them here. */
static void run_report(const struct vb_prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
		       const void *bytes)
{
	(void)prog, (void)peer, (void)nth_qp, (void)wc, (void)bytes;
}

static void run_say(const struct vb_prog *prog, const char *line)
{
	fprintf(stderr, "rank %d: %s\n", prog->rank, line);
}

static bool set_number(const char *option, int min, int *ret_number)
{
	char *end;
	const long number = strtol(optarg, &end, 10);

	if (end != optarg && !*end && number >= min && number <= 1000000) {
		*ret_number = (int)number;
		return true;
	}
	fprintf(stderr, "verbena: --%s: found \"%s\", expected a number from %d\n", option, optarg,
		min);
	return false;
}

/* False: with a line on stderr. */
static bool run_parse(int argc, char **argv, struct process_settings *settings)
{
	static const struct option known[] = {{"rank", required_argument, NULL, 'r'},
					      {"size", required_argument, NULL, 's'},
					      {"board", required_argument, NULL, 'b'},
					      {"wait", required_argument, NULL, 'w'},
					      {0}};
	bool ok = true;
	int option;

	optind = 0; /* whatever main() did with them before */
	while (ok && (option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
		switch (option) {
		case 'r':
			ok = set_number("rank", 0, &settings->rank);
			break;
		case 's':
			ok = set_number("size", 1, &settings->size);
			break;
		case 'b':
			settings->board = optarg;
			break;
		case 'w':
			ok = set_number("wait", 1, &settings->wait_s);
			break;
		default:
			fprintf(stderr,
				"usage: %s [--rank R --size N --board ADDR:PORT] [--wait SECONDS] "
				"[--] [ARGUMENT...]\n",
				argv[0]);
			ok = false;
		}
	}
	return ok;
}

int vb_run(int argc, char **argv, vb_main_fn *fn)
{
	struct process_settings settings;
	int ret;

	if (!process_settings_from_env(&settings) || !run_parse(argc, argv, &settings) ||
	    !process_settings_are_good(&settings))
		return 2;
	const struct vb_prog prog = {.bytes = sizeof(prog),
				     .rank = settings.rank,
				     .size = settings.size,
				     .arg_count = argc - optind,
				     .args = (const char *const *)argv + optind,
				     .put = run_put,
				     .get = run_get,
				     .sleep_ns = run_sleep_ns,
				     .report = run_report,
				     .say = run_say};
	if (!process_begin(&settings))
		return 1;
	ret = fn(&prog);
	if (ret != 0)
		fprintf(stderr, "rank %d failed: %d\n", settings.rank, ret);
	return !process_end(ret == 0) || ret != 0;
}

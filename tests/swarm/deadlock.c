/* SPDX-License-Identifier: BSD-2-Clause */

/* deadlock [--count N] [--seed N] [--show] [FILE...]: what "verbena explain --why deadlock" finds,
 * against what must be so.
 *
 * Lossless fabrics whose routes only go up and then down have no circle of buffers (Dally and
 * Seitz, IEEE Trans. Computers 1987): whatever their traffic, pauses, storms and slow receivers,
 * and wherever the run ends, no deadlock may be found. Rings in which every route goes the same way
 * round do have one: run until nothing happens any more they hold frames if and only if there is a
 * deadlock, and it must be found then; where there is none at the end there was none before. FILE:
 * a scenario in which there is one. */
#include "models/program/task.h"
#include "models/scenario/read.h"
#include "sim/switch.h"
#include "tools/explain/explain.h"
#include "util/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 8192 };

/* For programs, of which there are none. */
const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

struct text {
	char bytes[TEXT_MAX];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->length += (size_t)vsnprintf(text->bytes + text->length, TEXT_MAX - text->length,
					  format, args);
	va_end(args);
	CHECK(text->length < TEXT_MAX);
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t draw(uint64_t *state, uint64_t first, uint64_t last)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return first + (z ^ z >> 31) % (last - first + 1);
}

/* ---- scenarios ---- */

/* A fabric in which shortest ways go up and down. The link of its i-th host. */
static void add_fabric(struct text *text, uint64_t *s, char hosts[][48], uint32_t *ret_host_count)
{
	const unsigned leaves = (unsigned)draw(s, 2, 4), per_leaf = (unsigned)draw(s, 1, 4);
	uint32_t count = 0;

	switch (draw(s, 0, 3)) {
	case 0:
		add(text, "topology: {kind: star, hosts: %u, delay: %uns}\n", leaves * per_leaf,
		    (unsigned)draw(s, 50, 2000));
		for (; count < leaves * per_leaf; count++)
			snprintf(hosts[count], 48, "h%u-s0", count);
		break;
	case 1:
		add(text, "topology: {kind: fat_tree, k: 4, delay: %uns}\n",
		    (unsigned)draw(s, 50, 1000));
		for (; count < 16; count++)
			snprintf(hosts[count], 48, "h%u-p%ue%u", count, count / 4, count / 2 % 2);
		break;
	default:
		add(text,
		    "topology: {kind: leaf_spine, leaves: %u, spines: %u, hosts_per_leaf: %u, "
		    "host_rate: %uGbps, fabric_rate: %uGbps, delay: %uns}\n",
		    leaves, (unsigned)draw(s, 1, 3), per_leaf, draw(s, 0, 1) ? 100 : 40,
		    (unsigned)draw(s, 1, 4) * 25, (unsigned)draw(s, 50, 2000));
		for (; count < leaves * per_leaf; count++)
			snprintf(hosts[count], 48, "h%u-leaf%u", count, count / per_leaf);
	}
	*ret_host_count = count;
}

static void add_switch(struct text *text, uint64_t *s)
{
	static const char *const balance[] = {"ecmp", "ecmp", "spray", "flowlet", "shortest"};

	add(text, "switch: {buffer: %uKB, pfc: {priorities: [3]}, balance: %s, mode: %s",
	    (unsigned)draw(s, 1500, 3000), balance[draw(s, 0, 4)],
	    draw(s, 0, 2) ? "store_and_forward" : "cut_through");
	if (draw(s, 0, 1))
		add(text, ", xoff: %uKB", (unsigned)draw(s, 20, 60));
	else
		add(text, ", alpha: 1/%u", (unsigned)draw(s, 1, 32));
	if (draw(s, 0, 2) == 0)
		add(text, ", ecn: {kmin: %uKB, kmax: 200KB, pmax: 10%%}",
		    (unsigned)draw(s, 5, 100));
	add(text, "}\n");
}

static void add_traffic(struct text *text, uint64_t *s, uint32_t host_count)
{
	static const char *const patterns[] = {"permutation", "ring", "all_to_all"};
	const uint64_t blocks = draw(s, 1, 3);

	add(text, "traffic:\n");
	for (uint64_t i = 0; i < blocks; i++) {
		const bool incast = draw(s, 0, 1);

		add(text, "  - {class: c%u, pattern: %s, size: %uKB, start: %uus", (unsigned)i,
		    incast ? "incast" : patterns[draw(s, 0, 2)], (unsigned)draw(s, 5, 300),
		    (unsigned)draw(s, 0, 50));
		if (incast)
			add(text, ", to: h%u", (unsigned)draw(s, 0, host_count - 1));
		add(text, "}\n");
	}
}

/* Hosts that pause for a while or for ever: everything behind them stands still, and is no
 * deadlock. */
static void add_storms(struct text *text, uint64_t *s, char hosts[][48], uint32_t host_count)
{
	const uint64_t storms = draw(s, 0, 3);

	if (storms == 0)
		return;
	add(text, "faults:\n");
	for (uint64_t i = 0; i < storms; i++) {
		const uint32_t host = (uint32_t)draw(s, 0, host_count - 1);

		add(text, "  - {link: %s, sender: h%u, pause: [3], from: %uus", hosts[host], host,
		    (unsigned)draw(s, 0, 100));
		if (draw(s, 0, 1))
			add(text, ", until: %uus", (unsigned)draw(s, 200, 1000));
		add(text, "}\n");
	}
}

static void make_tree(struct text *text, uint64_t seed)
{
	char hosts[16][48];
	uint32_t host_count;
	uint64_t s = seed;

	*text = (struct text){.length = 0};
	add(text, "version: 1\nseed: %" PRIu64 "\n", seed);
	add_fabric(text, &s, hosts, &host_count);
	add_switch(text, &s);
	add(text, "nic: {mtu: %u, cc: %s, timeout: %u", draw(&s, 0, 1) ? 1024 : 4096,
	    draw(&s, 0, 2) ? "none" : "dcqcn", draw(&s, 0, 1) ? 0 : 8);
	if (draw(&s, 0, 2) == 0)
		add(text, ", rx: {hosts: h%u, rate: %uGbps, buffer: 64KiB, xoff: 32KiB}",
		    (unsigned)draw(&s, 0, host_count - 1), (unsigned)draw(&s, 1, 20));
	add(text, "}\n");
	add_traffic(text, &s, host_count);
	add_storms(text, &s, hosts, host_count);
	add(text, "until: %uus\n", (unsigned)draw(&s, 20, 2000));
}

/* @until_us 0: to the end. */
static void make_ring(struct text *text, uint64_t seed, unsigned until_us)
{
	uint64_t s = seed;
	const unsigned switches = (unsigned)draw(&s, 3, 5),
		       way = (unsigned)draw(&s, 2, switches - 1);

	*text = (struct text){.length = 0};
	add(text,
	    "version: 1\nseed: %" PRIu64 "\ntopology:\n  hosts: \"h[0-%u]\"\n"
	    "  switches: \"s[0-%u]\"\n  links:\n",
	    seed, switches - 1, switches - 1);
	for (unsigned i = 0; i < switches; i++)
		add(text,
		    "    - {a: h%u, b: s%u, rate: %uGbps}\n    - {a: s%u, b: s%u, rate: 40Gbps}\n",
		    i, i, (unsigned)draw(&s, 2, 8) * 5, i, (i + 1) % switches);
	add(text, "routing:\n  ways:\n");
	for (unsigned at = 0; at < switches; at++)
		for (unsigned to = 0; to < switches; to++)
			if (at != to)
				add(text, "    - {at: s%u, to: h%u, via: s%u}\n", at, to,
				    (at + 1) % switches);
	add(text,
	    "switch: {buffer: 2MB, xoff: %uKB, pfc: {priorities: [3]}}\nnic: {mtu: 1024, timeout: "
	    "0}\n",
	    (unsigned)draw(&s, 20, 60));
	add(text, "traffic:\n");
	for (unsigned i = 0; i < switches; i++)
		add(text,
		    "  - {class: c%u, pattern: incast, from: h%u, to: h%u, size: %uKB, start: "
		    "%uus}\n",
		    i, i, (i + way) % switches, (unsigned)draw(&s, 50, 800),
		    (unsigned)draw(&s, 0, 30));
	if (until_us)
		add(text, "until: %uus\n", until_us);
}

/* ---- runs ---- */

struct outcome {
	bool done, held, found; /* nothing happens any more; frames wait; a deadlock is reported */
	ps_t time;
};

static struct outcome run(struct scenario *scenario, const char *name)
{
	const struct scenario_options options = {.thread_count = 1};
	struct traffic *traffic;
	struct fabric fabric;
	struct events events;
	struct explain explain;
	struct circle circle;
	struct outcome outcome = {.held = false};
	uint64_t bytes;

	CHECK(scenario_build(scenario, &options, &fabric, &traffic) == 0);
	CHECK(events_attach(&events, scenario, &fabric, traffic) == 0);
	CHECK(explain_start(&explain, &events, NULL) == 0);
	if (fabric_run(&fabric, scenario->until) != 0 || events_end(&events) != 0) {
		printf("%s could not be run\n", name);
		exit(1);
	}
	CHECK(explain_find_circle(&explain, &circle) == 0);
	outcome.found = circle.count > 0;
	outcome.done = sim_is_done(fabric.sim);
	outcome.time = sim_now(fabric.sim);
	for (uint32_t i = 0; i < fabric.switch_count; i++)
		outcome.held = sim_switch_queued(fabric.switches[i], &bytes) > 0 || outcome.held;
	free(circle.queues);
	explain_fini(&explain);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	events_fini(&events);
	return outcome;
}

static struct outcome run_text(const struct text *text, const char *name)
{
	struct bad_list errors = {.lines = NULL};
	struct scenario scenario;
	struct outcome outcome;
	const int ret = scenario_parse(name, text->bytes, text->length, NULL, &scenario, &errors);

	if (ret) {
		for (uint32_t i = 0; i < errors.count; i++)
			fprintf(stderr, "%s\n", errors.lines[i].text);
		fprintf(stderr, "%s", text->bytes);
		exit(1);
	}
	bad_list_fini(&errors);
	outcome = run(&scenario, name);
	scenario_fini(&scenario);
	return outcome;
}

/* ---- what must be so ---- */

struct tally {
	uint64_t trees, waiting, rings, deadlocks;
};

static bool complain(uint64_t seed, const char *what)
{
	printf("seed %" PRIu64 ": %s: deadlock --seed %" PRIu64 " --show\n", seed, what, seed);
	return false;
}

static bool tree_holds(uint64_t seed, bool show, struct tally *tally)
{
	struct text text;
	struct outcome outcome;

	make_tree(&text, seed);
	if (show)
		printf("%s", text.bytes);
	outcome = run_text(&text, "tree");
	tally->trees++;
	tally->waiting += outcome.held;
	return !outcome.found || complain(seed, "a deadlock where no buffers can wait in a circle");
}

static bool ring_holds(uint64_t seed, bool show, struct tally *tally)
{
	struct text text;
	struct outcome last, early;
	uint64_t s = ~seed;

	make_ring(&text, seed, 0);
	if (show)
		printf("%s", text.bytes);
	last = run_text(&text, "ring");
	tally->rings++;
	tally->deadlocks += last.held;
	if (!last.done || last.held != last.found)
		return complain(seed, last.held ? "frames wait for ever, and no deadlock is found"
						: "a deadlock, and nobody waits");
	make_ring(&text, seed, (unsigned)draw(&s, 1, last.time / PS_US + 1));
	early = run_text(&text, "ring that is cut");
	return !early.found || last.held ||
	       complain(seed, "a deadlock on the way, and all has come through in the end");
}

static bool file_holds(const char *path)
{
	struct bad_list errors = {.lines = NULL};
	struct scenario scenario;
	bool found;

	if (scenario_read(path, NULL, &scenario, &errors) != 0) {
		printf("%s cannot be read\n", path);
		return false;
	}
	bad_list_fini(&errors);
	found = run(&scenario, path).found;
	scenario_fini(&scenario);
	if (!found)
		printf("%s: no deadlock is found\n", path);
	return found;
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 20;
	struct tally tally = {.trees = 0};
	bool good = true, show = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
			count = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			first = strtoull(argv[++i], NULL, 10), count = 1;
		else if (strcmp(argv[i], "--show") == 0)
			show = true;
		else
			good = file_holds(argv[i]) && good;
	}
	for (uint64_t seed = first; seed < first + count; seed++) {
		good = tree_holds(seed, show, &tally) && good;
		if (seed % 3 == 0 || count == 1)
			good = ring_holds(seed, show, &tally) && good;
	}
	printf("%" PRIu64 " fabrics without circles, frames waiting at the end of %" PRIu64
	       "; %" PRIu64 " rings, %" PRIu64 " of them in a deadlock\n",
	       tally.trees, tally.waiting, tally.rings, tally.deadlocks);
	if (count >= 100 && (tally.waiting < count / 4 || tally.deadlocks < count / 100 ||
			     tally.deadlocks == tally.rings)) {
		printf("that is no test\n");
		good = false;
	}
	return !good;
}

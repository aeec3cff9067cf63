/* SPDX-License-Identifier: BSD-2-Clause */

/* The lessons: what each asks, and how what is right is found. */
#include "tools/lesson/lesson.h"

#include <stdio.h>
#include <string.h>

enum { BUFFER_MAX_BYTES = 4000000 }; /* the largest switch that may be bought */

static const char too_large[] = "no switch of more than 4MB is to be had";

/* ---- 1: a work request ---- */

static const struct subject first_request = {true, 0};

static int find_request(const char *path, struct lesson_value *ret_values)
{
	const struct lesson_ask ask = {.path = path, .key = &first_request};
	struct lesson_facts facts;
	const int ret = lesson_measure(&ask, &facts);

	if (ret)
		return ret;
	ret_values[0].number = facts.packets;
	ret_values[1].number = facts.whole;
	ret_values[2].number = facts.back;
	return COMMAND_DONE;
}

/* No MTU is quicker than that of @ask. */
static int judge_request(const struct lesson_ask *ask, const char **ret_hint)
{
	static const char *const sizes[] = {"nic.mtu=256", "nic.mtu=512", "nic.mtu=1024",
					    "nic.mtu=2048", "nic.mtu=4096"};
	struct lesson_facts own, other;
	struct lesson_ask with = *ask;
	int ret;

	with.key = &first_request;
	ret = lesson_measure(&with, &own);
	with.set_count = 1;
	*ret_hint = NULL;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !ret; i++) {
		with.sets = &sizes[i];
		ret = lesson_measure(&with, &other);
		if (!ret && other.whole < own.whole)
			*ret_hint = "another MTU is quicker; run all five, and look at time_ps";
	}
	return ret;
}

/* ---- 2: pauses ---- */

static const struct subject victim = {false, 2};

static int find_pauses(const char *path, struct lesson_value *ret_values)
{
	const struct lesson_ask ask = {.path = path, .key = &victim};
	struct lesson_facts facts;
	const int ret = lesson_measure(&ask, &facts);

	if (ret)
		return ret;
	memcpy(ret_values[0].name, facts.root_node, sizeof(facts.root_node));
	memcpy(ret_values[1].name, facts.root_peer, sizeof(facts.root_peer));
	ret_values[2].number = facts.chain;
	ret_values[3].number = facts.paused;
	return COMMAND_DONE;
}

static int judge_pauses(const struct lesson_ask *ask, const char **ret_hint)
{
	const struct lesson_class *class;
	struct lesson_facts facts;
	const int ret = lesson_measure(ask, &facts);

	if (ret)
		return ret;
	class = lesson_class_of(&facts, "victim");
	*ret_hint = NULL;
	if (facts.buffer_bytes > BUFFER_MAX_BYTES)
		*ret_hint = too_large;
	else if (facts.dropped > 0)
		*ret_hint = "packets are dropped now";
	else if (!class->all_ok || class->slowdown > 1.1)
		*ret_hint = "the victim still takes more than 1.1 times as long as alone; what "
			    "does it share with those who are paused?";
	return COMMAND_DONE;
}

/* ---- 3: a burst ---- */

enum { SENDERS_MAX = 32 };

static int find_senders(const char *path, uint64_t *ret_senders)
{
	struct lesson_facts facts = {.pauses = 0};
	char set[64];
	const char *const sets[] = {set};
	const struct lesson_ask ask = {.path = path, .sets = sets, .set_count = 1};
	int ret = COMMAND_DONE;

	for (int i = 1; i <= SENDERS_MAX && !ret && facts.pauses == 0; i++) {
		snprintf(set, sizeof(set), "traffic.burst.from=h[1-%d]", i);
		ret = lesson_measure(&ask, &facts);
		*ret_senders = (uint64_t)i;
	}
	return ret;
}

static int find_burst(const char *path, struct lesson_value *ret_values)
{
	const struct lesson_ask ask = {.path = path};
	struct lesson_facts facts;
	const int ret = lesson_measure(&ask, &facts);

	if (ret)
		return ret;
	ret_values[0].number = facts.first_pause_at;
	ret_values[1].number = facts.first_cnp_at;
	return find_senders(path, &ret_values[2].number);
}

static bool is_as_fast(const struct lesson_facts *facts, const char *name, uint64_t rate_bps)
{
	const struct lesson_class *class = lesson_class_of(facts, name);

	return class->all_ok && class->goodput_bps >= rate_bps;
}

static int judge_burst(const struct lesson_ask *ask, const char **ret_hint)
{
	struct lesson_facts facts;
	const int ret = lesson_measure(ask, &facts);

	if (ret)
		return ret;
	*ret_hint = NULL;
	if (facts.buffer_bytes > BUFFER_MAX_BYTES)
		*ret_hint = too_large;
	else if (facts.dropped > 0)
		*ret_hint = "packets are dropped now";
	else if (facts.pauses > 0)
		*ret_hint = "the switch still pauses; what comes before anybody can know, and "
			    "where could it wait?";
	else if (!is_as_fast(&facts, "alone", 80000000000))
		*ret_hint = "nobody is paused, but the flow that is alone has less than 80 Gb/s";
	else if (!is_as_fast(&facts, "burst", 70000000000))
		*ret_hint = "nobody is paused, but the burst as a whole has less than 70 Gb/s";
	return COMMAND_DONE;
}

/* ---- all ---- */

static const struct lesson lessons[] = {
	{.title = "A work request becomes packets becomes a completion",
	 .page = "1-a-wr-becomes-packets-becomes-a-cqe.md",
	 .questions = {{"packets", LESSON_COUNT,
			"what left h0 for it: --trace all before the first ACK, or explain"},
		       {"time", LESSON_TIME,
			"from post to completion: the column time_ps of wr0, in picoseconds"},
		       {"ack", LESSON_TIME,
			"explain wr0 --why slow: the part of the acknowledgement, one way"}},
	 .question_count = 3,
	 .keys = {"nic.mtu"},
	 .find = find_request,
	 .judge = judge_request},
	{.title = "Why PFC fired",
	 .page = "2-why-pfc-fired.md",
	 .questions = {{"switch", LESSON_NAME, "the longest chain of --why pfc ends in a root"},
		       {"towards", LESSON_NAME, "the root is a port: where does its link lead?"},
		       {"chain", LESSON_COUNT, "how many pauses the longest chain has"},
		       {"paused", LESSON_TIME,
			"explain 2 --why slow: what its own host was paused"}},
	 .question_count = 4,
	 .keys = {"switch.alpha", "switch.buffer", "traffic.victim.priority"},
	 .find = find_pauses,
	 .judge = judge_pauses},
	{.title = "Why DCQCN is not enough",
	 .page = "3-why-dcqcn-is-not-enough.md",
	 .questions = {{"first_pause", LESSON_TIME, "the first pause of --why pfc"},
		       {"first_cnp", LESSON_TIME,
			"--trace all, and the first line with CNP that begins at s0"},
		       {"senders", LESSON_COUNT,
			"run it with 4, 8, 16 senders, and halve what is left between the last "
			"without a pause and the first with one"}},
	 .question_count = 3,
	 .keys = {"switch.alpha", "switch.buffer", "switch.ecn.kmin", "switch.ecn.kmax",
		  "nic.window", "nic.ack_every", "traffic.burst.spread"},
	 .find = find_burst,
	 .judge = judge_burst},
};

const struct lesson *lesson_at(uint32_t number)
{
	return number >= 1 && number <= sizeof(lessons) / sizeof(lessons[0]) ? &lessons[number - 1]
									     : NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that other keys make idle, blocks that are off, and parameters that come with their control.
 */
#include "tests/unit/scenario_test.h"

#include <errno.h>
#include <string.h>

#define STAR "version: 1\ntopology: {kind: star, hosts: 6}\n"
#define RUNS "programs: [{run: ring, hosts: \"h[0-1]\"}]\n"

/* What is said of @text with these --sets; "": nothing. */
static int lines_of(const char *text, const char *const *sets, uint32_t count, char *ret_lines,
		    struct scenario *ret_scenario)
{
	const struct scenario_overrides overrides = {.sets = sets, .set_count = count};
	struct bad_list errors = {0};
	const int ret =
		scenario_parse("t.yaml", text, strlen(text), &overrides, ret_scenario, &errors);

	ret_lines[0] = '\0';
	for (uint32_t i = 0; i < errors.count; i++)
		strcat(strcat(ret_lines, errors.lines[i].text), "\n");
	bad_list_fini(&errors);
	return ret;
}

static const struct {
	const char *text, *key; /* that is idle; NULL: none is */
} idle[] = {
	{"nic: {retransmit: selective, timeout: 8}", "nic.timeout: found \"8\""},
	{"nic: {retransmit: selective, timeout: 0}", NULL},
	{"nic: {retransmit: selective, timeout: 0, rto_low: 50us}", "nic.rto_low: found \"50us\""},
	{"nic: {retransmit: selective, timeout: 0, rto_high: 1ms}", "nic.rto_high: found \"1ms\""},
	{"nic: {retransmit: selective, rto_low: 50us, rto_high: 1ms}", NULL},
	{"nic: {rx: {xon: 16KiB}}", "nic.rx.xon: found \"16KiB\""},
	{"switch: {pfc: {}}\nnic: {rx: {xon: 16KiB}}", NULL},
	{"switch: {ecn: off, by_rate: [{rate: 25Gbps, kmin: 1KB}]}",
	 "switch.by_rate[0].kmin: found \"1KB\""},
	{"switch: {ecn: off, by_rate: [{rate: 25Gbps, kmax: 2MB}]}",
	 "switch.by_rate[0].kmax: found \"2MB\""},
	{"switch: {ecn: off, by_rate: [{rate: 25Gbps, pmax: 1%}]}",
	 "switch.by_rate[0].pmax: found \"1%\""},
	{"switch: {pfc: off, by_rate: [{rate: 25Gbps, alpha: 1/4}]}",
	 "switch.by_rate[0].alpha: found \"1/4\""},
	{"switch: {ecn: {}, pfc: {}, by_rate: [{rate: 25Gbps, kmin: 1KB, alpha: 1/4}]}\n"
	 "nic: {cc: dcqcn}",
	 NULL},
	{"switch: {unknown: flood}", "switch.unknown: found \"flood\""},
	{"switch: {unknown: flood}\nfaults: [{switch: s0, forget: h1}]", NULL},
	{"switch: {ecn: {kmin: 10KB}}", "switch.ecn: found a map"},
	{"switch: {ecn: {}}\n" RUNS, "switch.ecn: found a map"},
	{"switch: {ecn: {}}\nnic: {cc: none}", "switch.ecn: found a map"},
	{"switch: {ecn: {kmin: 10KB}}\nnic: {cc: swift}", "switch.ecn: found a map"},
	{"switch: {ecn: {}}\nnic: {cc: timely}", "switch.ecn: found a map"},
	{"switch: {ecn: {}}\nnic: {cc: hpcc}", "switch.ecn: found a map"},
	{"switch: {ecn: {}}\nnic: {cc: dctcp}", NULL},
	{"switch: {ecn: {}}\nnic: {cc: dcqcn_nv}", NULL},
	{"switch: {ecn: off}", NULL},
	{"switches: [{names: s0, ecn: {}}]", "switches[0].ecn: found a map"},
	{"nic: {cc: dcqcn}", "nic.cc: found \"dcqcn\""},
	{"nic: {cc: dcqcn_hpcc}\n" RUNS, "nic.cc: found \"dcqcn_hpcc\""},
	{"nic: {cc: dctcp}\nswitch: {ecn: off}", "nic.cc: found \"dctcp\""},
	{"nic: {cc: dcqcn, cnp_gaps: yes}", NULL},
	{"nic: {cc: dcqcn, start_rate: 10Gbps}", NULL},
	{"nic: {cc: dcqcn}\nswitches: [{names: s0, ecn: {}}]", NULL},
	{"nic: {cc: swift}", NULL},
	{"profiles: [dcqcn_paper]\nswitch: {ecn: off}", NULL},
	{"nic: {transport: uc, timeout: 8}", "nic.timeout: found \"8\""},
	{"nic: {transport: uc, retries: 3}", "nic.retries: found \"3\""},
	{"nic: {transport: uc, retransmit: go_back_0}", "nic.retransmit: found \"go_back_0\""},
	{"nic: {transport: uc, ack_every: 1}", "nic.ack_every: found \"1\""},
	{"nic: {transport: uc, ack_priority: 1}", "nic.ack_priority: found \"1\""},
	{"nic: {transport: uc, window: 9}", "nic.window: found \"9\""},
	{"nic: {transport: uc, window: 9, ack_every: 1}\n" RUNS, NULL},
	{"nic: {transport: uc, retries: 3}\n" RUNS, "nic.retries: found \"3\""},
	{"nic: {transport: uc, retransmit: selective, rto_low: 1us, rto_high: 1s}\n" RUNS, NULL},
	{"nic: {cnp_interval: 5us}", "nic.cnp_interval: found \"5us\""},
	{"nic: {cc: dcqcn, cnp_interval: 5us, cnp_marks: keep, cnp_gaps: yes, cnp_priority: 5}",
	 NULL},
	{"nic: {cc: swift, cnp_marks: keep}", "nic.cnp_marks: found \"keep\""},
	{"nic: {cc: dctcp, cnp_gaps: yes}\nswitch: {ecn: {}}", "nic.cnp_gaps: found \"yes\""},
	{"nic: {cc: none, cnp_priority: 5}", "nic.cnp_priority: found \"5\""},
	{"nic: {rx: {xoff: 64KiB}}", "nic.rx.xoff: found \"64KiB\""},
	{"nic: {rx: {xoff: 64KiB}}\nswitch: {pfc: {}}", NULL},
	{"nic: {rx: {page: 8KiB}}", "nic.rx.page: found \"8KiB\""},
	{"nic: {rx: {memory: 8MiB}}", "nic.rx.memory: found \"8MiB\""},
	{"nic: {rx: {mtt_miss: 2us}}", "nic.rx.mtt_miss: found \"2us\""},
	{"nic: {rx: {mtt_entries: 4, page: 8KiB, memory: 8MiB, mtt_miss: 2us}}", NULL},
	{"switch: {flowlet_gap: 5us}", "switch.flowlet_gap: found \"5us\""},
	{"switch: {flowlet_gap: 5us, balance: flowlet}", NULL},
	{"switch: {conweave: {reply: 5us}}", "switch.conweave: found a map"},
	{"switch: {conweave: {reply: 5us}, balance: conweave}", NULL},
	{"switch: {pfc: off, alpha: 1/4}", "switch.alpha: found \"1/4\""},
	{"switch: {pfc: off, xoff: 9KB}", "switch.xoff: found \"9KB\""},
	{"switch: {pfc: off, reserve: 9KB}", "switch.reserve: found \"9KB\""},
	{"switch: {pfc: {}, alpha: 1/4}", NULL},
	{"switch: {classes: [{priorities: [1], alpha: 1/2, xon: 9KB}]}",
	 "switch.classes[0].xon: found \"9KB\""},
	{"switch: {classes: [{priorities: [1], xoff: 20KB, xon: 9KB}]}", NULL},
	{"switches: [{names: s0, flowlet_gap: 7us}]", "switches[0].flowlet_gap: found \"7us\""},
	{"profiles: [dcqcn_paper]\nnic: {cc: none}", NULL},
	{"profiles: [connectx5]\nswitch: {pfc: off}", NULL},
};

static void an_idle_key_is_told_once(void **state)
{
	char text[500], lines[4000], want[200];

	(void)state;
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
		struct scenario s;

		snprintf(text, sizeof(text), STAR "%s\n", idle[i].text);
		if (lines_of(text, NULL, 0, lines, &s) != 0)
			fail_msg("%s: %s", idle[i].text, lines);
		scenario_fini(&s);
		if (!idle[i].key && lines[0])
			fail_msg("%s: %s", idle[i].text, lines);
		if (!idle[i].key)
			continue;
		snprintf(want, sizeof(want), "t.yaml:3: %s, expected ", idle[i].key);
		if (strncmp(lines, want, strlen(want)) != 0 || !strstr(lines, "; ignored\n") ||
		    strchr(lines, '\n') != strrchr(lines, '\n'))
			fail_msg("%s: %s", idle[i].text, lines);
	}
}

static uint64_t hash_of(const char *text, const char *set)
{
	struct scenario s;
	char lines[4000], whole[500];
	uint64_t hash;

	snprintf(whole, sizeof(whole), STAR "%s\n", text);
	if (lines_of(whole, &set, set != NULL, lines, &s) != 0)
		fail_msg("%s with %s: %s", text, set ? set : "nothing", lines);
	hash = s.hash;
	scenario_fini(&s);
	return hash;
}

/* Off is as if it were not there, also where a profile or all switches have it. */
static void a_block_may_be_off(void **state)
{
	static const char *const off[] = {"off", "none", "no", "false"};
	char text[200];
	struct scenario s;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "switch.pfc=%s", off[i]);
		assert_true(hash_of("switch: {pfc: {}, ecn: {}}", text) ==
			    hash_of("switch: {ecn: {}}", NULL));
		snprintf(text, sizeof(text), "switch: {ecn: %s, pfc: {watchdog: %s}}", off[i],
			 off[i]);
		assert_true(hash_of(text, NULL) == hash_of("switch: {pfc: {}}", NULL));
	}
	assert_true(hash_of("nic: {rx: {}}", "nic.rx=off") == hash_of("", NULL));
	assert_true(hash_of("switch: {credit: {}}", "switch.credit=off") == hash_of("", NULL));
	assert_true(hash_of("switch: {ets: off}", NULL) == hash_of("", NULL));
	assert_true(hash_of("profiles: [msn2700]", "switch.pfc=off") !=
		    hash_of("profiles: [msn2700]", NULL));
	assert_good(STAR "switch: {pfc: {}, ecn: {}}\n", "switch.pfc=off", &s);
	assert_int_equal(s.switches.fc, SCENARIO_FC_NONE);
	assert_int_equal(s.switches.lossless, 0);
	assert_true(s.switches.ecn.enabled);
	scenario_fini(&s);
	assert_good(STAR "nic: {cc: dcqcn}\nswitch: {ecn: {}}\nswitches: [{names: s0, ecn: off}]\n",
		    NULL, &s);
	assert_true(s.switches.ecn.enabled && !s.groups[0].is.ecn.enabled);
	scenario_fini(&s);
	assert_int_equal(parse_with(STAR, "switch.pfc=on", &s), -EINVAL);
	assert_int_equal(parse_with(STAR, "nic.cc_params=off", &s), -EINVAL);
}

/* "cc: {dcqcn: {...}}" is cc and cc_params; those of the scenario go with the control that had
 * them. */
static void parameters_come_with_their_control(void **state)
{
	static const char *const bad_ones[] = {
		"nic.cc={}",	  "nic.cc={dcqcn: 3}",		 "nic.cc={dcqcn: {}, swift: {}}",
		"nic.cc={x: {}}", "nic.cc={dcqcn: {beta: 0.5}}", "nic.cc=[dcqcn]",
	};
	const char *const both[] = {"nic.cc={dcqcn: {}}", "nic.cc_params.rate_ai=3Mbps"};
	static const char dcqcn[] = "nic: {cc: dcqcn, cc_params: {rate_ai: 9Mbps}}";
	const char *want;
	char lines[4000];
	struct scenario s;

	(void)state;
	assert_true(hash_of("nic: {cc: {dcqcn: {rate_ai: 9Mbps}}}", NULL) == hash_of(dcqcn, NULL));
	assert_true(hash_of("", "nic.cc={dcqcn: {rate_ai: 9Mbps}}") == hash_of(dcqcn, NULL));
	assert_true(hash_of(dcqcn, "nic.cc={swift: {beta: 0.5}}") ==
		    hash_of("nic: {cc: swift, cc_params: {beta: 0.5}}", NULL));
	assert_true(hash_of(dcqcn, "nic.cc={dcqcn: {}}") ==
		    hash_of("nic: {cc: dcqcn, cc_params: {}}", NULL));
	for (size_t i = 0; i < sizeof(bad_ones) / sizeof(bad_ones[0]); i++)
		assert_int_equal(parse_with(STAR, bad_ones[i], &s), -EINVAL);
	assert_int_equal(lines_of(STAR, both, 2, lines, &s), -EINVAL);
	assert_int_equal(
		lines_of(STAR "nic: {cc: {dcqcn: {}}, cc_params: {}}\n", NULL, 0, lines, &s),
		-EINVAL);
	/* A control of --set leaves those of the scenario's idle; one of the scenario is a mistake.
	 */
	want = "t.yaml:3: nic.cc_params.rate_ai: found \"9Mbps\", expected a parameter of nic.cc; "
	       "ignored\n";
	assert_int_equal(lines_of(STAR "nic: {cc: dcqcn, cc_params: {rate_ai: 9Mbps}}\n",
				  (const char *const[]){"nic.cc=none"}, 1, lines, &s),
			 0);
	assert_string_equal(lines, want);
	scenario_fini(&s);
	assert_int_equal(
		parse_with(STAR "nic: {cc: none, cc_params: {rate_ai: 9Mbps}}\n", NULL, &s),
		-EINVAL);
}

RUN(T(an_idle_key_is_told_once), T(a_block_may_be_off), T(parameters_come_with_their_control))

/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile says enters the hash of a scenario as if the scenario said it: scalars, maps and
 * lists, the latter in any order of their entries; and so does what one of a machine says. The
 * profiles here are the test's own. */
#include "tests/unit/scenario_test.h"

#include "models/profiles/profile.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static struct profile only = {.name = "mine"};

uint32_t profile_count(void)
{
	return 1;
}

const struct profile *profile_at(uint32_t i)
{
	(void)i;
	return &only;
}

const struct profile *profile_find(const char *name)
{
	return strcmp(name, only.name) == 0 ? &only : NULL;
}

#define TOP                                                                                        \
	"version: 1\n"                                                                             \
	"topology: {kind: star, hosts: 3}\n"                                                       \
	"switch: {pfc: {}}\n"                                                                      \
	"profiles: [mine]\n"

/* @text with that profile. */
static void read_with(const char *profile, const char *text, struct scenario *ret_scenario)
{
	struct bad_list errors = {0};

	only.text = profile;
	if (scenario_parse("test.yaml", text, strlen(text), NULL, ret_scenario, &errors) != 0)
		fail_msg("%s: %s", profile, errors.count ? errors.lines[0].text : "?");
	bad_list_fini(&errors);
}

static uint64_t hash_with(const char *profile)
{
	struct scenario scenario;
	uint64_t hash;

	read_with(profile, TOP, &scenario);
	hash = scenario.hash;
	scenario_fini(&scenario);
	return hash;
}

static void what_a_profile_says_counts(void **state)
{
	static const char *const says[] = {
		"switch: {buffer: 3MiB}\n",
		"switch: {buffer: 4MiB}\n",
		"nic: {mtu: 256}\n",
		"switch: {ecn: {kmin: 7KB, kmax: 9KB}}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/4}]}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/2}]}\n",
		"switch: {classes: [{priorities: [3, 4], alpha: 1/2}]}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/2}, {priorities: [4], alpha: 2}]}\n",
		"switch: {dscp: [{values: [26], priority: 3}]}\n",
		"switch: {dscp: [{values: [26], priority: 4}]}\n",
		"switch: {dscp: [{values: [27], priority: 3}]}\n",
	};
	enum { SAYS = sizeof(says) / sizeof(says[0]) };

	(void)state;
	for (int i = 0; i < SAYS; i++)
		for (int k = 0; k < i; k++)
			if (hash_with(says[i]) == hash_with(says[k]))
				fail_msg("one hash for %s and %s", says[i], says[k]);
}

static void the_order_of_entries_does_not(void **state)
{
	(void)state;
	assert_int_equal(hash_with("switch: {classes: [{priorities: [3], alpha: 1/2}, "
				   "{priorities: [4], alpha: 1/4}]}\n"),
			 hash_with("switch: {classes: [{alpha: 1/4, priorities: [4]}, "
				   "{priorities: [3], alpha: 1/2}]}\n"));
}

/* What the scenario says of a control goes before what the profile says, key by key; of another
 * control the profile says nothing. */
static void parameters_are_those_of_the_chosen_control(void **state)
{
	static const char profile[] = "nic:\n  cc: dcqcn_hpcc\n"
				      "  cc_params: {rate_ai: 41Mbps, rate_hai: 101Mbps}\n";
	struct scenario s;

	(void)state;
	read_with(profile, TOP, &s);
	assert_int_equal(s.nic.cc_params.r_ai_bps, 41000000);
	assert_int_equal(s.nic.cc_params.r_hai_bps, 101000000);
	scenario_fini(&s);
	read_with(profile, TOP "nic: {cc_params: {rate_hai: 7Mbps}}\n", &s);
	assert_int_equal(s.nic.cc_params.r_ai_bps, 41000000);
	assert_int_equal(s.nic.cc_params.r_hai_bps, 7000000);
	scenario_fini(&s);
	read_with(profile, TOP "nic: {cc: swift, cc_params: {ai: 2}}\n", &s);
	assert_int_equal(s.nic.cc, SCENARIO_CC_SWIFT);
	scenario_fini(&s);
}

/* ---- of machines ---- */

#define BARE "version: 1\ntopology: {kind: star, hosts: 3}\n"
#define PARTS                                                                                      \
	"{name: cpu0, kind: socket, latency: 90ns}, {name: nic0, kind: nic, tags: 8}, "            \
	"{name: nic1, kind: nic, tags: 8}, {name: gpu0, kind: gpu, memory: 4GiB}"
#define LANES "{a: cpu0, b: nic0, gen: 5}, {a: cpu0, b: nic1, gen: 5}, {a: cpu0, b: gpu0, gen: 5}"
#define INSIDE "{parts: [" PARTS "], lanes: [" LANES "]}"

/* Of @text, a scenario, with a machine of the name "mine" that is @profile. */
static void read_machine(const char *profile, const char *text, struct scenario *ret_scenario,
			 struct bad_list *errors)
{
	only = (struct profile){.name = "mine", .is_machine = true, .text = profile};
	if (scenario_parse("test.yaml", text, strlen(text), NULL, ret_scenario, errors) != 0)
		fail_msg("%s: %s", text, errors->count ? errors->lines[0].text : "?");
}

/* It is refused with this line. */
static void assert_refused(const char *text, const char *line)
{
	struct bad_list errors = {0};
	struct scenario s;

	assert_int_equal(scenario_parse("test.yaml", text, strlen(text), NULL, &s, &errors),
			 -EINVAL);
	assert_string_equal(errors.lines[0].text, line);
	bad_list_fini(&errors);
}

static uint64_t hash_of_machine(const char *text)
{
	struct bad_list errors = {0};
	struct scenario scenario;
	uint64_t hash;

	read_machine("machine: " INSIDE "\n", text, &scenario, &errors);
	assert_int_equal(errors.count, 0);
	hash = scenario.hash;
	scenario_fini(&scenario);
	return hash;
}

static void a_machine_by_name_is_what_it_says(void **state)
{
	static const char written[] =
		"version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\nmachine: " INSIDE "\n";

	(void)state;
	assert_int_equal(hash_of_machine(BARE "machine: mine\n"), hash_of_machine(written));
	assert_int_equal(hash_of_machine(BARE "machine: {profile: mine}\n"),
			 hash_of_machine(written));
	assert_int_equal(hash_of_machine("version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\n"
					 "machines: [{hosts: h1, profile: mine}]\n"),
			 hash_of_machine("version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\n"
					 "machines: [{hosts: h1, parts: [" PARTS "], lanes: [" LANES
					 "]}]\n"));
}

/* Parts by their names, lanes by their ends, either of which may be a; the rest stays. */
static void what_is_said_goes_before_the_machine(void **state)
{
	(void)state;
	assert_int_equal(
		hash_of_machine(BARE "machine: {profile: mine, tx: 64KiB, "
				     "parts: [{name: nic1, tags: 9}, {name: gpu0, tags: 3}], "
				     "lanes: [{a: nic1, b: cpu0, width: 8}]}\n"),
		hash_of_machine(
			"version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\n"
			"machine: {tx: 64KiB, parts: ["
			"{name: cpu0, kind: socket, latency: 90ns}, "
			"{name: nic0, kind: nic, tags: 8}, {name: nic1, kind: nic, tags: 9}, "
			"{name: gpu0, kind: gpu, memory: 4GiB, tags: 3}], lanes: ["
			"{a: cpu0, b: nic0, gen: 5}, {a: cpu0, b: nic1, gen: 5, width: 8}, "
			"{a: cpu0, b: gpu0, gen: 5}]}\n"));
	/* Said or not, a lane is one of PCI Express by default. */
	assert_int_equal(hash_of_machine(BARE
					 "machine: {profile: mine, "
					 "lanes: [{a: nic1, b: cpu0, kind: pcie, width: 8}]}\n"),
			 hash_of_machine(BARE "machine: {profile: mine, "
					      "lanes: [{a: nic1, b: cpu0, width: 8}]}\n"));
}

/* A part and a lane more than the machine has, and a lane of another kind between the same two. */
static void what_is_said_may_add_to_the_machine(void **state)
{
	struct bad_list errors = {0};
	struct scenario s;

	(void)state;
	read_machine("machine: " INSIDE "\n",
		     BARE "machine: {profile: mine, parts: [{name: cpu1, kind: socket}], "
			  "lanes: [{a: cpu0, b: cpu1, kind: upi, rate: 100Gbps}]}\n",
		     &s, &errors);
	assert_int_equal(s.machines[0].part_count, 5);
	assert_int_equal(s.machines[0].lane_count, 4);
	scenario_fini(&s);
	assert_refused(BARE "machine: {profile: mine, lanes: [{a: cpu0, b: gpu0, kind: c2c, "
			    "rate: 1Gbps}]}\n",
		       "test.yaml:3: machine.lanes[0].b: found a second way from cpu0 to gpu0, "
		       "expected one way between any two parts, here cpu0-gpu0");
}

/* One of "machines" has the machine that "machine" names, with what both say of it. */
static void some_machines_change_the_machine(void **state)
{
#define SOME BARE "machine: {profile: mine, lanes: [{a: cpu0, b: nic0, width: 4}]}\n"
	(void)state;
	assert_int_equal(hash_of_machine(SOME
					 "machines: [{hosts: h1, parts: [{name: gpu0, tags: 3}], "
					 "lanes: [{a: nic1, b: cpu0, width: 8}]}]\n"),
			 hash_of_machine(SOME "machines: [{hosts: h1, parts: ["
					      "{name: cpu0, kind: socket, latency: 90ns}, {name: "
					      "nic0, kind: nic, tags: 8}, "
					      "{name: nic1, kind: nic, tags: 8}, {name: gpu0, "
					      "kind: gpu, memory: 4GiB, tags: 3}], "
					      "lanes: [{a: cpu0, b: nic0, gen: 5, width: 4}, "
					      "{a: cpu0, b: nic1, gen: 5, width: 8}, "
					      "{a: cpu0, b: gpu0, gen: 5}]}]\n"));
	assert_refused(
		SOME "machines: [{hosts: h1, lanes: [{a: cpu0, b: gpu9, width: 8}]}]\n",
		"test.yaml:4: machines[0].lanes[0].b: found \"gpu9\", expected the name of a "
		"part: cpu0, gpu0, nic0, nic1");
	assert_refused(SOME "machines: [{hosts: h1, lanes: [{a: nic0, b: gpu0, width: 8}]}]\n",
		       "test.yaml:4: machines[0].lanes[0].b: found a second way from nic0 to gpu0, "
		       "expected one way between any two parts, here cpu0-nic0, cpu0-gpu0");
}

/* But one that names another has nothing of it, and none that says all of it by itself is changed.
 */
static void some_machines_are_others(void **state)
{
	static const char other[] =
		"parts: [{name: cpu1, kind: socket}, {name: nic0, kind: nic}, "
		"{name: nic1, kind: nic}], lanes: [{a: cpu1, b: nic0}, {a: cpu1, b: nic1}]";
	struct bad_list errors = {0};
	struct bad_text text;
	struct scenario s;

	(void)state;
	bad_text(&text,
		 "version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\nmachine: " INSIDE
		 "\nmachines: [{hosts: h1, %s}]\n",
		 other);
	read_machine("machine: " INSIDE "\n", text.text, &s, &errors);
	assert_int_equal(s.machines[1].part_count, 3);
	scenario_fini(&s);
	assert_refused("version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\n"
		       "machine: " INSIDE "\n"
		       "machines: [{hosts: h1, lanes: [{a: cpu0, b: nic0, width: 8}]}]\n",
		       "test.yaml:4: machines[0].lanes: found none to gpu0, expected lanes that "
		       "join all parts (those of \"machine\" count beside them where that names a "
		       "profile or file)");
	read_machine("machine: " INSIDE "\n",
		     BARE "machine: {profile: mine, parts: [{name: cpu1, kind: socket}], lanes: "
			  "[{a: cpu0, b: cpu1, kind: upi, rate: 1Gbps}]}\n"
			  "machines: [{hosts: h1, profile: mine, lanes: [{a: cpu0, b: nic0, width: "
			  "8}]}]\n",
		     &s, &errors);
	assert_int_equal(s.machines[0].part_count, 5);
	assert_int_equal(s.machines[1].part_count, 4);
	scenario_fini(&s);
}

static void a_topology_says_how_many_adapters(void **state)
{
	struct bad_list errors = {0};
	struct scenario s;

	(void)state;
	read_machine("machine: " INSIDE "\n", BARE "machine: mine\n", &s, &errors);
	assert_int_equal(s.machines[0].adapter_count, 6);
	scenario_fini(&s);
	assert_refused("version: 1\n"
		       "topology: {kind: star, hosts: 3, nics: 1}\n"
		       "machine: mine\n",
		       "mine:1: machine.parts: found 2 of kind: nic, expected 1, as h0 has by "
		       "topology.nics or links; topology.nics: 2 would give each host so many "
		       "(named at test.yaml:3)");
	assert_refused("version: 1\n"
		       "topology: {kind: rail, servers: 2, rails: 3, nics: 3, spines: 1}\n"
		       "machine: mine\n",
		       "mine:1: machine.parts: found 2 of kind: nic, expected 3, as h0 has by "
		       "topology.nics or links (named at test.yaml:3)");
}

/* One line for all that are guesses and that hold: not for what the scenario says itself. */
static void a_guess_is_told(void **state)
{
	static const char guesses[] = "figures:\n"
				      "  known: &known 5   # source: somebody\n"
				      "  delay: &delay 3ns # source: guess\n"
				      "  tags: &tags 8 # source: guess, of all\n"
				      "machine:\n"
				      "  parts:\n"
				      "    - {name: cpu0, kind: socket}\n"
				      "    - {name: nic0, kind: nic, tags: *tags}\n"
				      "    - {name: nic1, kind: nic, tags: *tags}\n"
				      "  lanes:\n"
				      "    - {a: cpu0, b: nic0, gen: *known, delay: *delay}\n"
				      "    - {a: cpu0, b: nic1, gen: *known, delay: *delay}\n";
	struct bad_list errors = {0};
	struct scenario s;

	(void)state;
	read_machine(guesses, BARE "machine: mine\n", &s, &errors);
	assert_int_equal(errors.count, 1);
	assert_true(errors.lines[0].warning);
	assert_string_equal(errors.lines[0].text,
			    "test.yaml:3: machine.profile: of what mine says these figures are "
			    "guesses: tags, delay");
	scenario_fini(&s);
	bad_list_fini(&errors);
	read_machine(guesses,
		     BARE "machine: {profile: mine, parts: [{name: nic0, tags: 1}, "
			  "{name: nic1, tags: 1}], lanes: [{a: nic0, b: cpu0, delay: 1ns}]}\n",
		     &s, &errors);
	assert_int_equal(errors.count, 1);
	assert_non_null(strstr(errors.lines[0].text, "are guesses: delay"));
	scenario_fini(&s);
	bad_list_fini(&errors);
	/* Of all machines that are one profile once, and in one order, whatever is said first. */
	read_machine(guesses,
		     "version: 1\ntopology: {kind: star, hosts: 3, nics: 2}\n"
		     "machines:\n"
		     "  - {hosts: h0, profile: mine, parts: [{name: nic0, tags: 1}, "
		     "{name: nic1, tags: 1}]}\n"
		     "  - {hosts: h1, profile: mine, lanes: [{a: nic0, b: cpu0, width: 8}]}\n",
		     &s, &errors);
	assert_int_equal(errors.count, 1);
	assert_string_equal(errors.lines[0].text,
			    "test.yaml:4: machines[0].profile: of what mine says these figures are "
			    "guesses: tags, delay");
	assert_string_equal(s.machines[0].guesses, "delay");
	assert_string_equal(s.machines[1].guesses, "tags, delay");
	scenario_fini(&s);
	bad_list_fini(&errors);
}

/* One file for all names. */
static int read_xml(void *owner, const char *path, char **ret_bytes, size_t *ret_length)
{
	static const char text[] =
		"<system><cpu numaid=\"0\"><pci busid=\"0:1:0.0\" class=\"0x0302\"/>"
		"<pci busid=\"0:2:0.0\" class=\"0x0207\"/></cpu></system>";

	(void)owner, (void)path;
	*ret_length = strlen(text);
	*ret_bytes = util_alloc(*ret_length);
	if (!*ret_bytes)
		return -ENOMEM;
	memcpy(*ret_bytes, text, *ret_length);
	return 0;
}

/* This was built without libxml2, and says so. */
static bool is_without_xml(const struct bad_list *errors)
{
	return errors->count == 1 && strstr(errors->lines[0].text, "built without libxml2");
}

static void machines_live_without_memory(void **state)
{
	static const char *const texts[] = {
		BARE "machine: mine\n",
		BARE "machine: {file: x.xml, parts: [{name: gpu0, tags: 3}]}\n",
		BARE "machines: [{hosts: h1, file: x.xml}]\n",
		BARE "machine: mine\nmachines: [{hosts: h1, lanes: [{a: cpu0, b: nic0}]}]\n"};
	const struct read_source source = {.read = read_xml};
	const struct scenario_overrides overrides = {.source = &source};

	(void)state;
	only = (struct profile){
		.name = "mine", .is_machine = true, .text = "machine: " INSIDE "\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		unsigned allocations = 0;
		int ret;

		do {
			struct bad_list errors = {0};
			struct scenario s;

			util_alloc_fail_after(++allocations);
			ret = scenario_parse("test.yaml", texts[i], strlen(texts[i]), &overrides,
					     &s, &errors);
			util_alloc_fail_after(0);
			if (ret != 0 && is_without_xml(&errors)) {
				bad_list_fini(&errors);
				return;
			}
			if (ret == 0)
				scenario_fini(&s);
			else if (ret != -ENOMEM)
				fail_msg("%s: %u: %s", texts[i], allocations,
					 errors.count ? errors.lines[0].text : "?");
			bad_list_fini(&errors);
		} while (ret);
		assert_true(allocations > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_profile_says_counts),
		cmocka_unit_test(the_order_of_entries_does_not),
		cmocka_unit_test(parameters_are_those_of_the_chosen_control),
		cmocka_unit_test(a_machine_by_name_is_what_it_says),
		cmocka_unit_test(what_is_said_goes_before_the_machine),
		cmocka_unit_test(what_is_said_may_add_to_the_machine),
		cmocka_unit_test(some_machines_change_the_machine),
		cmocka_unit_test(some_machines_are_others),
		cmocka_unit_test(a_topology_says_how_many_adapters),
		cmocka_unit_test(a_guess_is_told),
		cmocka_unit_test(machines_live_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

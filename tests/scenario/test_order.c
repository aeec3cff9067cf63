/* SPDX-License-Identifier: BSD-2-Clause */

/* What order and digest may depend on, and what they must not. */
#include "sim/order.h"
#include "tests/scenario/net.h"
#include "tests/test.h"
#include "util/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SENDERS = 8, ROUNDS = 2000, STAR_MAX = 16 };

/* ---- ties ---- */

struct race {
	uint32_t round, seen, won[STAR_MAX], last[STAR_MAX];
};

static void note(struct endpoint *ep, const struct sim_pkt *pkt, void *context)
{
	struct race *race = context;
	const uint32_t sender = pkt->flow_hash;

	(void)ep;
	assert_true(sender < SENDERS);
	if (race->seen % SENDERS == 0)
		race->won[sender]++;
	if (race->seen % SENDERS == SENDERS - 1)
		race->last[sender]++;
	race->seen++;
}

/* All send at the same instants to one sink: the switch takes them in a new order each time. */
static void each_port_wins_as_often_as_any_other(void **state)
{
	struct net_link links[STAR_MAX];
	char names[2 * STAR_MAX][24];
	const uint32_t count = net_star(links, names, SENDERS + 1, 100000000000, PS_US);
	struct race race = {0};
	struct net net;

	(void)state;
	net_make(&net, &(struct net_params){.seed = 3, .buffer_bytes = 1 << 20}, links, count);
	for (uint32_t i = 0; i < SENDERS; i++) {
		char name[24];
		struct endpoint_flow *flow;

		snprintf(name, sizeof(name), "h%u", i);
		flow = net_flow(&net, name, "h8", ROUNDS, 1106, 0);
		flow->gap = 2 * PS_US;
		flow->answer = false;
		flow->flow_hash = i;
	}
	net_host(&net, "h8")->seen = note;
	net_host(&net, "h8")->context = &race;
	net_run(&net);
	assert_int_equal(race.seen, SENDERS * ROUNDS);
	/* 250 expected, standard deviation 14.8: five of them either way. */
	for (uint32_t i = 0; i < SENDERS; i++) {
		assert_in_range(race.won[i], 250 - 74, 250 + 74);
		assert_in_range(race.last[i], 250 - 74, 250 + 74);
	}
	net_free(&net);
}

/* ---- what changes nothing, and what changes everything ---- */

struct change {
	struct net_params params;
	uint32_t late_packet, fewer, more_delay;
};

enum { TREE_LINKS = 48 };

/* A fat tree of 16 hosts, everybody to everybody, with PFC and marking. */
static uint64_t tree(struct change change)
{
	struct net_link links[TREE_LINKS];
	char names[2 * TREE_LINKS][24];
	const uint32_t count = net_fat_tree(links, names, 4, 100000000000, PS_US);
	struct net net;
	uint64_t digest;

	if (change.params.seed == 0)
		change.params.seed = 7;
	change.params.fc = NET_PFC;
	change.params.pfc = (struct pfc_params){.buffer_bytes = 2000000,
						.lossless = 8,
						.xoff_bytes = 20000,
						.resume_bytes = 8356,
						.headroom_bytes = 60000};
	change.params.kmin = 10000;
	change.params.kmax = 100000;
	change.params.pmax_num = 1;
	change.params.pmax_den = 5;
	change.params.marked = 8;
	links[5].delay += change.more_delay;
	net_make(&net, &change.params, links, count);
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t j = 0; j < 16; j++) {
			char from[24], to[24];

			snprintf(from, sizeof(from), "h%u", i);
			snprintf(to, sizeof(to), "h%u", j);
			if (i != j)
				net_flow(&net, from, to, 6 - (change.fewer && i == 3 && j == 9),
					 4178, 0);
		}
	net_host(&net, "h5")->late_packet = change.late_packet;
	digest = net_run(&net);
	assert_int_equal(net_dropped(&net), 0);
	net_free(&net);
	return digest;
}

static void the_digest_does_not_see(void **state)
{
	const uint64_t plain = tree((struct change){0});

	(void)state;
	assert_true(plain == tree((struct change){0}));
	assert_true(plain == tree((struct change){.params.reverse_nodes = true}));
	assert_true(plain == tree((struct change){.params.reverse_links = true}));
	assert_true(plain == tree((struct change){.params.threads = 2}));
	assert_true(plain == tree((struct change){.params.threads = 3}));
	assert_true(plain ==
		    tree((struct change){.params.threads = 3, .params.reverse_nodes = true}));
	assert_true(plain == tree((struct change){.params.oracle = true}));
}

static void the_digest_sees(void **state)
{
	const uint64_t plain = tree((struct change){0});

	(void)state;
	for (uint32_t i = 1; i <= 20; i++)
		assert_true(plain != tree((struct change){.late_packet = i}));
	assert_true(plain != tree((struct change){.fewer = 1}));
	assert_true(plain != tree((struct change){.more_delay = 1}));
	assert_true(plain != tree((struct change){.params.seed = 8}));
}

static struct sim_pkt packet(uint64_t number)
{
	struct sim_pkt pkt = {.at = 1000, .bytes = 86, .priority = 3, .ecn = 2};

	pkt.body_words[0] = 5;
	pkt.body_words[1] = number;
	return pkt;
}

static uint64_t deliver(uint64_t digest, const struct sim_pkt *pkt, uint64_t link_id)
{
	return sim_digest_arrival(digest, pkt, link_id, pkt->body_words);
}

static void each_fact_of_a_delivery_counts(void **state)
{
	const struct sim_pkt a = packet(1), b = packet(2);
	const uint64_t plain = deliver(9, &a, 77);
	struct sim_pkt other = a;

	(void)state;
	assert_true(deliver(deliver(9, &a, 77), &b, 78) != deliver(deliver(9, &b, 78), &a, 77));
	assert_true(deliver(deliver(9, &a, 77), &a, 77) != 9); /* a chain, not a sum */
	assert_true(plain != deliver(9, &a, 78));
	other.at++;
	assert_true(plain != deliver(9, &other, 77));
	other = a;
	other.bytes++;
	assert_true(plain != deliver(9, &other, 77));
	other = a;
	other.ecn = 3;
	assert_true(plain != deliver(9, &other, 77));
	other = a;
	other.priority = 4;
	assert_true(plain != deliver(9, &other, 77));
	other = a;
	other.frame = SIM_CONTROL;
	assert_true(plain != deliver(9, &other, 77));
	other = a;
	other.body_words[0]++;
	assert_true(plain != deliver(9, &other, 77));
	assert_true(plain != deliver(9, &b, 77));
}

/* ---- far away ---- */

/* A nanosecond beside milliseconds, pauses of seconds: beyond every ring of windows. */
static uint64_t far_away(bool oracle, uint32_t threads)
{
	const struct net_link links[] = {{"h0", "s0", 100000000000, PS_NS},
					 {"s0", "s1", 1000000000, 3 * PS_MS},
					 {"h1", "s1", 25000000000, 77 * PS_US},
					 {"h2", "s1", 10000000, PS_NS}};
	struct net net;
	uint64_t digest;

	net_make(&net,
		 &(struct net_params){
			 .seed = 5, .buffer_bytes = 1 << 24, .oracle = oracle, .threads = threads},
		 links, 4);
	net_flow(&net, "h0", "h1", 100, 9100, 0);
	net_flow(&net, "h1", "h0", 100, 4178, 5 * PS_MS)->gap = 333 * PS_US;
	net_flow(&net, "h2", "h1", 10, 9100, 0)->gap = 2 * PS_S;
	net_flow(&net, "h1", "h2", 3, 9100, 40 * PS_S);
	digest = net_run(&net);
	assert_int_equal(net_host(&net, "h1")->answers, 103);
	assert_int_equal(net_host(&net, "h2")->answers, 10);
	net_free(&net);
	return digest;
}

static void far_frames_and_wakes_are_exact(void **state)
{
	(void)state;
	assert_true(far_away(false, 1) == far_away(true, 1));
	assert_true(far_away(false, 1) == far_away(false, 2));
}

/* ---- running in steps ---- */

static void steps_change_nothing(void **state)
{
	struct net_link links[STAR_MAX];
	char names[2 * STAR_MAX][24];
	const uint32_t count = net_star(links, names, 4, 100000000000, PS_US);
	uint64_t digests[2];

	(void)state;
	for (int steps = 0; steps < 2; steps++) {
		struct net net;

		net_make(&net, &(struct net_params){.seed = 3, .buffer_bytes = 1 << 20}, links,
			 count);
		for (uint32_t i = 0; i < 3; i++)
			net_flow(&net, i == 0 ? "h0" : i == 1 ? "h1" : "h2", "h3", 50, 4178, 0);
		for (ps_t at = 1; steps && at < 60 * PS_US; at += 1700 * PS_NS)
			assert_int_equal(sim_run(net.sim, at), 0);
		digests[steps] = net_run(&net);
		net_free(&net);
	}
	assert_true(digests[0] == digests[1]);
}

/* ---- turns in an island ---- */

/* Wants one turn at a time of its own; what it has asked for it does not ask for again. */
struct sleeper {
	struct sim_node node; /* first */
	ps_t wanted, asked;
	ps_t until; /* of the last turn */
};

static void sleeper_run(struct sim_thread *th, struct sim_node *node,
			struct sim_pkt *const *arrivals, uint32_t count)
{
	struct sleeper *sleeper = container_of(node, struct sleeper, node);

	(void)arrivals;
	(void)count;
	sleeper->until = th->until;
	if (sleeper->wanted >= th->until && sleeper->asked < th->until)
		sleeper->asked = sim_wake(th, node, sleeper->wanted);
}

/* A frame comes over 5 ns of cable to one who wants a turn at @wanted, and nothing after it.
 * Returns up to when its turns have gone. */
static ps_t sleep_until(ps_t wanted)
{
	static const struct sim_node_ops ops = {.kind = "sleeper", .run = sleeper_run};
	const struct sim_params params = {
		.thread_count = 1, .body_ops = &endpoint_body, .frame_bytes_min = 80};
	struct sleeper sleeper = {.node = {.ops = &ops, .name = "s"}, .wanted = wanted};
	struct endpoint near, far;
	struct sim *sim = sim_create(&params);

	endpoint_init(&near, "near");
	endpoint_init(&far, "far");
	assert_int_equal(sim_add_node(sim, &near.node), 0);
	assert_int_equal(sim_add_node(sim, &far.node), 0);
	assert_int_equal(sim_add_node(sim, &sleeper.node), 0);
	assert_int_equal(sim_add_link(sim, &near.node, &sleeper.node,
				      &(struct sim_link_params){"near-s", 100000000000, 5 * PS_NS}),
			 0);
	assert_int_equal(sim_add_link(sim, &far.node, &sleeper.node,
				      &(struct sim_link_params){"far-s", 100000000000, PS_US}),
			 0);
	assert_int_equal(sim_seal(sim), 0);
	assert_int_equal(sim_island_count(sim), 1);
	endpoint_ready(&near, NULL);
	endpoint_ready(&far, NULL);
	endpoint_add(&near,
		     (struct endpoint_flow){.packets = 1, .bytes = 86, .next_at = 100 * PS_NS});
	assert_int_equal(sim_run(sim, PS_NEVER), 0);
	sim_destroy(sim);
	endpoint_fini(&near);
	endpoint_fini(&far);
	return sleeper.until;
}

/* What is asked for at the very end of the turn in which the frame comes, or a picosecond to either
 * side of it, comes, too. */
static void a_turn_may_end_where_the_next_one_begins(void **state)
{
	const ps_t end = sleep_until(0);

	(void)state;
	assert_true(end > 100 * PS_NS + 6880 + 5 * PS_NS);
	assert_true(sleep_until(end - 1) > end - 1);
	assert_true(sleep_until(end) > end);
	assert_true(sleep_until(end + 1) > end + 1);
}

/* ---- between windows ---- */

enum { PAIRS = 2 };

struct pairs {
	struct sim *sim;
	struct endpoint a[PAIRS], b[PAIRS];
};

/* In each one sends to the other for 34 us, over a link of @delay. */
static void make_pairs(struct pairs *pairs, const struct sim_params *params, ps_t delay)
{
	static const char *const names[PAIRS][3] = {{"a", "b", "a-b"}, {"c", "d", "c-d"}};

	pairs->sim = sim_create(params);
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct endpoint *a = &pairs->a[i], *b = &pairs->b[i];
		const struct sim_link_params link = {names[i][2], 100000000000, delay};

		endpoint_init(a, names[i][0]);
		endpoint_init(b, names[i][1]);
		assert_int_equal(sim_add_node(pairs->sim, &a->node), 0);
		assert_int_equal(sim_add_node(pairs->sim, &b->node), 0);
		assert_int_equal(sim_add_link(pairs->sim, &a->node, &b->node, &link), 0);
	}
	assert_int_equal(sim_seal(pairs->sim), 0);
	for (uint32_t i = 0; i < PAIRS; i++) {
		endpoint_ready(&pairs->a[i], NULL);
		endpoint_ready(&pairs->b[i], NULL);
		endpoint_add(&pairs->a[i], (struct endpoint_flow){.packets = 5000, .bytes = 86});
	}
}

static void free_pairs(struct pairs *pairs)
{
	sim_destroy(pairs->sim);
	for (uint32_t i = 0; i < PAIRS; i++) {
		endpoint_fini(&pairs->a[i]);
		endpoint_fini(&pairs->b[i]);
	}
}

static void all_has_come(const struct pairs *pairs)
{
	for (uint32_t i = 0; i < PAIRS; i++)
		assert_int_equal(pairs->b[i].received_packets, 5000);
}

/* The first call is all that counts. */
static int note_played(struct sim *sim, void *owner)
{
	ps_t *first = owner;

	if (*first == 0)
		*first = sim_played(sim);
	return 0;
}

/* Two who want to look, in either order: the one who is earlier does, in the middle of what would
 * be a window. */
static void the_earliest_of_two_looks_counts(void **state)
{
	static const ps_t cuts[][2] = {{7 * PS_US, 9 * PS_US}, {9 * PS_US, 7 * PS_US}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ps_t first = 0;
		const struct sim_params params = {.thread_count = 1,
						  .body_ops = &endpoint_body,
						  .between = note_played,
						  .owner = &first};
		struct pairs pairs;

		make_pairs(&pairs, &params, 50 * PS_US);
		sim_cut(pairs.sim, cuts[i][0]);
		sim_cut(pairs.sim, cuts[i][1]);
		assert_int_equal(sim_run(pairs.sim, 20 * PS_US), 0);
		assert_int_equal(first, 7 * PS_US);
		free_pairs(&pairs);
	}
}

/* How many threads this process has, and how many of them run, this one among them. */
static uint32_t count_threads(uint32_t *ret_awake)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	uint32_t count = 0, awake = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		char path[300], text[400] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		count++;
		/* NUMBER (NAME) STATE */
		if (fgets(text, sizeof(text), file) && strrchr(text, ')'))
			awake += strrchr(text, ')')[2] != 'S';
		fclose(file);
	}
	closedir(tasks);
	*ret_awake = awake;
	return count;
}

static uint32_t count_awake(void)
{
	uint32_t awake;

	count_threads(&awake);
	return awake;
}

/* Whoever is here waits for all others to go to sleep. */
static int dawdle(struct sim *sim, void *owner)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	uint32_t *calls = owner;

	(void)sim;
	if (++*calls <= 3)
		while (count_awake() > 1)
			nanosleep(&nap, NULL);
	return 0;
}

static void all_threads_wake_up(void **state)
{
	uint32_t calls = 0;
	const struct sim_params params = {.thread_count = 4,
					  .body_ops = &endpoint_body,
					  .between = dawdle,
					  .owner = &calls,
					  .window_max = PS_US};
	struct pairs pairs;

	(void)state;
	make_pairs(&pairs, &params, 50 * PS_US);
	alarm(60); /* or it would wait for ever */
	assert_int_equal(sim_run(pairs.sim, PS_NEVER), 0);
	alarm(0);
	assert_true(calls > 3);
	all_has_come(&pairs);
	free_pairs(&pairs);
}

static int most_threads(struct sim *sim, void *owner)
{
	uint32_t *most = owner, awake;
	const uint32_t count = count_threads(&awake);

	(void)sim;
	*most = count > *most ? count : *most;
	return 0;
}

/* The most threads at once of a run that may have four, over those of a run that may have one. */
static uint32_t threads_beside(ps_t delay, uint32_t islands)
{
	uint32_t most[2] = {0};

	for (uint32_t i = 0; i < 2; i++) {
		const struct sim_params params = {.thread_count = i ? 1 : 4,
						  .body_ops = &endpoint_body,
						  .between = most_threads,
						  .owner = &most[i],
						  .window_max = PS_US,
						  .frame_bytes_min = 80};
		struct pairs pairs;

		make_pairs(&pairs, &params, delay);
		assert_int_equal(sim_island_count(pairs.sim), islands);
		assert_int_equal(sim_run(pairs.sim, PS_NEVER), 0);
		all_has_come(&pairs);
		free_pairs(&pairs);
	}
	return most[0] - most[1];
}

/* Where all links are short, each pair is an island, which one thread plays. */
static void who_would_have_nothing_to_do_is_no_thread(void **state)
{
	(void)state;
	assert_int_equal(threads_beside(50 * PS_US, 0), 3);
	assert_int_equal(threads_beside(10 * PS_NS, 2), 1);
}

static void a_full_arena_ends_the_run(void **state)
{
	const struct sim_params params = {
		.thread_count = 1, .body_ops = &endpoint_body, .frames_max = 30};
	struct endpoint a, b;
	struct sim *sim = sim_create(&params);

	(void)state;
	endpoint_init(&a, "a");
	endpoint_init(&b, "b");
	assert_int_equal(sim_add_node(sim, &a.node), 0);
	assert_int_equal(sim_add_node(sim, &a.node), -EEXIST);
	assert_int_equal(sim_add_node(sim, &b.node), 0);
	assert_int_equal(
		sim_add_link(sim, &a.node, &a.node, &(struct sim_link_params){"x", 1000, 1}),
		-EINVAL);
	assert_int_equal(
		sim_add_link(sim, &a.node, &b.node, &(struct sim_link_params){"x", 1000, 0}),
		-EINVAL);
	assert_int_equal(
		sim_add_link(sim, &a.node, &b.node, &(struct sim_link_params){"a", 1000, 1}),
		-EEXIST);
	assert_int_equal(sim_add_link(sim, &a.node, &b.node,
				      &(struct sim_link_params){"a-b", 100000000000, 50 * PS_US}),
			 0);
	assert_int_equal(sim_seal(sim), 0);
	endpoint_ready(&a, NULL);
	endpoint_ready(&b, NULL);
	endpoint_add(&a, (struct endpoint_flow){.packets = 5000, .bytes = 86});
	assert_int_equal(sim_run(sim, PS_NEVER), -ENOMEM);
	sim_destroy(sim);
	endpoint_fini(&a);
	endpoint_fini(&b);
}

/* Builds a small fabric; true: nothing failed. Whatever was made is given back. */
static bool build(void)
{
	const struct sim_params params = {
		.thread_count = 2, .body_ops = &endpoint_body, .frames_max = 1000};
	const struct pfc_params pfc = {.buffer_bytes = 100000, .lossless = 8, .xoff_bytes = 1000};
	const struct sim_link_params a_link = {"a-s", 1000000, 1000},
				     b_link = {"b-s", 1000000, 1000};
	struct sim *sim = sim_create(&params);
	struct sim_switch *sw = sim_switch_create("s");
	struct sim_node *node = sw ? sim_switch_node(sw) : NULL;
	struct sim_routes *routes = NULL;
	struct sim_fc *fc = NULL;
	struct endpoint a, b;
	bool done = false;

	endpoint_init(&a, "a");
	endpoint_init(&b, "b");
	if (!sim || !sw || sim_add_node(sim, &a.node) || sim_add_node(sim, &b.node) ||
	    sim_add_node(sim, node) || sim_add_link(sim, &a.node, node, &a_link) ||
	    sim_add_link(sim, &b.node, node, &b_link) || sim_seal(sim) ||
	    sim_routes_create(sim, &sim_switch_ops, &routes))
		goto out;
	fc = pfc_create(node, &pfc);
	if (!fc)
		goto out;
	if (sim_switch_ready(sw, sim_route_table_of(routes, node), fc)) {
		sim_fc_destroy(fc);
		goto out;
	}
	endpoint_ready(&a, NULL);
	endpoint_ready(&b, NULL);
	done = sim_run(sim, PS_US) == 0;
out:
	sim_destroy(sim);
	sim_switch_destroy(sw);
	sim_routes_destroy(routes);
	endpoint_fini(&a);
	endpoint_fini(&b);
	return done;
}

static void every_allocation_may_fail(void **state)
{
	unsigned n = 1;

	(void)state;
	for (;; n++) {
		bool done;

		util_alloc_fail_after(n);
		done = build();
		util_alloc_fail_after(0);
		if (done)
			break;
		assert_true(n < 1000);
	}
	assert_true(n > 30);
}

RUN(T(each_port_wins_as_often_as_any_other), T(the_digest_does_not_see), T(the_digest_sees),
    T(each_fact_of_a_delivery_counts), T(far_frames_and_wakes_are_exact), T(steps_change_nothing),
    T(a_turn_may_end_where_the_next_one_begins), T(the_earliest_of_two_looks_counts),
    T(all_threads_wake_up), T(who_would_have_nothing_to_do_is_no_thread),
    T(a_full_arena_ends_the_run), T(every_allocation_may_fail))

/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena diff: where two runs part. Both are run again, each in a process of its own, and their
 * events, and the bytes that come into memory, compared one by one as they come. */
#include "tools/observe/event_text.h"
#include "tools/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside events go: what was placed in memory (@port: the host, @word: the region, @limit: the
 * offset, @held: a hash of the bytes), and the end (@held: the digest, @marked: all addresses are
 * fixed). */
enum { PLACEMENT = 0xfe, LAST_EVENT = 0xff, KEPT = 64, SHOWN = 5 };
static const ps_t look_ahead = PS_MS; /* for what a side does next at the node where they part */

struct side {
	struct replay replay;
	pid_t pid;
	FILE *pipe; /* events, then one of kind LAST_EVENT */
	struct {
		struct event *all; /* placements that the other side has not had yet */
		size_t first, count, room;
	} placed;
	/* The other end, in the child. */
	struct events_listener listener;
	struct host_memory_tap tap;
	FILE *out;
};

/* ---- in the child ---- */

static int send_event(struct events_listener *listener, const struct event *event)
{
	struct side *side = container_of(listener, struct side, listener);

	return fwrite(event, sizeof(*event), 1, side->out) == 1 ? 0 : -EPIPE;
}

/* The next event says that the pipe is broken. */
static void send_placement(struct host_memory_tap *tap, const struct host *host, uint64_t region,
			   uint64_t offset, uint32_t length, uint64_t fold, ps_t at)
{
	struct side *side = container_of(tap, struct side, tap);
	const struct event event = {.kind = PLACEMENT,
				    .at = at,
				    .port = host->number,
				    .word = (uint32_t)region,
				    .limit = offset,
				    .bytes = length,
				    .held = fold};

	fwrite(&event, sizeof(event), 1, side->out);
}

/* The end: its digest, and when nothing more happened. */
static int diff_child(struct side *side, int pipe)
{
	struct event last = {.kind = LAST_EVENT};
	int ret;

	side->out = fdopen(pipe, "wb");
	if (!side->out)
		return COMMAND_BROKEN;
	side->listener = (struct events_listener){.on_event = send_event};
	events_listen(&side->replay.events, &side->listener);
	side->tap = (struct host_memory_tap){.on_place = send_placement};
	for (uint32_t i = 0; i < side->replay.fabric.host_count; i++)
		host_set_memory_tap(&side->replay.fabric.hosts[i], &side->tap);
	ret = replay_run(&side->replay);
	if (ret)
		return COMMAND_BROKEN;
	last.at = sim_now(side->replay.fabric.sim);
	last.held = sim_digest(side->replay.fabric.sim);
	last.marked = replay_is_fixed(&side->replay);
	last.retransmitted = side->replay.is_cut;
	return send_event(&side->listener, &last) == 0 && fflush(side->out) == 0 ? COMMAND_DONE
										 : COMMAND_BROKEN;
}

static int diff_start(struct side *side)
{
	int pipes[2];

	if (pipe(pipes) != 0)
		return -errno;
	fflush(stdout);
	side->pid = fork();
	if (side->pid == 0) {
		close(pipes[0]);
		_exit(diff_child(side, pipes[1]));
	}
	close(pipes[1]);
	side->pipe = side->pid > 0 ? fdopen(pipes[0], "rb") : NULL;
	if (!side->pipe)
		close(pipes[0]);
	return side->pipe ? 0 : -EAGAIN;
}

/* ---- the comparison ---- */

struct comparison {
	struct side *a, *b;
	struct event seen[KEPT];
	uint64_t count;		       /* events that are the same */
	struct event place_a, place_b; /* the first placements that are not; kind 0: none */
};

static bool diff_keep(struct side *side, const struct event *placement)
{
	if (side->placed.count == side->placed.room) {
		const size_t room = side->placed.room ? 2 * side->placed.room : KEPT;
		struct event *all = realloc(side->placed.all, room * sizeof(*all));

		if (!all)
			return false;
		side->placed.all = all;
		side->placed.room = room;
	}
	side->placed.all[side->placed.count++] = *placement;
	return true;
}

/* The next that is no placement. */
static bool next(struct side *side, struct event *ret_event)
{
	while (fread(ret_event, sizeof(*ret_event), 1, side->pipe) == 1) {
		if (ret_event->kind == LAST_EVENT && ret_event->retransmitted)
			replay_warn_of_cut(&side->replay, ret_event->at);
		if (ret_event->kind != PLACEMENT)
			return true;
		if (!diff_keep(side, ret_event))
			return false;
	}
	return false;
}

/* Those that both sides have had by now. */
static void compare_placements(struct comparison *c)
{
	struct side *const sides[] = {c->a, c->b};

	while (sides[0]->placed.first < sides[0]->placed.count &&
	       sides[1]->placed.first < sides[1]->placed.count) {
		const struct event *x = &sides[0]->placed.all[sides[0]->placed.first++];
		const struct event *y = &sides[1]->placed.all[sides[1]->placed.first++];

		if (c->place_a.kind == 0 && memcmp(x, y, sizeof(*x)) != 0) {
			c->place_a = *x;
			c->place_b = *y;
		}
	}
	for (int i = 0; i < 2; i++)
		if (sides[i]->placed.first == sides[i]->placed.count)
			sides[i]->placed.first = sides[i]->placed.count = 0;
}

static void diff_show(const struct side *side, const char *mark, const struct event *event)
{
	printf("%s ", mark);
	if (event->kind == LAST_EVENT)
		printf("nothing more");
	else
		event_text(&side->replay.events, event, stdout);
	putchar('\n');
}

static bool is_near(const struct events *events, const struct event *event, const struct event *to)
{
	const struct events_port *x = &events->ports[event->port], *y = &events->ports[to->port];

	return strcmp(x->node, y->node) == 0 || strcmp(x->peer, y->node) == 0;
}

/* The last that were the same, at the node where it happens. */
static void diff_show_context(const struct comparison *c, const struct event *at)
{
	const uint64_t kept = c->count < KEPT ? c->count : KEPT;
	const struct events *events = &c->a->replay.events;
	uint64_t first = c->count;
	int shown = 0;

	while (c->count - first < kept && shown < SHOWN)
		shown += is_near(events, &c->seen[--first % KEPT], at);
	for (; first < c->count; first++)
		if (is_near(events, &c->seen[first % KEPT], at))
			diff_show(c->a, " ", &c->seen[first % KEPT]);
}

/* What a line does not tell. */
static void show_rest(const struct event *x, const struct event *y)
{
	if (x->kind != EVENT_DATA || y->kind != EVENT_DATA)
		return;
	if (x->ecn != y->ecn)
		printf("  the ECN field is %u in A and %u in B\n", x->ecn, y->ecn);
	if (x->word != y->word)
		printf("  AETH or immediate data is %08x in A and %08x in B\n", x->word, y->word);
}

static void show_placement(const struct side *side, const char *mark, const struct event *event)
{
	printf("%s ", mark);
	event_time(event->at, stdout);
	printf("  %s  %u bytes to region %u, offset %" PRIu64 "\n",
	       side->replay.fabric.table.hosts[event->port]->node.name, event->bytes, event->word,
	       event->limit);
}

/* What was placed in memory, where it is not the same by @until. True: it is not. */
static bool show_placements(const struct comparison *c, ps_t until)
{
	struct event b = c->place_b;

	if (c->place_a.kind == 0 || (c->place_a.at > until && c->place_b.at > until))
		return false;
	b.held = c->place_a.held;
	if (memcmp(&c->place_a, &b, sizeof(b)) == 0) {
		printf("other bytes were placed in memory, first:\n");
		show_placement(c->a, "A, B", &c->place_a);
		return true;
	}
	printf("what was placed in memory is not the same, first:\n");
	show_placement(c->a, "A", &c->place_a);
	show_placement(c->b, "B", &c->place_b);
	return true;
}

/* Where a run in a folder was another one than it is now. True: one was. */
static bool show_changes(const struct comparison *c, const struct event *x, const struct event *y)
{
	const struct {
		const struct replay *replay;
		const struct event *last;
	} sides[] = {{&c->a->replay, x}, {&c->b->replay, y}};
	bool changed = false;

	for (int i = 0; i < 2; i++) {
		const char *change =
			replay_change(sides[i].replay, sides[i].last->held, sides[i].last->marked);

		if (change)
			command_line(stdout, "%s had digest %s: %s", sides[i].replay->name,
				     sides[i].replay->before.digest, change);
		changed = changed || change;
	}
	return changed;
}

/* What may be the reason for all of it. False: nothing is known. */
static bool show_inputs(const struct comparison *c)
{
	const struct scenario *a = &c->a->replay.scenario, *b = &c->b->replay.scenario;

	if (a->seed != b->seed)
		printf("the seeds are %" PRIu64 " and %" PRIu64 "\n", a->seed, b->seed);
	else if (a->hash != b->hash)
		printf("the scenarios are not the same\n");
	return a->seed != b->seed || a->hash != b->hash;
}

/* Of a side whose next event is elsewhere: its next at the node of @first, up to a limit, for it
 * may never come. */
static void show_next_there(struct comparison *c, struct side *side, const char *mark,
			    const struct event *own, const struct event *first)
{
	const char *node = c->a->replay.events.ports[first->port].node;
	const ps_t limit = first->at + look_ahead;
	struct event event = *own;
	bool is_there = true;

	while (is_there && event.kind != LAST_EVENT && event.at <= limit &&
	       strcmp(side->replay.events.ports[event.port].node, node) != 0)
		is_there = next(side, &event);
	if (is_there && event.kind != LAST_EVENT && event.at <= limit) {
		diff_show(side, mark, &event);
		return;
	}
	printf("%s nothing at %s until ", mark, node);
	event_time(is_there && event.kind == LAST_EVENT && event.at < limit ? event.at : limit,
		   stdout);
	putchar('\n');
}

/* In the order of events: what comes first is what the other side does not have. */
static bool is_earlier(const struct event *x, const struct event *y)
{
	return x->at != y->at ? x->at < y->at : x->port <= y->port;
}

static int diff_report(struct comparison *c, const struct event *x, const struct event *y)
{
	const bool has_x = x->kind != LAST_EVENT, has_y = y->kind != LAST_EVENT;
	const struct event *first = has_x && (!has_y || is_earlier(x, y)) ? x : y;

	if (c->count > 0)
		printf("the first %" PRIu64 " events are the same; then, at ", c->count);
	else
		printf("the first event is not the same, at ");
	event_time(first->at, stdout);
	printf(", at %s:\n", (first == x ? c->a : c->b)->replay.events.ports[first->port].node);
	diff_show_context(c, first);
	if (has_x)
		show_next_there(c, c->a, "A", x, first);
	else
		diff_show(c->a, "A", x);
	if (has_y)
		show_next_there(c, c->b, "B", y, first);
	else
		diff_show(c->b, "B", y);
	show_rest(x, y);
	show_placements(c, first->at);
	show_inputs(c);
	return COMMAND_FAILED;
}

static int report_end(const struct comparison *c, const struct event *x, const struct event *y)
{
	bool placed;

	printf("all %" PRIu64 " events are the same; ", c->count);
	if (x->held == y->held) {
		printf("the digest, too: %016" PRIx64 "\n", x->held);
		return show_changes(c, x, y) ? COMMAND_FAILED : COMMAND_DONE;
	}
	printf("the digests are %016" PRIx64 " and %016" PRIx64 ":\n", x->held, y->held);
	placed = show_placements(c, PS_NEVER);
	if (!show_inputs(c) && !placed)
		printf("a completion is not the same\n");
	show_changes(c, x, y);
	return COMMAND_FAILED;
}

static int compare(struct comparison *c)
{
	struct event x, y;

	for (;;) {
		if (!next(c->a, &x) || !next(c->b, &y)) {
			command_say("a run could not be repeated to its end");
			return COMMAND_BROKEN;
		}
		compare_placements(c);
		if (x.kind == LAST_EVENT && y.kind == LAST_EVENT)
			return report_end(c, &x, &y);
		if (memcmp(&x, &y, sizeof(x)) != 0)
			return diff_report(c, &x, &y);
		c->seen[c->count++ % KEPT] = x;
	}
}

/* Events name ports by their place. */
static int diff_compare_ports(const struct events *a, const struct events *b)
{
	for (uint32_t i = 0; i < a->port_count || i < b->port_count; i++) {
		const struct events_port *x = i < a->port_count ? &a->ports[i] : NULL;
		const struct events_port *y = i < b->port_count ? &b->ports[i] : NULL;

		if (x && y && strcmp(x->node, y->node) == 0 && strcmp(x->link, y->link) == 0)
			continue;
		printf("the topologies are not the same: %s at %s in A, %s at %s in B\n",
		       x ? x->link : "nothing", x ? x->node : "its end", y ? y->link : "nothing",
		       y ? y->node : "its end");
		return COMMAND_FAILED;
	}
	return COMMAND_DONE;
}

static int diff_compare_runs(struct side sides[2], const struct command_options *options)
{
	struct comparison comparison = {.a = &sides[0], .b = &sides[1]};
	int ret = replay_check_settings("diff", options, 2);

	for (int i = 0; i < 2 && !ret; i++)
		ret = replay_open(&sides[i].replay, options->args[i], options);
	for (int i = 0; i < 2 && !ret; i++)
		replay_warn_of_edits(&sides[i].replay, options);
	for (int i = 0; i < 2 && !ret; i++)
		ret = replay_build(&sides[i].replay);
	ret = ret ? ret : diff_compare_ports(&sides[0].replay.events, &sides[1].replay.events);
	for (int i = 0; i < 2 && !ret; i++)
		if (diff_start(&sides[i]) != 0) {
			command_say("%s: %s", options->args[i], strerror(errno));
			ret = COMMAND_BROKEN;
		}
	return ret ? ret : compare(&comparison);
}

static int diff(const struct command_options *options)
{
	struct side sides[2] = {{.pid = 0}, {.pid = 0}};
	int ret = diff_compare_runs(sides, options);

	for (int i = 0; i < 2; i++)
		if (sides[i].pipe)
			fclose(sides[i].pipe); /* they end by it, if they have not yet */
	for (int i = 0; i < 2; i++) {
		if (sides[i].pid > 0)
			waitpid(sides[i].pid, NULL, 0);
		replay_fini(&sides[i].replay);
		free(sides[i].placed.all);
	}
	return ret;
}

const struct command command_diff = {
	.name = "diff",
	.arguments = "A B",
	.summary = "where two runs part",
	.help = "Runs A and B again, each the folder of a run or a scenario, and shows the first "
		"event\n"
		"that is not the same, with those before it at that node and what either does next "
		"there.\n"
		"Exit status: 0 all the same, 1 not.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET,
	.args_min = 2,
	.args_max = 2,
	.run = diff,
};

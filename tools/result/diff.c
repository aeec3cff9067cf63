/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena diff: where two runs part. Both are run again, each in a process of its own, and their
 * events compared one by one as they come. */
#include "tools/observe/event_text.h"
#include "tools/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST_EVENT = 0xff, KEPT = 64, SHOWN = 5 };

struct side {
	struct replay replay;
	pid_t pid;
	FILE *pipe; /* events, then one of kind LAST_EVENT */
	/* The other end, in the child. */
	struct events_listener listener;
	FILE *out;
};

/* ---- in the child ---- */

static int send_event(struct events_listener *listener, const struct event *event)
{
	struct side *side = container_of(listener, struct side, listener);

	return fwrite(event, sizeof(*event), 1, side->out) == 1 ? 0 : -EPIPE;
}

/* The end: its digest, and when nothing more happened. */
static int child(struct side *side, int pipe)
{
	struct event last = {.kind = LAST_EVENT};
	int ret;

	side->out = fdopen(pipe, "wb");
	if (!side->out)
		return COMMAND_BROKEN;
	side->listener = (struct events_listener){.on_event = send_event};
	events_listen(&side->replay.events, &side->listener);
	ret = replay_run(&side->replay);
	if (ret)
		return COMMAND_BROKEN;
	last.at = sim_now(side->replay.fabric.sim);
	last.held = sim_digest(side->replay.fabric.sim);
	return send_event(&side->listener, &last) == 0 && fflush(side->out) == 0 ? COMMAND_DONE
										 : COMMAND_BROKEN;
}

static int start(struct side *side)
{
	int pipes[2];

	if (pipe(pipes) != 0)
		return -errno;
	fflush(stdout);
	side->pid = fork();
	if (side->pid == 0) {
		close(pipes[0]);
		_exit(child(side, pipes[1]));
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
	uint64_t count; /* events that are the same */
};

static bool next(struct side *side, struct event *ret_event)
{
	return fread(ret_event, sizeof(*ret_event), 1, side->pipe) == 1;
}

static void show(const struct side *side, const char *mark, const struct event *event)
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
static void show_context(const struct comparison *c, const struct event *at)
{
	const uint64_t kept = c->count < KEPT ? c->count : KEPT;
	const struct events *events = &c->a->replay.events;
	uint64_t first = c->count;
	int shown = 0;

	while (c->count - first < kept && shown < SHOWN)
		shown += is_near(events, &c->seen[--first % KEPT], at);
	for (; first < c->count; first++)
		if (is_near(events, &c->seen[first % KEPT], at))
			show(c->a, " ", &c->seen[first % KEPT]);
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

static int report(const struct comparison *c, const struct event *x, const struct event *y)
{
	const bool has_x = x->kind != LAST_EVENT, has_y = y->kind != LAST_EVENT;
	const struct event *first = has_x && (!has_y || x->at <= y->at) ? x : y;

	if (c->count > 0)
		printf("the first %" PRIu64 " events are the same; then, at ", c->count);
	else
		printf("the first event is not the same, at ");
	event_time(first->at, stdout);
	printf(", at %s:\n", (first == x ? c->a : c->b)->replay.events.ports[first->port].node);
	show_context(c, first);
	show(c->a, "A", x);
	show(c->b, "B", y);
	show_rest(x, y);
	show_inputs(c);
	return COMMAND_FAILED;
}

static int report_end(const struct comparison *c, const struct event *x, const struct event *y)
{
	printf("all %" PRIu64 " events are the same; ", c->count);
	if (x->held == y->held) {
		printf("the digest, too: %016" PRIx64 "\n", x->held);
		return COMMAND_DONE;
	}
	printf("the digests are %016" PRIx64 " and %016" PRIx64 ":\n", x->held, y->held);
	if (!show_inputs(c))
		printf("what was placed in memory, or a completion, is not the same\n");
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
		if (x.kind == LAST_EVENT && y.kind == LAST_EVENT)
			return report_end(c, &x, &y);
		if (memcmp(&x, &y, sizeof(x)) != 0)
			return report(c, &x, &y);
		c->seen[c->count++ % KEPT] = x;
	}
}

/* Events name ports by their place. */
static int compare_ports(const struct events *a, const struct events *b)
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

static int compare_runs(struct side sides[2], const struct command_options *options)
{
	struct comparison comparison = {.a = &sides[0], .b = &sides[1]};
	int ret = COMMAND_DONE;

	for (int i = 0; i < 2 && !ret; i++)
		ret = replay_open(&sides[i].replay, options->args[i], options);
	for (int i = 0; i < 2 && !ret; i++)
		ret = replay_build(&sides[i].replay);
	ret = ret ? ret : compare_ports(&sides[0].replay.events, &sides[1].replay.events);
	for (int i = 0; i < 2 && !ret; i++)
		if (start(&sides[i]) != 0) {
			command_say("%s: %s", options->args[i], strerror(errno));
			ret = COMMAND_BROKEN;
		}
	return ret ? ret : compare(&comparison);
}

static int diff(const struct command_options *options)
{
	struct side sides[2] = {{.pid = 0}, {.pid = 0}};
	int ret = compare_runs(sides, options);

	for (int i = 0; i < 2; i++)
		if (sides[i].pipe)
			fclose(sides[i].pipe); /* they end by it, if they have not yet */
	for (int i = 0; i < 2; i++) {
		if (sides[i].pid > 0)
			waitpid(sides[i].pid, NULL, 0);
		replay_fini(&sides[i].replay);
	}
	return ret;
}

const struct command command_diff = {
	.name = "diff",
	.arguments = "A B",
	.summary = "where two runs part",
	.help = "Runs A and B again, each the folder of a run or a scenario, and shows the first "
		"event\n"
		"that is not the same, with those before it at that node. Exit status: 0 all the "
		"same,\n"
		"1 not.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET,
	.args_min = 2,
	.args_max = 2,
	.run = diff,
};

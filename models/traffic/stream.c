/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>

/* Flows are made in slices of time, each at its begin, while nothing runs. A slice is made from
 * what happened up to HINDSIGHT before it: a model fact, as windows and threads are not. */
#define HINDSIGHT PS_US

/* A slice has so many flows on average. */
enum { SLICE_FLOWS = 4096, SLAB_FLOWS = 1024 };

struct source { /* of a host in a stream */
	const struct traffic_stream *stream;
	uint32_t place; /* among the stream's hosts */
	struct arrivals_host host;
	struct arrivals_flow next;
	bool has_next;
};

struct slab {
	struct slab *next;
	struct traffic_flow flows[SLAB_FLOWS];
};

struct traffic_feed {
	struct fabric_watcher watcher;
	struct traffic *traffic;
	struct traffic_listener *listener;
	struct source *sources;
	uint64_t source_count;
	ps_t made_until; /* flows that start before then are there; PS_NEVER: all */
	ps_t slice;
	bool running;
	uint64_t next_id;
	struct traffic_flow **made; /* of a slice */
	struct traffic_end *ends;
	uint64_t made_count, made_room;
	struct traffic_flow *live; /* made, and not yet given up; oldest first */
	struct traffic_flow **live_tail;
	uint64_t live_count;
	struct traffic_flow *free;
	struct slab *slabs;
	struct traffic_sums sums;
};

/* The order of their numbers. */
static int compare_made(const void *a, const void *b)
{
	const struct traffic_flow *x = *(struct traffic_flow *const *)a;
	const struct traffic_flow *y = *(struct traffic_flow *const *)b;

	if (x->start_at != y->start_at)
		return x->start_at < y->start_at ? -1 : 1;
	return traffic_compare_flows(x, y);
}

/* ---- flows in memory ---- */

static struct traffic_flow *get_flow(struct traffic_feed *feed)
{
	struct traffic_flow *flow = feed->free;
	struct slab *slab;

	if (!flow) {
		slab = util_alloc(sizeof(*slab));
		if (!slab)
			return NULL;
		slab->next = feed->slabs;
		feed->slabs = slab;
		for (uint32_t i = 0; i < SLAB_FLOWS; i++) {
			slab->flows[i].next = flow;
			flow = &slab->flows[i];
		}
	}
	feed->free = flow->next;
	return flow;
}

/* Room for one more flow of a slice, and for its ends. */
static int reserve_made(struct traffic_feed *feed)
{
	const uint64_t room = feed->made_room ? 2 * feed->made_room : SLAB_FLOWS;
	struct traffic_flow **made;
	struct traffic_end *ends;

	if (feed->made_count < feed->made_room)
		return 0;
	made = util_realloc(feed->made, room, sizeof(struct traffic_flow *));
	if (!made)
		return -ENOMEM;
	feed->made = made;
	ends = util_realloc(feed->ends, 2 * room, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	feed->ends = ends;
	feed->made_room = room;
	return 0;
}

static int reserve_start(struct traffic_queue *queue)
{
	const uint64_t room = queue->room ? 2 * queue->room : 16;
	struct traffic_start *starts;

	if (queue->first == queue->count)
		queue->first = queue->count = 0;
	if (queue->count < queue->room)
		return 0;
	starts = util_realloc(queue->starts, room, sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	queue->starts = starts;
	queue->room = room;
	return 0;
}

/* ---- making ---- */

static void stream_advance(struct source *source)
{
	source->has_next = arrivals_next(&source->stream->arrivals, &source->host,
					 source->stream->host_count - 1, &source->next);
}

static int make_flow(struct traffic_feed *feed, const struct source *source)
{
	const struct traffic_stream *stream = source->stream;
	const uint32_t to = source->next.to < source->place ? source->next.to : source->next.to + 1;
	struct traffic_flow *flow = get_flow(feed);

	if (!flow || reserve_made(feed) != 0)
		return -ENOMEM;
	*flow = (struct traffic_flow){
		.src = stream->hosts[source->place],
		.dst = stream->hosts[to],
		.class_index = stream->class_index,
		.priority = stream->priority,
		.bytes = source->next.bytes,
		.start_at = source->next.start_at,
		.streamed = true,
	};
	feed->made[feed->made_count++] = flow;
	return 0;
}

/* The first number from @qpn on that nobody has, round the end. */
static uint32_t free_number(const struct traffic_host *th, uint32_t qpn)
{
	while (util_idmap_find(&th->numbers, qpn | TRAFFIC_QPNS) ||
	       util_idmap_find(&th->pair_numbers, qpn | TRAFFIC_QPNS))
		qpn = (qpn + 1) & (TRAFFIC_QPNS - 1);
	return qpn | TRAFFIC_QPNS;
}

static int draw_number(struct traffic_host *th, struct util_idmap *numbers, uint32_t qpn,
		       void *owner, uint32_t *ret_qpn)
{
	if (util_idmap_reserve(numbers) != 0)
		return -ENOMEM;
	*ret_qpn = free_number(th, qpn);
	util_idmap_add(numbers, *ret_qpn, owner);
	return 0;
}

/* Those of a pair are drawn once. */
static int number_end(struct traffic *traffic, const struct traffic_end *end)
{
	struct traffic_host *th = &traffic->hosts[end->host];
	struct traffic_flow *flow = end->start.flow;
	struct traffic_pair *pair = flow->pair;
	uint32_t *qpn = end->start.is_sink ? &flow->sink_qpn : &flow->source_qpn;

	if (!pair)
		return draw_number(th, &th->numbers, end->qpn, flow, qpn);
	qpn = end->start.is_sink ? &pair->sink_qpn : &pair->source_qpn;
	return *qpn ? 0 : draw_number(th, &th->pair_numbers, end->qpn, pair, qpn);
}

/* Its ends, in feed->ends from @at on; how many there are then. A pair's sink is there already, but
 * for the first. */
static uint64_t add_ends(struct traffic_feed *feed, struct traffic_flow *flow, uint64_t at)
{
	struct traffic_pair *pair = flow->pair;

	feed->ends[at++] = traffic_end_of(feed->traffic, flow, false);
	if (pair && pair->opens_at <= flow->start_at)
		return at;
	if (pair)
		pair->opens_at = flow->start_at;
	feed->ends[at++] = traffic_end_of(feed->traffic, flow, true);
	return at;
}

static int number_slice(struct traffic_feed *feed, uint64_t ends)
{
	int ret = 0;

	for (uint64_t i = 0; i < ends && !ret; i++)
		ret = number_end(feed->traffic, &feed->ends[i]);
	for (uint64_t i = 0; i < feed->made_count; i++) {
		struct traffic_flow *flow = feed->made[i];

		if (!flow->pair)
			continue;
		flow->source_qpn = flow->pair->source_qpn;
		flow->sink_qpn = flow->pair->sink_qpn;
	}
	return ret;
}

/* Into the queue of its host, behind those of earlier slices. */
static int queue_end(struct traffic_feed *feed, const struct traffic_end *end)
{
	struct traffic_host *th = &feed->traffic->hosts[end->host];

	if (reserve_start(&th->queue) != 0)
		return -ENOMEM;
	th->queue.starts[th->queue.count++] = end->start;
	traffic_host_wake(th, traffic_start_at(&end->start));
	if (feed->running) /* the first window visits every node */
		sim_wake_between(feed->traffic->fabric->sim, &th->host->node,
				 traffic_start_at(&end->start));
	return 0;
}

/* All that follows from which flows there are: keys, memory, numbers, and who hears of them. */
static int lay_out_slice(struct traffic_feed *feed)
{
	struct traffic *traffic = feed->traffic;
	const bool pairs = traffic->fabric->params.host->flow_pairs;
	uint64_t k = 0, ends = 0;
	int ret = 0;

	if (feed->made_count == 0)
		return 0;
	qsort(feed->made, feed->made_count, sizeof(struct traffic_flow *), compare_made);
	for (uint64_t i = 0; i < feed->made_count; i++) {
		struct traffic_flow *flow = feed->made[i];

		k = i > 0 && traffic_same_but_for_class(flow, feed->made[i - 1]) ? k + 1 : 0;
		flow->key = traffic_key_of(traffic, flow, k);
		flow->id = feed->next_id++;
		flow->va = traffic->hosts[flow->dst].next_va;
		traffic->hosts[flow->dst].next_va += flow->bytes;
		ret = pairs && !ret ? traffic_pair_find(traffic, flow) : ret;
		ends = add_ends(feed, flow, ends);
		*feed->live_tail = flow;
		feed->live_tail = &flow->next;
	}
	*feed->live_tail = NULL;
	feed->live_count += feed->made_count;
	qsort(feed->ends, ends, sizeof(*feed->ends), traffic_compare_ends);
	ret = ret ? ret : number_slice(feed, ends);
	for (uint64_t i = 0; i < ends && !ret; i++)
		ret = queue_end(feed, &feed->ends[i]);
	return ret;
}

/* ---- giving up ---- */

static int stream_report(struct traffic_feed *feed, const struct traffic_flow *flow)
{
	struct traffic_sums *sums = &feed->sums;

	sums->posted++;
	sums->bytes_posted += flow->bytes;
	sums->packets_retransmitted += traffic_retransmitted(flow);
	sums->completed += flow->status == TRAFFIC_OK;
	sums->failed += flow->status != TRAFFIC_OK;
	sums->unfinished += flow->status == TRAFFIC_PENDING && !traffic_is_lost(flow);
	if (flow->status == TRAFFIC_OK)
		sums->bytes_delivered += flow->bytes;
	return feed->listener ? feed->listener->on_flow(feed->listener, flow, flow->id) : 0;
}

static int report_ended(struct traffic_feed *feed)
{
	int ret = 0;

	for (uint32_t i = 0; i < feed->traffic->host_count && !ret; i++) {
		struct traffic_host *th = &feed->traffic->hosts[i];

		for (; th->ended && !ret; th->ended = th->ended->next_ended)
			ret = stream_report(feed, th->ended);
	}
	return ret;
}

/* With a mark that is kept the sink sends a CNP so much later. (The source may be gone by then, as
 * that of a listed flow: its adapter ignores the CNP, which slows nobody.) */
static ps_t time_wait(const struct traffic_feed *feed, const struct traffic_flow *flow)
{
	const struct hca_profile *profile = &feed->traffic->hosts[flow->dst].host->params.profile;

	return TRAFFIC_TIME_WAIT + (profile->cnp_keeps_marks ? profile->cnp_interval : 0);
}

static void stream_give_up(struct traffic_feed *feed, struct traffic_flow *flow)
{
	struct traffic_host *from = &feed->traffic->hosts[flow->src];
	struct traffic_host *to = &feed->traffic->hosts[flow->dst];

	if (flow->pair) {
		traffic_pair_forget(flow->pair, flow);
	} else {
		CHECK(flow->sink_qp);
		hca_qp_destroy(to->host->hca, flow->sink_qp);
		util_idmap_remove(&from->numbers, flow->source_qpn);
		util_idmap_remove(&to->numbers, flow->sink_qpn);
	}
	flow->next = feed->free;
	feed->free = flow;
	feed->live_count--;
}

/* Flows that have ended so long before @now. */
static void give_up_old(struct traffic_feed *feed, ps_t now)
{
	struct traffic_flow **link = &feed->live, *flow;

	while ((flow = *link)) {
		if (flow->status == TRAFFIC_PENDING || flow->end_at + time_wait(feed, flow) > now) {
			link = &flow->next;
			continue;
		}
		*link = flow->next;
		stream_give_up(feed, flow);
	}
	feed->live_tail = link;
}

/* ---- slice by slice ---- */

static int make_slice(struct traffic_feed *feed)
{
	const ps_t from = feed->made_until, until = from + feed->slice;
	bool more = false;
	int ret = report_ended(feed);

	if (from > HINDSIGHT)
		give_up_old(feed, from - HINDSIGHT);
	if (feed->live_count > TRAFFIC_LIVE_MAX)
		return -ENOBUFS;
	feed->made_count = 0;
	for (uint64_t i = 0; i < feed->source_count && !ret; i++) {
		struct source *source = &feed->sources[i];

		for (; source->has_next && source->next.start_at < until && !ret;
		     stream_advance(source))
			ret = make_flow(feed, source);
		more |= source->has_next;
	}
	ret = ret ? ret : lay_out_slice(feed);
	feed->made_until = more ? until : PS_NEVER;
	return ret;
}

/* What has begun is there before anything of that time is played. */
static int feed_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct traffic_feed *feed = container_of(watcher, struct traffic_feed, watcher);
	int ret = 0;

	feed->running = true;
	while (feed->made_until != PS_NEVER && sim_next_at(fabric->sim) >= feed->made_until && !ret)
		ret = make_slice(feed);
	if (feed->made_until != PS_NEVER && !ret)
		sim_cut(fabric->sim, feed->made_until);
	return ret;
}

/* ---- begin and end ---- */

/* How long it takes until SLICE_FLOWS have started, all sources together. */
static ps_t slice_of(const struct traffic_feed *feed)
{
	const u128 one = (u128)1 << 60;
	u128 rate = 0, slice;

	for (uint64_t i = 0; i < feed->source_count; i++)
		rate += one / feed->sources[i].host.gap;
	slice = one * SLICE_FLOWS / (rate ? rate : 1);
	slice = slice < HINDSIGHT ? HINDSIGHT : slice;
	return slice < PS_S ? (ps_t)slice : PS_S;
}

static int add_sources(struct traffic_feed *feed, const struct traffic_stream *streams,
		       uint32_t count)
{
	struct host *const *hosts = feed->traffic->fabric->table.hosts;
	uint64_t sources = 0;

	for (uint32_t i = 0; i < count; i++)
		sources += streams[i].host_count;
	feed->sources = util_calloc(sources, sizeof(*feed->sources));
	if (!feed->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < streams[i].host_count; k++) {
			const struct host *host = hosts[streams[i].hosts[k]];
			const struct arrivals *arrivals = &streams[i].arrivals;
			struct source *source = &feed->sources[feed->source_count++];

			*source = (struct source){
				.stream = &streams[i],
				.place = k,
				.host = {.id = host->node.id,
					 .gap = arrivals_gap(arrivals,
							     host->params.profile.line_rate_bps),
					 .at = arrivals->start_at},
			};
			stream_advance(source);
		}
	return 0;
}

int traffic_stream_start(struct traffic *traffic, const struct traffic_stream *streams,
			 uint32_t count, struct traffic_listener *listener)
{
	struct traffic_feed *feed = util_calloc(1, sizeof(*feed));
	int ret;

	CHECK(!traffic->feed);
	if (!feed)
		return -ENOMEM;
	traffic->feed = feed;
	feed->traffic = traffic;
	feed->listener = listener;
	feed->watcher.between = feed_between;
	feed->live_tail = &feed->live;
	feed->next_id = traffic->flow_count;
	ret = add_sources(feed, streams, count);
	ret = ret ? ret : traffic_pairs_enter(traffic);
	for (uint32_t i = 0; i < traffic->host_count && !ret; i++)
		if (!traffic->hosts[i].cq)
			ret = traffic_host_init(traffic, i);
	if (ret)
		return ret;
	feed->slice = slice_of(feed);
	fabric_watch(traffic->fabric, &feed->watcher);
	ret = feed->source_count > 0 ? make_slice(feed) : 0;
	if (feed->made_until != PS_NEVER)
		sim_cut(traffic->fabric->sim, feed->made_until);
	return ret;
}

int traffic_stream_end(struct traffic *traffic)
{
	const ps_t end = sim_now(traffic->fabric->sim);
	struct traffic_feed *feed = traffic->feed;
	int ret = feed ? report_ended(feed) : 0;

	for (struct traffic_flow *flow = feed ? feed->live : NULL; flow && !ret; flow = flow->next)
		if (flow->status == TRAFFIC_PENDING && flow->start_at <= end)
			ret = stream_report(feed, flow);
	return ret;
}

const struct traffic_flow *traffic_streamed_at(const struct traffic *traffic, uint32_t host,
					       uint32_t qpn, uint32_t psn)
{
	const struct traffic_host *th = &traffic->hosts[host];
	const struct traffic_flow *flow = util_idmap_find(&th->numbers, qpn);
	const struct traffic_pair *pair = flow ? NULL : util_idmap_find(&th->pair_numbers, qpn);

	flow = pair ? traffic_pair_at(pair, psn) : flow;
	return flow && flow->streamed ? flow : NULL;
}

const struct traffic_flow *traffic_streamed(const struct traffic *traffic, uint64_t id)
{
	const struct traffic_feed *feed = traffic->feed;
	const struct traffic_flow *flow = feed && id < feed->next_id ? feed->live : NULL;

	while (flow && flow->id != id)
		flow = flow->next;
	return flow;
}

void traffic_stream_add_sums(const struct traffic *traffic, struct traffic_sums *sums)
{
	const struct traffic_sums *more = traffic->feed ? &traffic->feed->sums : NULL;

	if (!more)
		return;
	sums->posted += more->posted;
	sums->completed += more->completed;
	sums->failed += more->failed;
	sums->unfinished += more->unfinished;
	sums->bytes_posted += more->bytes_posted;
	sums->bytes_delivered += more->bytes_delivered;
	sums->packets_retransmitted += more->packets_retransmitted;
}

void traffic_stream_fini(struct traffic *traffic)
{
	struct traffic_feed *feed = traffic->feed;

	for (uint32_t i = 0; traffic->hosts && i < traffic->host_count; i++) {
		struct traffic_host *th = &traffic->hosts[i];

		util_free(th->queue.starts);
		util_idmap_fini(&th->numbers);
		util_idmap_fini(&th->pair_numbers);
		util_idmap_fini(&th->pairs);
	}
	if (!feed)
		return;
	for (struct slab *slab = feed->slabs, *next; slab; slab = next) {
		next = slab->next;
		util_free(slab);
	}
	util_free(feed->sources);
	util_free(feed->made);
	util_free(feed->ends);
	util_free(feed);
	traffic->feed = NULL;
}

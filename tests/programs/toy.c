/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/toy.h"

#include "transport/wire/pkt.h"
#include "util/check.h"
#include "util/siphash.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct toy_host *host_of(struct vrb_world *world)
{
	return container_of(world, struct toy_host, world);
}

static struct toy_host *find(struct toy *toy, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < toy->count; i++)
		for (uint32_t g = 0; g < 2; g++)
			if (memcmp(toy->hosts[i].gid[g], ip, 16) == 0)
				return &toy->hosts[i];
	return NULL;
}

/* Fewer than one in drop_every, by chance: a fixed period can meet the same packet at every try. In
 * which order threads come is chance, too, and no try may be unlucky for ever: after each that is
 * lost, two between the same hosts come through. */
static bool is_lost(const struct toy *toy, struct toy_host *from, const struct toy_host *to)
{
	bool lost =
		toy->drop_every != 0 &&
		util_hash_words((struct util_key){.k0 = 1}, &toy->packets, 1) % toy->drop_every ==
			0;

	if (toy->drop_every > 1 && from->passed[to->index] < 2)
		lost = false;
	from->passed[to->index] = lost ? 0 : from->passed[to->index] + 1;
	return lost;
}

/* Whoever is not in the group drops it. */
static void spread(struct toy *toy, const struct wire_pkt *pkt, const struct hca_rx *rx)
{
	for (uint32_t i = 0; i < toy->count; i++)
		hca_input(toy->hosts[i].hca, pkt, rx, toy->now);
}

/* One cable for all. */
static void broadcast(struct toy *toy, uint32_t from, const struct wire_pkt *frame)
{
	for (uint32_t i = 0; i < toy->count; i++)
		if (i != from)
			(void)hca_raw_input(toy->hosts[i].hca, frame->payload, frame->length,
					    toy->now);
}

bool toy_pump(struct toy *toy)
{
	uint8_t payload[WIRE_MTU_MAX];
	bool moved = false, again;

	do {
		again = false;
		for (uint32_t i = 0; i < toy->count; i++) {
			struct wire_pkt pkt = {.payload = payload};
			struct toy_host *to;
			struct hca_tx tx;
			struct hca_rx rx;

			if (!hca_output(toy->hosts[i].hca, 0xff, &pkt, &tx, toy->now))
				continue;
			again = moved = true;
			toy->now += 100 * PS_NS;
			toy->packets++;
			if (pkt.opcode == WIRE_RAW_FRAME) {
				broadcast(toy, i, &pkt);
				continue;
			}
			rx = (struct hca_rx){.ecn = tx.ecn, .path = tx.path};
			if (wire_ip_is_multicast(tx.path->dst_ip)) {
				spread(toy, &pkt, &rx);
				continue;
			}
			to = find(toy, tx.path->dst_ip);
			CHECK(to);
			if (!is_lost(toy, &toy->hosts[i], to))
				hca_input(to->hca, &pkt, &rx, toy->now);
		}
	} while (again);
	return moved;
}

bool toy_skip(struct toy *toy)
{
	ps_t next = PS_NEVER;

	for (uint32_t i = 0; i < toy->count; i++) {
		ps_t at = hca_next_at(toy->hosts[i].hca, 0xff);

		next = at < next ? at : next;
	}
	if (next == PS_NEVER)
		return false;
	toy->now = next > toy->now ? next : toy->now + 1;
	for (uint32_t i = 0; i < toy->count; i++)
		hca_advance(toy->hosts[i].hca, toy->now);
	return true;
}

static ps_t toy_enter(struct vrb_world *world, enum vrb_call call, uint64_t amount)
{
	struct toy *toy = host_of(world)->toy;

	pthread_mutex_lock(&toy->lock);
	toy->calls[call]++;
	toy->amounts[call] += amount;
	toy->idle = false;
	return toy->now;
}

static ps_t toy_time(struct vrb_world *world)
{
	return host_of(world)->toy->now;
}

static struct vrb_clocks toy_clocks(struct vrb_world *world)
{
	(void)world;
	return (struct vrb_clocks){
		.raw_ns = TOY_RAW_NS, .wall_ns = TOY_WALL_NS, .latest_ns = INT64_MAX};
}

static void toy_leave(struct vrb_world *world, bool posted)
{
	struct toy *toy = host_of(world)->toy;
	bool idle = toy->idle;

	(void)posted;
	hca_mem_program_rest(); /* tests have handlers of their own */
	pthread_mutex_unlock(&toy->lock);
	if (idle)
		sched_yield();
}

static void toy_poll_empty(struct vrb_world *world, struct hca_cq *cq)
{
	struct toy *toy = host_of(world)->toy;

	(void)cq;
	if (!toy_pump(toy)) {
		toy->idle = true;
		toy_skip(toy);
	}
}

static int toy_channel_init(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel->fd < 0 ? -errno : 0;
}

static void toy_channel_fini(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world;
	close(channel->fd);
}

static void toy_channel_signal(struct vrb_world *world, struct vrb_channel *channel)
{
	const uint64_t one = 1;

	(void)world;
	(void)!write(channel->fd, &one, sizeof(one));
}

static int toy_channel_wait(struct vrb_world *world, struct vrb_channel *channel, uint32_t seen)
{
	struct toy *toy = host_of(world)->toy;

	while (channel->events == seen) {
		if (toy_pump(toy))
			continue;
		toy_skip(toy);
		pthread_mutex_unlock(&toy->lock);
		sched_yield();
		pthread_mutex_lock(&toy->lock);
	}
	return 0;
}

static int toy_resolve(struct vrb_world *world, struct wire_path *path, uint32_t sgid_index,
		       uint32_t local_qpn, uint32_t remote_qpn)
{
	struct toy_host *host = host_of(world);

	(void)remote_qpn;
	if (sgid_index >= 2)
		return -EINVAL;
	if (!find(host->toy, path->dst_ip) && !wire_ip_is_multicast(path->dst_ip))
		return -EHOSTUNREACH;
	host->toy->now += host->toy->resolve_takes;
	memcpy(path->src_ip, host->gid[sgid_index], 16);
	host->toy->path = *path;
	path->udp_sport = (uint16_t)(0xc000 | (local_qpn & 0x3fff));
	return 0;
}

static void toy_reuse(struct vrb_world *world, struct wire_path *path, uint32_t local_qpn,
		      uint32_t remote_qpn)
{
	(void)world, (void)remote_qpn;
	path->udp_sport = (uint16_t)(0xc000 | (local_qpn & 0x3fff));
}

static void toy_mcast_ip(struct vrb_world *world, const uint8_t gid[16], uint8_t ret_ip[16])
{
	(void)world;
	memcpy(ret_ip, gid, 16);
}

static int toy_hear_mcast(struct vrb_world *world, const uint8_t ip[16], bool hears)
{
	(void)ip;
	host_of(world)->heard += hears ? 1 : -1;
	return 0;
}

static int toy_may_send_frames(struct vrb_world *world)
{
	return host_of(world)->toy->frames_allowed;
}

static int toy_gid(struct vrb_world *world, uint32_t index, uint8_t ret_gid[16])
{
	if (index >= 2)
		return -ENOENT;
	memcpy(ret_gid, host_of(world)->gid[index], 16);
	return 0;
}

static uint64_t toy_qp_identity(struct vrb_world *world)
{
	(void)world;
	return 0;
}

static int toy_open(struct vrb_world *world)
{
	(void)world;
	return 0;
}

/* Nothing was opened; nothing that fails here goes on. */
static void toy_no_more(struct vrb_world *world)
{
	(void)world;
}

static const struct vrb_world_ops world_ops = {
	.name = "toy",
	.enter = toy_enter,
	.now = toy_time,
	.clocks = toy_clocks,
	.leave = toy_leave,
	.poll_empty = toy_poll_empty,
	.channel_init = toy_channel_init,
	.channel_fini = toy_channel_fini,
	.channel_signal = toy_channel_signal,
	.channel_wait = toy_channel_wait,
	.resolve = toy_resolve,
	.reuse = toy_reuse,
	.mcast_ip = toy_mcast_ip,
	.hear_mcast = toy_hear_mcast,
	.may_send_frames = toy_may_send_frames,
	.gid = toy_gid,
	.qp_identity = toy_qp_identity,
	.open = toy_open,
	.close = toy_no_more,
	.abandon = toy_no_more,
};

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
}

static void on_cq_event(void *world, void *cq_owner, ps_t now)
{
	(void)world, (void)now;
	vrb_on_cq_event(cq_owner);
}

static void on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		     bool is_word, ps_t now)
{
	(void)world, (void)mr, (void)offset, (void)length, (void)is_word, (void)now;
}

static void on_async(void *world, void *qp_owner, int event, ps_t now)
{
	(void)now;
	vrb_on_async(world, qp_owner, event);
}

static const struct hca_observer observer = {
	.on_wc = on_wc, .on_cq_event = on_cq_event, .on_place = on_place, .on_async = on_async};

static const struct hca_profile profile = {
	.line_rate_bps = 100000000000,
	.mtu_max = 1024,
	.psn_window = 64,
	.ack_every = 16,
	.cc = &cc_none,
	.wire_overhead = 82,
	.qp_max = 64,
	.cq_max = 64,
	.mr_max = 64,
	.pd_max = 16,
	.srq_max = 16,
	.wr_max = 128,
	.sge_max = 4,
	.cqe_max = 1024,
	.inline_max = 128,
	.rd_atomic_max = 4,
};

bool toy_through_bytes;
uint32_t toy_priority_count;
bool toy_mw_is_2a;

void toy_init(struct toy *toy, uint32_t count)
{
	CHECK(count <= TOY_MAX);
	*toy = (struct toy){.count = count, .now = PS_US};
	pthread_mutex_init(&toy->lock, NULL);
	for (uint32_t i = 0; i < count; i++) {
		struct toy_host *host = &toy->hosts[i];
		struct hca_device_params params = {.key = {1, i},
						   .priority_count = toy_priority_count,
						   .profile = profile,
						   .observer = &observer,
						   .world = &host->world};

		params.profile.mw_is_2a = toy_mw_is_2a;
		*host = (struct toy_host){
			.toy = toy, .index = i, .hca = hca_device_create(&params)};
		CHECK(host->hca);
		snprintf(host->name, sizeof(host->name), "toy%u", i);
		host->gid[0][0] = 0xfe;
		host->gid[0][1] = 0x80;
		host->gid[0][15] = (uint8_t)(i + 1);
		memcpy(host->gid[1], (uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(i + 1)},
		       16);
		host->world = (struct vrb_world){.ops = &world_ops,
						 .hca = host->hca,
						 .memory = &hca_mem_host,
						 .doubtful = &hca_mem_program,
						 .device_name = host->name,
						 .netdev = "toy",
						 .ifindex = 17,
						 .through_bytes = toy_through_bytes,
						 .guid = 0x0200000000000000u + i,
						 .gid_places = 16,
						 .mcast_max = 8};
	}
}

void toy_fini(struct toy *toy)
{
	for (uint32_t i = 0; i < toy->count; i++) {
		vrb_world_fini(&toy->hosts[i].world);
		hca_device_destroy(toy->hosts[i].hca);
	}
	pthread_mutex_destroy(&toy->lock);
}

static _Thread_local struct toy *shown;
static _Thread_local uint32_t shown_index;

void toy_show(struct toy *toy, uint32_t index)
{
	shown = toy;
	shown_index = index;
}

static uint32_t list(struct vrb_world **ret_worlds, uint32_t count)
{
	uint32_t there = 0;

	for (uint32_t i = 0; shown && i < shown->count; i++) {
		if (shown_index < shown->count && shown_index != i)
			continue;
		if (there < count)
			ret_worlds[there] = &shown->hosts[i].world;
		there++;
	}
	return there;
}

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider provider = {.list = list};

	return &provider;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/capture.h"

#include "tools/command.h"
#include "tools/observe/frame_copy.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What its frame is made from once its turn in the file has come: a capture of many hosts has more
 * bytes than a cache, and so makes each but once, in the place that they are written from. Of the
 * packet there is what every one has; its rare fields lie before its payload. */
struct record {
	ps_t at;
	size_t bytes; /* their place in those of the host */
	uint8_t hot[WIRE_HOT_BYTES];
	union {
		struct wire_path path;
		struct wire_pfc pfc;
	};
	bool sent, is_pfc;
};
enum {
	AHEAD = 4, /* records that are on their way from memory while one becomes a frame */
	/* Bytes of records and payload that are held, if not those of one window are more: frames
	 * are made and written rarely, for what they do to the caches costs the fabric's turn. */
	HELD_MAX = 4 << 20,
};
_Static_assert(sizeof(struct record) <= 128, "two lines of a cache");

struct capture_key { /* of a record, to sort by */
	ps_t at;
	uint32_t host, record;
};

struct capture_host {
	struct host_tap tap;
	struct capture *capture;
	struct record *records;
	size_t record_count, record_room;
	size_t record_taken, bytes_taken; /* of windows before this one: have their keys */
	uint8_t *bytes;			  /* of rare fields and payload */
	size_t byte_count, byte_room;
	bool no_memory;
};

/* ---- in the window ---- */

static void *observe_capture_grow(void *array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *bigger;

	while (more < needed)
		more *= 2;
	bigger = realloc(array, more * size);
	if (bigger)
		*room = more;
	return bigger;
}

static bool observe_capture_make_room(struct capture_host *ch)
{
	if (ch->record_count == ch->record_room) {
		struct record *records = observe_capture_grow(
			ch->records, &ch->record_room, ch->record_count + 1, sizeof(*records));

		if (!records)
			return false;
		ch->records = records;
	}
	return true;
}

static bool keep_bytes(struct capture_host *ch, const void *bytes, size_t count)
{
	if (ch->byte_room - ch->byte_count < count) {
		uint8_t *more =
			observe_capture_grow(ch->bytes, &ch->byte_room, ch->byte_count + count, 1);

		if (!more)
			return false;
		ch->bytes = more;
	}
	memcpy(ch->bytes + ch->byte_count, bytes, count);
	ch->byte_count += count;
	return true;
}

/* Rare fields and payload are gone by the end of the window. */
static bool keep_packet(struct capture_host *ch, struct record *record, const struct wire_pkt *pkt)
{
	memcpy(record->hot, pkt, sizeof(record->hot));
	record->bytes = ch->byte_count;
	if (pkt->has_rare && !keep_bytes(ch, &pkt->rare, sizeof(pkt->rare)))
		return false;
	return pkt->synthetic || pkt->length == 0 || keep_bytes(ch, pkt->payload, pkt->length);
}

/* What was kept; its payload lies in the bytes of the host, if it has any. */
static struct wire_pkt kept_packet(const struct capture_host *ch, const struct record *record)
{
	size_t at = record->bytes;
	struct wire_pkt pkt;

	memcpy(&pkt, record->hot, sizeof(record->hot));
	if (pkt.has_rare) {
		memcpy(&pkt.rare, ch->bytes + at, sizeof(pkt.rare));
		at += sizeof(pkt.rare);
	}
	if (!pkt.synthetic && pkt.length > 0)
		pkt.payload = ch->bytes + at;
	return pkt;
}

/* False: it is none of PFC. */
static bool observe_capture_control(const struct host *host, bool sent, const struct sim_pkt *frame,
				    struct record *record)
{
	if (!capture_read_pfc(frame, &record->pfc))
		return false;
	record->is_pfc = true;
	if (sent)
		host_mac(host, record->pfc.src_mac);
	else
		capture_switch_mac(host->node.ports[0].peer, record->pfc.src_mac);
	return true;
}

/* Who a frame that has come to @host is for: of a flood somebody else. */
static const struct host *receiver_of(const struct host *host, const struct sim_pkt *frame)
{
	for (uint32_t i = 0; frame->dst != host->address && i < host->table->count; i++)
		if (host->table->hosts[i]->address == frame->dst)
			return host->table->hosts[i];
	return host;
}

static bool observe_capture_data(struct capture_host *ch, const struct host *host,
				 const struct sim_pkt *frame, const struct wire_path *sent_path,
				 struct record *record)
{
	const struct packet_slab *slab;
	struct wire_pkt pkt;

	packet_unpack(frame, &pkt);
	slab = packet_slab_of(frame);
	record->path = sent_path ? *sent_path
				 : frame_path_to(receiver_of(host, frame), frame, &pkt,
						 slab ? &slab->from : NULL);
	host_path_of_frame(host, host_priority(host, frame), &record->path);
	record->path.ecn = frame->ecn;
	record->path.ttl = frame->ttl;
	return keep_packet(ch, record, &pkt);
}

static void on_frame(struct host_tap *tap, const struct host *host, bool sent,
		     const struct sim_pkt *frame, const struct wire_path *path, ps_t at)
{
	struct capture_host *ch = container_of(tap, struct capture_host, tap);
	const uint32_t number = host->number;
	struct record *record;

	if (ch->no_memory || !observe_capture_make_room(ch)) {
		ch->no_memory = true;
		return;
	}
	if (ch->record_count == ch->record_taken)
		__atomic_fetch_or(&ch->capture->heard[number / 64], (uint64_t)1 << number % 64,
				  __ATOMIC_RELAXED);
	record = &ch->records[ch->record_count];
	record->at = at;
	record->sent = sent;
	record->is_pfc = false;
	if (frame->frame == SIM_DATA) {
		ch->no_memory = !observe_capture_data(ch, host, frame, path, record);
	} else if (!observe_capture_control(host, sent, frame, record)) {
		return;
	}
	ch->record_count++;
}

/* ---- between windows ---- */

/* By their times, and else as they are: stable, by a byte of the time after another. */
static struct capture_key *sorted(struct capture_key *keys, size_t count)
{
	struct capture_key *other = keys + count, *now = keys;
	ps_t low = PS_NEVER, high = 0;

	for (size_t i = 0; i < count; i++) {
		low = keys[i].at < low ? keys[i].at : low;
		high = keys[i].at > high ? keys[i].at : high;
	}
	for (int shift = 0; shift < 64 && (high - low) >> shift > 0; shift += 8) {
		size_t place[257] = {0};

		for (size_t i = 0; i < count; i++)
			place[((now[i].at - low) >> shift & 0xff) + 1]++;
		for (int i = 0; i < 256; i++)
			place[i + 1] += place[i];
		for (size_t i = 0; i < count; i++)
			other[place[(now[i].at - low) >> shift & 0xff]++] = now[i];
		now = other;
		other = now == keys ? keys + count : keys;
	}
	return now;
}

static const struct record *record_of(const struct capture *capture, const struct capture_key *key)
{
	return &capture->hosts[key->host].records[key->record];
}

static void fetch_record(const struct capture *capture, const struct capture_key *key)
{
	const uint8_t *bytes = (const void *)record_of(capture, key);

	for (size_t at = 0; at < sizeof(struct record); at += 64)
		__builtin_prefetch(bytes + at);
}

static void observe_capture_put_record(struct capture *capture, const struct capture_key *key)
{
	const struct capture_host *ch = &capture->hosts[key->host];
	const struct record *record = record_of(capture, key);
	const struct wire_pcapng_pkt pkt = {.port = key->host,
					    .at = record->at,
					    .way = record->sent ? WIRE_PCAPNG_OUT : WIRE_PCAPNG_IN};
	struct wire_pkt of;

	if (record->is_pfc) {
		capture_file_pfc(&capture->file, pkt, &record->pfc);
		return;
	}
	of = kept_packet(ch, record);
	capture_file_data(&capture->file, pkt, &record->path, &of);
}

/* Room for the keys of windows before and, twice, for @count of this one. */
static bool make_key_room(struct capture *capture, size_t count)
{
	const size_t needed = capture->key_count + 2 * count;
	struct capture_key *keys;

	if (needed <= capture->key_room)
		return true;
	keys = observe_capture_grow(capture->keys, &capture->key_room, needed, sizeof(*keys));
	if (!keys)
		return false;
	capture->keys = keys;
	return true;
}

/* Takes the keys of @host's new records behind the @count of this window that there are; -ENOMEM.
 */
static int observe_capture_take(struct capture *capture, uint32_t host, size_t *count)
{
	struct capture_host *ch = &capture->hosts[host];
	const size_t new_ones = ch->record_count - ch->record_taken;

	if (ch->no_memory || !make_key_room(capture, *count + new_ones))
		return -ENOMEM;
	for (size_t k = ch->record_taken; k < ch->record_count; k++)
		capture->keys[capture->key_count + (*count)++] =
			(struct capture_key){ch->records[k].at, host, (uint32_t)k};
	capture->held += new_ones * sizeof(struct record) + ch->byte_count - ch->bytes_taken;
	ch->record_taken = ch->record_count;
	ch->bytes_taken = ch->byte_count;
	return 0;
}

/* The keys of this window, sorted, go behind those of the windows before; -ENOMEM. */
static int take_window(struct capture *capture)
{
	struct capture_key *keys;
	size_t count = 0;

	for (uint32_t w = 0; w <= capture->host_count / 64; w++)
		for (uint64_t left = capture->heard[w]; left; left &= left - 1)
			if (observe_capture_take(capture, 64 * w + (uint32_t)__builtin_ctzll(left),
						 &count) != 0)
				return -ENOMEM;
	if (count == 0)
		return 0;
	keys = capture->keys + capture->key_count;
	if (sorted(keys, count) != keys)
		memcpy(keys, keys + count, count * sizeof(*keys));
	capture->key_count += count;
	memset(capture->heard, 0, (capture->host_count / 64 + 1) * sizeof(*capture->heard));
	return 0;
}

static void observe_capture_put(struct capture *capture)
{
	const struct capture_key *keys = capture->keys;

	for (size_t i = 0; i < capture->key_count; i++) {
		if (i + AHEAD < capture->key_count)
			fetch_record(capture, &keys[i + AHEAD]);
		observe_capture_put_record(capture, &keys[i]);
	}
	for (size_t i = 0; i < capture->key_count; i++) {
		struct capture_host *ch = &capture->hosts[keys[i].host];

		ch->record_count = ch->record_taken = ch->byte_count = ch->bytes_taken = 0;
	}
	capture->key_count = capture->held = 0;
}

static int observe_capture_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct capture *capture = container_of(watcher, struct capture, watcher);

	(void)fabric;
	if (take_window(capture) != 0)
		return -ENOMEM;
	if (capture->held > HELD_MAX)
		observe_capture_put(capture);
	return capture->file.error ? -EIO : 0;
}

/* ---- the file ---- */

int capture_open(struct capture *capture, const char *path, uint32_t snaplen)
{
	*capture = (struct capture){.watcher = {.between = observe_capture_between}};
	return capture_file_open(&capture->file, path, snaplen);
}

int capture_attach(struct capture *capture, struct fabric *fabric)
{
	capture->hosts = calloc((size_t)fabric->host_count + 1, sizeof(*capture->hosts));
	capture->heard = calloc(fabric->host_count / 64 + 1, sizeof(*capture->heard));
	if (!capture->hosts || !capture->heard || capture_file_begin(&capture->file) != 0)
		return -ENOMEM;
	capture->host_count = fabric->host_count;
	for (uint32_t i = 0; i < capture->host_count; i++) {
		struct host *host = fabric->table.hosts[i];

		capture->hosts[i] =
			(struct capture_host){.tap = {.on_frame = on_frame}, .capture = capture};
		host_set_tap(host, &capture->hosts[i].tap);
		capture_file_port(&capture->file, host->node.name, host->node.ports[0].rate_bps);
	}
	capture_file_names(&capture->file, fabric);
	fabric_watch(fabric, &capture->watcher);
	return capture->file.error ? -EIO : 0;
}

int capture_close(struct capture *capture)
{
	int ret, error = 0;

	if (capture->file.bytes) {
		error = take_window(capture) == 0 ? 0 : ENOMEM;
		observe_capture_put(capture);
	}
	ret = capture_file_close(&capture->file, error);
	for (uint32_t i = 0; i < capture->host_count; i++) {
		free(capture->hosts[i].records);
		free(capture->hosts[i].bytes);
	}
	free(capture->hosts);
	free(capture->heard);
	free(capture->keys);
	*capture = (struct capture){.host_count = 0};
	return ret;
}

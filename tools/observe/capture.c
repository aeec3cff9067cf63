/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/capture.h"

#include "sim/fc.h"
#include "tools/command.h"
#include "transport/wire/frame.h"
#include "transport/wire/pcapng.h"
#include "transport/wire/pfc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAX = WIRE_FRAME_MAX + 256 };

struct record { /* its bytes lie in the host's buffer */
	ps_t at;
	size_t offset;
	uint32_t length, host;
	bool sent;
};

struct capture_host {
	struct host_tap tap;
	struct capture *capture;
	struct record *records; /* of this window */
	size_t record_count, record_room;
	uint8_t *bytes;
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
	if (ch->byte_room - ch->byte_count < WIRE_FRAME_MAX) {
		uint8_t *bytes = observe_capture_grow(ch->bytes, &ch->byte_room,
						      ch->byte_count + WIRE_FRAME_MAX, 1);

		if (!bytes)
			return false;
		ch->bytes = bytes;
	}
	return true;
}

void capture_switch_mac(const struct sim_node *node, uint8_t ret_mac[6])
{
	const uint8_t mac[6] = {2,
				1,
				(uint8_t)(node->id >> 24),
				(uint8_t)(node->id >> 16),
				(uint8_t)(node->id >> 8),
				(uint8_t)node->id};

	memcpy(ret_mac, mac, 6);
}

static size_t observe_capture_control_bytes(const struct host *host, bool sent,
					    const struct sim_pkt *frame, uint8_t *buf, size_t room)
{
	const struct sim_control_body body = sim_control_read(frame);
	struct wire_pfc pfc = {.enabled = body.classes};

	if (body.kind != SIM_CONTROL_PFC)
		return 0;
	if (sent)
		host_mac(host, pfc.src_mac);
	else
		capture_switch_mac(host->node.ports[0].peer, pfc.src_mac);
	for (int i = 0; i < 8; i++)
		if (body.classes >> i & 1)
			pfc.quanta[i] = (uint16_t)body.value;
	return wire_pfc_emit(&pfc, buf, room);
}

static struct wire_path path_to(const struct host *host, uint32_t qpn)
{
	const struct wire_path *own = hca_qp_path(host->hca, qpn);
	struct wire_path path = {.udp_sport = 0xc000};

	if (own) {
		path = *own;
		memcpy(path.src_ip, own->dst_ip, 16);
		memcpy(path.src_mac, own->dst_mac, 6);
	} else if (!host->table->ipv6) {
		path.src_ip[10] = path.src_ip[11] = 0xff; /* 0.0.0.0: gone in the meantime */
	}
	host_ip(host, path.dst_ip);
	host_mac(host, path.dst_mac);
	return path;
}

struct wire_path capture_path_of(const struct host *host, const struct sim_pkt *frame,
				 const struct wire_pkt *pkt, const struct packet_sender *from)
{
	struct wire_path path;

	if (wire_op_find(pkt->opcode)->deth)
		path = host_path_from(host, frame, from);
	else
		path = path_to(host, pkt->dest_qpn);
	host_path_of_frame(host, host_priority(host, frame), &path);
	path.ecn = frame->ecn;
	path.ttl = frame->ttl;
	return path;
}

static size_t observe_capture_data_bytes(const struct host *host, const struct sim_pkt *frame,
					 const struct wire_path *sent_path, uint8_t *buf,
					 size_t room)
{
	uint8_t payload[WIRE_MTU_MAX];
	const struct packet_slab *slab;
	struct wire_pkt pkt;
	struct wire_path path;

	packet_unpack(frame, &pkt);
	slab = packet_slab_of(frame);
	path = sent_path ? *sent_path
			 : capture_path_of(host, frame, &pkt, slab ? &slab->from : NULL);
	host_path_of_frame(host, host_priority(host, frame), &path);
	path.ecn = frame->ecn;
	path.ttl = frame->ttl;
	if (pkt.synthetic) {
		wire_pattern_bytes(pkt.pattern, payload, pkt.length);
		pkt.synthetic = false;
		pkt.payload = payload;
	}
	return wire_frame_emit(&path, &pkt, buf, room);
}

static void on_frame(struct host_tap *tap, const struct host *host, bool sent,
		     const struct sim_pkt *frame, const struct wire_path *path, ps_t at)
{
	struct capture_host *ch = container_of(tap, struct capture_host, tap);
	size_t length;
	uint8_t *buf;

	if (ch->no_memory || !observe_capture_make_room(ch)) {
		ch->no_memory = true;
		return;
	}
	buf = ch->bytes + ch->byte_count;
	length = frame->frame == SIM_DATA
			 ? observe_capture_data_bytes(host, frame, path, buf, WIRE_FRAME_MAX)
			 : observe_capture_control_bytes(host, sent, frame, buf, WIRE_FRAME_MAX);
	if (length == 0)
		return;
	ch->records[ch->record_count++] = (struct record){.at = at,
							  .offset = ch->byte_count,
							  .length = (uint32_t)length,
							  .host = host->number,
							  .sent = sent};
	ch->byte_count += length;
}

/* ---- between windows ---- */

static int observe_capture_compare_records(const void *a, const void *b)
{
	const struct record *const *x = a, *const *y = b;

	if ((*x)->at != (*y)->at)
		return (*x)->at < (*y)->at ? -1 : 1;
	if ((*x)->host != (*y)->host)
		return (*x)->host < (*y)->host ? -1 : 1;
	return *x < *y ? -1 : *x > *y; /* of one host: in one array, as they happened */
}

static void observe_capture_put_block(struct capture *capture, const uint8_t *block, size_t length)
{
	if (!capture->error && fwrite(block, 1, length, capture->out.file) != length)
		capture->error = errno ? errno : EIO;
}

static void observe_capture_put_record(struct capture *capture, const struct record *record)
{
	const struct wire_pcapng_pkt pkt = {
		.port = record->host,
		.at = record->at,
		.way = record->sent ? WIRE_PCAPNG_OUT : WIRE_PCAPNG_IN,
		.bytes = capture->hosts[record->host].bytes + record->offset,
		.captured = record->length,
		.length = record->length,
	};
	uint8_t block[BLOCK_MAX];

	observe_capture_put_block(capture, block, wire_pcapng_pkt(&pkt, block, sizeof(block)));
}

static int observe_capture_flush_window(struct capture *capture)
{
	const struct record **sorted;
	size_t count = 0, at = 0;

	for (uint32_t i = 0; i < capture->host_count; i++) {
		if (capture->hosts[i].no_memory)
			return -ENOMEM;
		count += capture->hosts[i].record_count;
	}
	if (count == 0)
		return 0;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < capture->host_count; i++) {
		for (size_t k = 0; k < capture->hosts[i].record_count; k++)
			sorted[at++] = &capture->hosts[i].records[k];
	}
	qsort(sorted, count, sizeof(*sorted), observe_capture_compare_records);
	for (size_t i = 0; i < count; i++)
		observe_capture_put_record(capture, sorted[i]);
	free(sorted);
	for (uint32_t i = 0; i < capture->host_count; i++)
		capture->hosts[i].record_count = capture->hosts[i].byte_count = 0;
	return capture->error ? -EIO : 0;
}

static int observe_capture_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	(void)fabric;
	return observe_capture_flush_window(container_of(watcher, struct capture, watcher));
}

/* ---- the file ---- */

int capture_open(struct capture *capture, const char *path)
{
	*capture = (struct capture){.watcher = {.between = observe_capture_between}};
	return named_open(&capture->out, path);
}

int capture_attach(struct capture *capture, struct fabric *fabric)
{
	uint8_t block[BLOCK_MAX];

	capture->hosts = calloc((size_t)fabric->host_count + 1, sizeof(*capture->hosts));
	if (!capture->hosts)
		return -ENOMEM;
	capture->host_count = fabric->host_count;
	observe_capture_put_block(capture, block, wire_pcapng_section(block, sizeof(block)));
	for (uint32_t i = 0; i < capture->host_count; i++) {
		struct host *host = fabric->table.hosts[i];

		capture->hosts[i] =
			(struct capture_host){.tap = {.on_frame = on_frame}, .capture = capture};
		host_set_tap(host, &capture->hosts[i].tap);
		observe_capture_put_block(capture, block,
					  wire_pcapng_port(host->node.name,
							   host->node.ports[0].rate_bps, block,
							   sizeof(block)));
	}
	fabric_watch(fabric, &capture->watcher);
	return capture->error ? -EIO : 0;
}

int capture_close(struct capture *capture)
{
	int ret;

	if (!capture->out.file)
		return COMMAND_DONE;
	if (!capture->hosts)
		named_drop(&capture->out);
	if (capture->hosts && observe_capture_flush_window(capture) == -ENOMEM && !capture->error)
		capture->error = ENOMEM;
	ret = named_close(&capture->out, capture->error);
	for (uint32_t i = 0; i < capture->host_count; i++) {
		free(capture->hosts[i].records);
		free(capture->hosts[i].bytes);
	}
	free(capture->hosts);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/capture_link.h"

#include "sim/tap.h"
#include "tools/command.h"
#include "tools/observe/capture.h"
#include "transport/wire/frame.h"
#include "transport/wire/pcapng.h"
#include "transport/wire/pfc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAX = WIRE_FRAME_MAX + 256 };

struct record { /* a frame; its payload is gone by the end of the window, and so copied */
	struct sim_pkt frame;
	struct wire_pkt pkt;
	ps_t at;
	size_t payload; /* place in end.bytes */
	struct packet_sender from;
};

struct capture_link_end {
	struct sim_tap tap;
	const struct sim_node *node;
	const struct sim_port *port;
	struct record *records;
	uint8_t *bytes;
	size_t record_count, record_room, byte_count, byte_room;
	bool no_memory;
};

/* ---- in the window ---- */

static bool capture_link_make_room(struct capture_link_end *end)
{
	if (end->record_count == end->record_room) {
		const size_t room = end->record_room ? 2 * end->record_room : 64;
		struct record *records = realloc(end->records, room * sizeof(*records));

		if (!records)
			return false;
		end->records = records;
		end->record_room = room;
	}
	if (end->byte_room - end->byte_count < WIRE_MTU_MAX) {
		const size_t room = 2 * end->byte_room + 16 * WIRE_MTU_MAX;
		uint8_t *bytes = realloc(end->bytes, room);

		if (!bytes)
			return false;
		end->bytes = bytes;
		end->byte_room = room;
	}
	return true;
}

static void capture_link_on_start(struct sim_tap *tap, struct sim_thread *th,
				  const struct sim_port *port, const struct sim_pkt *pkt,
				  ps_t start)
{
	struct capture_link_end *end = container_of(tap, struct capture_link_end, tap);
	const struct packet_slab *slab;
	struct record *record;

	(void)th;
	(void)port;
	if (end->no_memory || !capture_link_make_room(end)) {
		end->no_memory = true;
		return;
	}
	record = &end->records[end->record_count++];
	*record = (struct record){.frame = *pkt, .at = start, .payload = end->byte_count};
	if (pkt->frame != SIM_DATA)
		return;
	packet_unpack(pkt, &record->pkt);
	slab = packet_slab_of(pkt);
	if (slab)
		record->from = slab->from;
	if (record->pkt.synthetic)
		wire_pattern_bytes(record->pkt.pattern, end->bytes + end->byte_count,
				   record->pkt.length);
	else if (record->pkt.length > 0)
		memcpy(end->bytes + end->byte_count, record->pkt.payload, record->pkt.length);
	end->byte_count += record->pkt.length;
}

/* ---- between windows ---- */

static int capture_link_compare_hosts(const void *a, const void *b)
{
	const struct host *x = *(const struct host *const *)a, *y = *(const struct host *const *)b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static const struct host *capture_link_host_at(const struct capture_link *capture, uint32_t address)
{
	uint32_t low = 0, high = capture->fabric->host_count;

	while (high - low > 1) {
		const uint32_t middle = (low + high) / 2;

		if (capture->hosts[middle]->address <= address)
			low = middle;
		else
			high = middle;
	}
	return capture->hosts[low];
}

static const struct host *capture_link_host_of(const struct capture_link *capture,
					       const struct sim_node *node)
{
	return fabric_host(capture->fabric, node->name);
}

static size_t capture_link_control_bytes(const struct capture_link *capture,
					 const struct capture_link_end *end,
					 const struct record *record, uint8_t *buf, size_t room)
{
	const struct sim_control_body body = sim_control_read(&record->frame);
	const struct host *host = capture_link_host_of(capture, end->node);
	struct wire_pfc pfc = {.enabled = body.classes};

	if (body.kind != SIM_CONTROL_PFC)
		return 0;
	if (host)
		host_mac(host, pfc.src_mac);
	else
		capture_switch_mac(end->node, pfc.src_mac);
	for (int i = 0; i < SIM_PRIORITIES; i++)
		if (body.classes >> i & 1)
			pfc.quanta[i] = (uint16_t)body.value;
	return wire_pfc_emit(&pfc, buf, room);
}

static size_t capture_link_data_bytes(const struct capture_link *capture,
				      const struct capture_link_end *end,
				      const struct record *record, uint8_t *buf, size_t room)
{
	const struct wire_path path =
		capture_path_of(capture_link_host_at(capture, record->frame.dst), &record->frame,
				&record->pkt, &record->from);
	struct wire_pkt pkt = record->pkt;

	pkt.synthetic = false;
	pkt.payload = end->bytes + record->payload;
	return wire_frame_emit(&path, &pkt, buf, room);
}

static void capture_link_put_block(struct capture_link *capture, const uint8_t *block,
				   size_t length)
{
	if (!capture->error && fwrite(block, 1, length, capture->out.file) != length)
		capture->error = errno ? errno : EIO;
}

static void capture_link_put_record(struct capture_link *capture, uint32_t number,
				    const struct record *record)
{
	const struct capture_link_end *end = &capture->ends[number];
	uint8_t bytes[WIRE_FRAME_MAX], block[BLOCK_MAX];
	const size_t length =
		record->frame.frame == SIM_DATA
			? capture_link_data_bytes(capture, end, record, bytes, sizeof(bytes))
			: capture_link_control_bytes(capture, end, record, bytes, sizeof(bytes));
	const struct wire_pcapng_pkt pkt = {.port = number,
					    .at = record->at,
					    .way = WIRE_PCAPNG_OUT,
					    .bytes = bytes,
					    .captured = (uint32_t)length,
					    .length = (uint32_t)length};

	if (length > 0)
		capture_link_put_block(capture, block, wire_pcapng_pkt(&pkt, block, sizeof(block)));
}

/* Each end has its frames in order of their starts. */
static int capture_link_flush_window(struct capture_link *capture)
{
	struct capture_link_end *a = &capture->ends[0], *b = &capture->ends[1];
	size_t x = 0, y = 0;

	if (a->no_memory || b->no_memory)
		return -ENOMEM;
	while (x < a->record_count || y < b->record_count) {
		if (y == b->record_count ||
		    (x < a->record_count && a->records[x].at <= b->records[y].at))
			capture_link_put_record(capture, 0, &a->records[x++]);
		else
			capture_link_put_record(capture, 1, &b->records[y++]);
	}
	a->record_count = a->byte_count = b->record_count = b->byte_count = 0;
	return capture->error ? -EIO : 0;
}

static int capture_link_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	(void)fabric;
	return capture_link_flush_window(container_of(watcher, struct capture_link, watcher));
}

/* ---- the file ---- */

int capture_link_open(struct capture_link *capture, const char *path)
{
	*capture = (struct capture_link){.watcher = {.between = capture_link_between}};
	return named_open(&capture->out, path);
}

/* The ends in order of their names. */
static uint32_t capture_link_find_ends(struct capture_link *capture, struct fabric *fabric,
				       const char *link)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++)
		for (uint32_t p = 0; p < sim_node_at(fabric->sim, i)->port_count; p++) {
			struct sim_node *node = sim_node_at(fabric->sim, i);
			struct capture_link_end *end = &capture->ends[count];

			if (count == CAPTURE_LINK_ENDS ||
			    strcmp(link, node->ports[p].link_name) != 0)
				continue;
			*end = (struct capture_link_end){.tap = {.on_start = capture_link_on_start},
							 .node = node,
							 .port = &node->ports[p]};
			sim_tap_attach(&end->tap, &node->ports[p]);
			count++;
		}
	return count;
}

int capture_link_attach(struct capture_link *capture, struct fabric *fabric, const char *link)
{
	uint8_t block[BLOCK_MAX];
	char name[256];

	capture->fabric = fabric;
	capture->ends = calloc(CAPTURE_LINK_ENDS, sizeof(*capture->ends));
	capture->hosts = calloc((size_t)fabric->host_count + 1, sizeof(*capture->hosts));
	if (!capture->ends || !capture->hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		capture->hosts[i] = &fabric->hosts[i];
	qsort((void *)capture->hosts, fabric->host_count, sizeof(*capture->hosts),
	      capture_link_compare_hosts);
	if (capture_link_find_ends(capture, fabric, link) != CAPTURE_LINK_ENDS)
		return -ENOENT;
	capture_link_put_block(capture, block, wire_pcapng_section(block, sizeof(block)));
	for (int i = 0; i < CAPTURE_LINK_ENDS; i++) {
		const struct capture_link_end *end = &capture->ends[i];

		snprintf(name, sizeof(name), "%s of %s", end->port->link_name, end->node->name);
		capture_link_put_block(
			capture, block,
			wire_pcapng_port(name, end->port->rate_bps, block, sizeof(block)));
	}
	fabric_watch(fabric, &capture->watcher);
	return capture->error ? -EIO : 0;
}

int capture_link_close(struct capture_link *capture)
{
	int ret;

	if (!capture->out.file)
		return COMMAND_DONE;
	if (!capture->ends)
		named_drop(&capture->out);
	if (capture->ends && capture_link_flush_window(capture) == -ENOMEM && !capture->error)
		capture->error = ENOMEM;
	ret = named_close(&capture->out, capture->error);
	for (int i = 0; capture->ends && i < CAPTURE_LINK_ENDS; i++) {
		free(capture->ends[i].records);
		free(capture->ends[i].bytes);
	}
	free(capture->ends);
	free((void *)capture->hosts);
	return ret;
}

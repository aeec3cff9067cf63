/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/frame_copy.h"

#include "transport/wire/frame.h"

#include <stdlib.h>
#include <string.h>

static struct wire_path frame_copy_path_to(const struct host *host, uint32_t qpn)
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

struct wire_path frame_path_to(const struct host *host, const struct sim_pkt *frame,
			       const struct wire_pkt *pkt, const struct packet_sender *from)
{
	struct wire_path path;

	if (wire_op_find(pkt->opcode)->deth)
		path = host_path_from(host, frame, from);
	else
		path = frame_copy_path_to(host, pkt->dest_qpn);
	host_path_of_frame(host, host_priority(host, frame), &path);
	path.ecn = frame->ecn;
	path.ttl = frame->ttl;
	return path;
}

static bool frame_copy_make_room(struct frame_copies *copies)
{
	if (copies->count == copies->room) {
		const size_t room = copies->room ? 2 * copies->room : 64;
		struct frame_copy *bigger = realloc(copies->copies, room * sizeof(*bigger));

		if (!bigger)
			return false;
		copies->copies = bigger;
		copies->room = room;
	}
	if (copies->byte_room - copies->byte_count < WIRE_MTU_MAX) {
		const size_t room = 2 * copies->byte_room + 16 * WIRE_MTU_MAX;
		uint8_t *bigger = realloc(copies->bytes, room);

		if (!bigger)
			return false;
		copies->bytes = bigger;
		copies->byte_room = room;
	}
	return true;
}

void frame_copies_add(struct frame_copies *copies, const struct sim_pkt *pkt, ps_t start)
{
	const struct packet_slab *slab;
	struct frame_copy *copy;

	if (copies->no_memory || !frame_copy_make_room(copies)) {
		copies->no_memory = true;
		return;
	}
	copy = &copies->copies[copies->count++];
	*copy = (struct frame_copy){.frame = *pkt, .at = start, .payload = copies->byte_count};
	if (pkt->frame != SIM_DATA)
		return;
	packet_unpack(pkt, &copy->pkt);
	slab = packet_slab_of(pkt);
	if (slab)
		copy->from = slab->from;
	if (copy->pkt.synthetic || copy->pkt.length == 0)
		return;
	memcpy(copies->bytes + copies->byte_count, copy->pkt.payload, copy->pkt.length);
	copies->byte_count += copy->pkt.length;
}

void frame_copies_clear(struct frame_copies *copies)
{
	copies->count = copies->byte_count = 0;
}

void frame_copies_fini(struct frame_copies *copies)
{
	free(copies->copies);
	free(copies->bytes);
	*copies = (struct frame_copies){.copies = NULL};
}

struct wire_pkt frame_copy_pkt(const struct frame_copies *copies, const struct frame_copy *copy)
{
	struct wire_pkt pkt = copy->pkt;

	if (!pkt.synthetic)
		pkt.payload = copies->bytes + copy->payload;
	return pkt;
}

size_t frame_copy_bytes(const struct frame_copies *copies, const struct frame_copy *copy,
			const struct host *to, uint8_t *buf, size_t room)
{
	const struct wire_path path = frame_path_to(to, &copy->frame, &copy->pkt, &copy->from);
	const struct wire_pkt pkt = frame_copy_pkt(copies, copy);

	return wire_frame_emit(&path, &pkt, buf, room);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/capture_file.h"

#include "sim/fc.h"
#include "tools/command.h"
#include "transport/wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BYTES_MAX = 256 * 1024, /* fit into a cache, and are many for a write */
	BLOCK_MAX = WIRE_FRAME_MAX + 512,
	RESERVED = 64 << 20,
	NAMES = 16, /* in a block */
	NAMES_MAX = 16 * 1024,
};
_Static_assert(BLOCK_MAX >= WIRE_PCAPNG_HEAD + WIRE_FRAME_MAX + WIRE_PCAPNG_TAIL, "a packet");

int capture_file_open(struct capture_file *file, const char *path, uint32_t snaplen)
{
	*file = (struct capture_file){.snaplen = snaplen};
	return named_open(&file->out, path);
}

/* Blocks for what is about to be written and for much behind it, in a file that is large already:
 * otherwise the kernel counts them with each write and looks for them later, which takes it
 * longer. Whoever reads the file meanwhile sees no more of it. */
static void reserve_ahead(struct capture_file *file)
{
	if (file->no_reserve || file->written < RESERVED / 16 ||
	    file->written + file->count <= file->reserved)
		return;
	if (file->out.is_stream || fallocate(fileno(file->out.file), FALLOC_FL_KEEP_SIZE,
					     (off_t)file->written, RESERVED) != 0)
		file->no_reserve = true;
	else
		file->reserved = file->written + RESERVED;
}

/* What was reserved and is not needed. */
static void give_back_ahead(struct capture_file *file)
{
	if (!file->error && file->reserved > file->written &&
	    ftruncate(fileno(file->out.file), (off_t)file->written) != 0)
		file->error = errno;
}

static void capture_file_flush(struct capture_file *file)
{
	reserve_ahead(file);
	if (!file->error && file->count > 0 &&
	    fwrite(file->bytes, 1, file->count, file->out.file) != file->count)
		file->error = errno ? errno : EIO;
	file->written += file->count;
	file->count = 0;
}

/* Where the next block goes, of at most @bytes. */
static uint8_t *capture_file_room(struct capture_file *file, size_t bytes)
{
	if (BYTES_MAX - file->count < bytes)
		capture_file_flush(file);
	return file->bytes + file->count;
}

int capture_file_begin(struct capture_file *file)
{
	file->bytes = malloc(BYTES_MAX);
	if (!file->bytes)
		return -ENOMEM;
	setvbuf(file->out.file, NULL, _IONBF, 0);
	file->count = wire_pcapng_section(file->bytes, BYTES_MAX);
	return 0;
}

void capture_file_port(struct capture_file *file, const char *name, uint64_t rate_bps)
{
	uint8_t *at = capture_file_room(file, BLOCK_MAX);

	file->count += wire_pcapng_port(name, rate_bps, file->snaplen, at, BLOCK_MAX);
}

bool capture_read_pfc(const struct sim_pkt *frame, struct wire_pfc *ret_pfc)
{
	const struct sim_control_body body = sim_control_read(frame);

	if (body.kind != SIM_CONTROL_PFC)
		return false;
	*ret_pfc = (struct wire_pfc){.enabled = body.classes};
	for (int i = 0; i < SIM_PRIORITIES; i++)
		if (body.classes >> i & 1)
			ret_pfc->quanta[i] = (uint16_t)body.value;
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

struct names {
	struct wire_pcapng_name is[NAMES];
	size_t count;
};

static void put_names(struct capture_file *file, struct names *names)
{
	uint8_t *at = capture_file_room(file, NAMES_MAX);

	if (names->count > 0)
		file->count += wire_pcapng_names(names->is, names->count, at, NAMES_MAX);
	names->count = 0;
}

static struct wire_pcapng_name *next_name(struct capture_file *file, struct names *names)
{
	if (names->count == NAMES)
		put_names(file, names);
	return &names->is[names->count++];
}

void capture_file_names(struct capture_file *file, const struct fabric *fabric)
{
	struct names names = {.count = 0};

	for (uint32_t i = 0; i < fabric->host_count; i++) {
		const struct host *host = fabric->table.hosts[i];
		struct wire_pcapng_name *name = next_name(file, &names);

		*name = (struct wire_pcapng_name){.name = host->node.name, .has_ip = true};
		host_ip(host, name->ip);
		host_mac(host, name->mac);
	}
	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++) {
		const struct sim_node *node = sim_node_at(fabric->sim, i);
		struct wire_pcapng_name *name;

		if (fabric_host(fabric, node->name))
			continue;
		name = next_name(file, &names);
		*name = (struct wire_pcapng_name){.name = node->name};
		capture_switch_mac(node, name->mac);
	}
	put_names(file, &names);
}

static void put_frame(struct capture_file *file, struct wire_pcapng_pkt pkt, uint8_t *at,
		      size_t length)
{
	if (length == 0)
		return;
	pkt.bytes = at + WIRE_PCAPNG_HEAD;
	pkt.length = (uint32_t)length;
	pkt.captured = file->snaplen && pkt.length > file->snaplen ? file->snaplen : pkt.length;
	file->count += wire_pcapng_pkt(&pkt, at, BLOCK_MAX);
}

void capture_file_data(struct capture_file *file, struct wire_pcapng_pkt pkt,
		       const struct wire_path *path, const struct wire_pkt *of)
{
	uint8_t *at = capture_file_room(file, BLOCK_MAX);

	put_frame(file, pkt, at,
		  wire_frame_emit_head(path, of, file->snaplen ? file->snaplen : SIZE_MAX / 2,
				       at + WIRE_PCAPNG_HEAD, WIRE_FRAME_MAX));
}

void capture_file_pfc(struct capture_file *file, struct wire_pcapng_pkt pkt,
		      const struct wire_pfc *of)
{
	uint8_t *at = capture_file_room(file, BLOCK_MAX);

	put_frame(file, pkt, at, wire_pfc_emit(of, at + WIRE_PCAPNG_HEAD, WIRE_FRAME_MAX));
}

int capture_file_close(struct capture_file *file, int error)
{
	int ret;

	if (!file->out.file)
		return COMMAND_DONE;
	if (file->bytes) {
		capture_file_flush(file);
		give_back_ahead(file);
	} else {
		named_drop(&file->out);
	}
	ret = named_close(&file->out, error ? error : file->error);
	free(file->bytes);
	file->bytes = NULL;
	return ret;
}

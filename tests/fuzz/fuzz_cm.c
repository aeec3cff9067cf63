/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management between a program that writes any commands and hosts that send any
 * messages, its own ones back to it among them, while time passes. No command answers more than it
 * has room for, what it sends is well formed, timers that have been seen to do not ask again at
 * once, an event that is announced is there, and in the end nothing is left. The bytes are a list
 * of steps. */
#include "transport/cm/cm.h"
#include "util/check.h"

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

enum { FILES = 2, STEPS_MAX = 400, FIRST_FD = 3, KEPT = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_cm {
	const uint8_t *at, *end;
	struct cm *cm;
	struct cm_file *files[FILES];
	bool readable[FILES];
	uint8_t kept[KEPT][CM_MAD_BYTES]; /* what it has sent */
	uint32_t kept_count;
	struct wire_path path;
	ps_t now;
};

static uint32_t cm_bytes(struct fuzz_cm *f, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && f->at < f->end; bytes--)
		value = value << 8 | *f->at++;
	return value;
}

static int fuzz_take_port(void *owner, uint16_t space, uint16_t port)
{
	(void)owner, (void)space;
	return port == 4791 ? -EADDRINUSE : 0;
}

static void fuzz_give_port(void *owner, uint16_t space, uint16_t port)
{
	(void)owner, (void)space, (void)port;
}

static int fuzz_resolve(void *owner, struct wire_path *path)
{
	const struct fuzz_cm *f = owner;

	memcpy(path->src_ip, f->path.dst_ip, 16);
	return path->dst_ip[15] == 99 ? -EHOSTUNREACH : 0;
}

static void fuzz_readable(void *file_owner, bool is_readable)
{
	*(bool *)file_owner = is_readable;
}

static struct cm_file *fuzz_file_of(void *owner, int fd)
{
	struct fuzz_cm *f = owner;

	return fd >= FIRST_FD && fd < FIRST_FD + FILES ? f->files[fd - FIRST_FD] : NULL;
}

static int fuzz_read_program(void *owner, uint64_t address, uint8_t *ret_bytes, uint32_t count)
{
	(void)owner;
	CHECK(count <= 8);
	memset(ret_bytes, (int)(address & 0xff), count);
	return address == 0 ? -EFAULT : 0;
}

static bool fuzz_is_gone(void *owner, const uint8_t ip[16])
{
	(void)owner;
	return ip[15] & 1;
}

static const struct cm_ops fuzz_ops = {fuzz_take_port, fuzz_give_port, fuzz_resolve,
				       fuzz_readable,  fuzz_file_of,   fuzz_read_program,
				       fuzz_is_gone};

/* A header that is right, but for its sizes; then whatever bytes there are. */
static void fuzz_command(struct fuzz_cm *f)
{
	uint8_t bytes[CM_COMMAND_MAX + 64] = {0};
	const uint32_t which = cm_bytes(f, 1), length = cm_bytes(f, 2) % (CM_COMMAND_MAX + 32);
	struct rdma_ucm_cmd_hdr header = {.cmd = cm_bytes(f, 1), .in = (uint16_t)length};
	struct cm_file *file = f->files[which % FILES];
	const uint32_t there = cm_bytes(f, 1) % 64;
	struct cm_reply reply;

	header.out = which & 0x80 ? (uint16_t)cm_bytes(f, 1) : 512;
	memcpy(bytes, &header, sizeof(header));
	for (uint32_t i = 0; i < there && i < length; i++) {
		const uint32_t at = cm_bytes(f, 2) % (length ? length : 1);

		bytes[sizeof(header) + at] = (uint8_t)cm_bytes(f, 1);
	}
	memset(&reply, 0xee, sizeof(reply));
	if (cm_command(file, bytes, sizeof(header) + length, &reply, f->now) != 0)
		return;
	CHECK(reply.length <= CM_REPLY_MAX && reply.length <= header.out);
	CHECK(reply.length == 0 || reply.address != 0);
}

static void fuzz_message(struct fuzz_cm *f, bool is_own)
{
	uint8_t bytes[CM_MAD_BYTES] = {1, 7, 2, 3};
	const uint32_t which = cm_bytes(f, 1), changes = cm_bytes(f, 1) % 64;

	if (is_own && f->kept_count > 0)
		memcpy(bytes, f->kept[which % (f->kept_count < KEPT ? f->kept_count : KEPT)],
		       sizeof(bytes));
	else
		bytes[17] = (uint8_t)which;
	for (uint32_t i = 0; i < changes; i++) {
		const uint32_t at = cm_bytes(f, 1);

		bytes[at] = (uint8_t)cm_bytes(f, 1);
	}
	/* An answer to itself: whose ids are whose is the other way round. */
	if (is_own && which & 0x80) {
		uint8_t ids[4];

		memcpy(ids, bytes + 24, 4);
		memcpy(bytes + 24, bytes + 28, 4);
		memcpy(bytes + 28, ids, 4);
	}
	cm_input(f->cm, &f->path, bytes, which == 0xff ? cm_bytes(f, 1) : sizeof(bytes), f->now);
	(void)cm_target_of(bytes, sizeof(bytes));
}

static void fuzz_collect(struct fuzz_cm *f)
{
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;
	struct cm_mad mad;

	while (cm_output(f->cm, &path, bytes)) {
		CHECK(cm_mad_parse(&mad, bytes, sizeof(bytes)));
		memcpy(f->kept[f->kept_count++ % KEPT], bytes, sizeof(bytes));
	}
	CHECK(!cm_has_output(f->cm));
}

static void fuzz_wait(struct fuzz_cm *f)
{
	const uint32_t how = cm_bytes(f, 1);

	if (how & 1 && cm_next_at(f->cm) != PS_NEVER)
		f->now = cm_next_at(f->cm) > f->now ? cm_next_at(f->cm) : f->now;
	else
		f->now += how * PS_S;
	cm_advance(f->cm, f->now);
	CHECK(cm_next_at(f->cm) > f->now);
	if (how == 0xfe && f->now > 100 * PS_S) {
		cm_move_epoch(f->cm, 50 * PS_S);
		f->now -= 50 * PS_S;
	}
}

static void fuzz_events(struct fuzz_cm *f, uint32_t file)
{
	const struct {
		struct rdma_ucm_cmd_hdr header;
		struct rdma_ucm_get_event get;
	} ask = {{RDMA_USER_CM_CMD_GET_EVENT, sizeof(struct rdma_ucm_get_event), 512}, {1}};
	const bool announced = f->readable[file];
	struct cm_reply reply;

	CHECK((cm_command(f->files[file], &ask, sizeof(ask), &reply, f->now) == 0) == announced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_cm f = {.at = data,
			    .end = data + size,
			    .now = PS_S,
			    .path = {.src_ip = {[10] = 0xff, 0xff, 127, 0, 0, 2},
				     .dst_ip = {[10] = 0xff, 0xff, 127, 0, 0, 1}}};
	struct cm_params params = {
		.ops = &fuzz_ops, .owner = &f, .guid = 1, .gid_index = 1, .mtu = 3, .seed = 7};

	memcpy(params.ip, f.path.dst_ip, 16);
	f.cm = cm_create(&params);
	for (int i = 0; i < FILES; i++)
		f.files[i] = cm_file_create(f.cm, &f.readable[i]);
	for (int i = 0; i < STEPS_MAX && f.at < f.end; i++) {
		const uint32_t step = cm_bytes(&f, 1);

		switch (step % 8) {
		case 0:
		case 1:
		case 2:
			fuzz_command(&f);
			break;
		case 3:
			fuzz_message(&f, false);
			break;
		case 4:
			fuzz_message(&f, true);
			break;
		case 5:
			fuzz_collect(&f);
			break;
		case 6:
			fuzz_wait(&f);
			break;
		default:
			fuzz_events(&f, step >> 3 & 1);
			break;
		}
	}
	for (int i = 0; i < FILES; i++)
		cm_file_destroy(f.files[i], f.now);
	cm_destroy(f.cm);
	return 0;
}

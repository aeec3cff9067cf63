/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a ring that takes packets, over whatever the other end writes into the memory: heads,
 * indices, payloads. The input is a list of steps of a byte and what it needs; what is taken has to
 * lie in the ring, and once emitted, to be the same again. */
#include "transport/nic/shm_ring.h"
#include "transport/wire/bth.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

enum {
	HEADS_AT = 128,
	HEAD_BYTES = 64,
	STEPS_MAX = 512,
};
enum step { STEP_HEAD, STEP_BYTE, STEP_PUT, STEP_TAKE, STEPS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
};

static uint32_t read_word(struct input *in)
{
	uint32_t word = 0;
	const size_t left = (size_t)(in->end - in->at);
	const size_t bytes = left < sizeof(word) ? left : sizeof(word);

	memcpy(&word, in->at, bytes);
	in->at += bytes;
	return word;
}

/* A head, whole, where the next is looked for; its number is right, or nobody would look. */
static void write_head(struct input *in, uint8_t *memory, const struct nic_ring *ring)
{
	uint8_t *head = memory + HEADS_AT + ring->next % NIC_RING_PLACES * HEAD_BYTES;
	const uint32_t number = ring->next + 1;
	const size_t left = (size_t)(in->end - in->at);
	const size_t bytes = left < HEAD_BYTES - 4 ? left : HEAD_BYTES - 4;

	memcpy(head, &number, sizeof(number));
	memcpy(head + 4, in->at, bytes);
	in->at += bytes;
}

static void fuzz_take(struct nic_ring *ring, const uint8_t *memory)
{
	uint8_t headers[WIRE_HEADERS_MAX];
	struct nic_ring_got got;
	struct wire_pkt pkt;
	uint32_t sum = 0;

	memset(&pkt, 0, sizeof(pkt));
	if (!nic_ring_get(ring, &got))
		return;
	CHECK(got.bytes >= memory && got.bytes < memory + nic_ring_bytes());
	CHECK(got.is_lent || got.bytes + got.length <= memory + nic_ring_bytes());
	for (uint32_t i = 0; i < (got.is_lent ? sizeof(got.address) : got.length); i++)
		sum += got.bytes[i];
	CHECK(sum <= 255u * NIC_RING_RUN);
	if (!got.is_whole && nic_ring_parse(&got, &pkt)) {
		CHECK(pkt.length == got.length);
		CHECK(pkt.length == 0 || pkt.payload == got.bytes);
		CHECK(wire_bth_emit_headers(&pkt, headers, sizeof(headers)) == got.header_bytes);
		CHECK(headers[0] == got.headers[0]);
	}
	nic_ring_release(ring);
}

static void fuzz_put(struct nic_ring *ring, uint32_t psn)
{
	const struct wire_pkt pkt = {
		.opcode = WIRE_RC | WIRE_ACKNOWLEDGE, .psn = psn & 0xffffff, .dest_qpn = 2};

	if (nic_ring_room(ring))
		nic_ring_put(ring, &pkt, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.at = data, .end = data + size};
	uint8_t *memory = aligned_alloc(64, nic_ring_bytes());
	struct nic_ring sends, takes;

	CHECK(memory != NULL);
	memset(memory, 0, nic_ring_bytes());
	nic_ring_init(&sends, memory);
	nic_ring_init(&takes, memory);
	for (uint32_t i = 0; i < STEPS_MAX && in.at < in.end; i++)
		switch (*in.at++ % STEPS) {
		case STEP_HEAD:
			write_head(&in, memory, &takes);
			break;
		case STEP_BYTE: {
			const uint32_t word = read_word(&in);

			memory[(word >> 8) % nic_ring_bytes()] = (uint8_t)word;
			break;
		}
		case STEP_PUT:
			fuzz_put(&sends, i);
			break;
		default:
			fuzz_take(&takes, memory);
		}
	free(memory);
	return 0;
}

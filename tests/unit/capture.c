/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a capture of known packets to stdout, for capture.sh, which asks tshark what it sees. */
#include "transport/wire/arp.h"
#include "transport/wire/frame.h"
#include "transport/wire/pcapng.h"
#include "transport/wire/pfc.h"

#include <stdio.h>
#include <string.h>

static uint8_t frame[WIRE_FRAME_MAX], block[2 * WIRE_FRAME_MAX];

static void write_block(size_t bytes)
{
	fwrite(block, 1, bytes, stdout);
}

static void write_frame(uint32_t port, ps_t at, size_t bytes)
{
	struct wire_pcapng_pkt pkt = {.port = port,
				      .at = at,
				      .way = port ? WIRE_PCAPNG_IN : WIRE_PCAPNG_OUT,
				      .bytes = frame,
				      .captured = (uint32_t)bytes,
				      .length = (uint32_t)bytes,
				      .comment = port ? NULL : "left a"};

	write_block(wire_pcapng_pkt(&pkt, block, sizeof(block)));
}

int main(void)
{
	static const uint8_t opcodes[] = {0x04, 0x0a, 0x11, 0x0c, 0x10,
					  0x13, 0x12, 0x17, 0x64, 0x81};
	struct wire_path v4 = {.src_ip = {[10] = 0xff, 0xff, 10, 0, 0, 1},
			       .dst_ip = {[10] = 0xff, 0xff, 10, 0, 0, 2},
			       .src_mac = {2, 0, 0, 0, 0, 1},
			       .dst_mac = {2, 0, 0, 0, 0, 2},
			       .udp_sport = 0xc001,
			       .ttl = 64,
			       .ecn = WIRE_ECT0};
	struct wire_path v6 = {.src_ip = {0xfe, 0x80, [15] = 1},
			       .dst_ip = {0xfe, 0x80, [15] = 2},
			       .vlan = 0x6005,
			       .udp_sport = 0xc002,
			       .ttl = 64};
	struct wire_pfc pfc = {.enabled = 8, .quanta = {[3] = 0xffff}};
	struct wire_neigh neigh = {.sender_mac = {2, 0, 0, 0, 0, 1},
				   .sender_ip = {0xfe, 0x80, [15] = 1},
				   .peer_ip = {0xfe, 0x80, [15] = 2}};

	write_block(wire_pcapng_section(block, sizeof(block)));
	write_block(wire_pcapng_port("a-b.left", 100000000000, 0, block, sizeof(block)));
	write_block(wire_pcapng_port("a-b.right", 0, 0, block, sizeof(block)));
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct wire_pkt pkt = {.opcode = opcodes[i],
				       .dest_qpn = 0x123,
				       .psn = (uint32_t)i,
				       .becn = opcodes[i] == WIRE_CNP,
				       .word = wire_aeth(WIRE_SYN_ACK_UNLIMITED, 7),
				       .dma_length = 100,
				       .has_rare = opcodes[i] != 0x04,
				       .synthetic = true,
				       .length = wire_op_find(opcodes[i])->payload ? 100 : 0};

		write_frame(0, i * 1234567, wire_frame_emit(&v4, &pkt, frame, sizeof(frame)));
		write_frame(1, i * 1234567 + 1, wire_frame_emit(&v6, &pkt, frame, sizeof(frame)));
	}
	write_frame(0, PS_S, wire_pfc_emit(&pfc, frame, sizeof(frame)));
	write_frame(0, PS_S + 1, wire_neigh_emit(&neigh, frame, sizeof(frame)));
	memcpy(neigh.sender_ip, v4.src_ip, 16);
	memcpy(neigh.peer_ip, v4.dst_ip, 16);
	write_frame(0, PS_S + 2, wire_neigh_emit(&neigh, frame, sizeof(frame)));
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

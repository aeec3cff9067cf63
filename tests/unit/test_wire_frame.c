/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"

#include "tests/unit/wire_roce.inc"

static const struct {
	const char *name;
	const uint8_t *bytes;
	size_t len;
} vectors[] = {
	{"v4_send_only", v4_send_only, sizeof(v4_send_only)},
	{"v6_write_only_imm", v6_write_only_imm, sizeof(v6_write_only_imm)},
	{"v4_ack", v4_ack, sizeof(v4_ack)},
	{"v4_read_request", v4_read_request, sizeof(v4_read_request)},
	{"v6_compare_swap", v6_compare_swap, sizeof(v6_compare_swap)},
	{"v4_cnp", v4_cnp, sizeof(v4_cnp)},
	{"v4_ud_send_only", v4_ud_send_only, sizeof(v4_ud_send_only)},
	{"v4_empty_send", v4_empty_send, sizeof(v4_empty_send)},
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static const uint8_t v4_a[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t v4_b[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static const uint8_t v6_b[16] = {0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 2};
static const uint8_t mac_a[6] = {0x52, 0x54, 0, 0x12, 0x34, 1};
static const uint8_t mac_b[6] = {0x52, 0x54, 0, 0x12, 0x34, 2};

/* A copy that ends where its memory ends, so that a sanitizer sees a read behind it. */
struct frame {
	struct wire_path path;
	struct wire_pkt pkt;
	uint8_t *buf;
	size_t len;
};

static struct frame frame_of(const uint8_t *bytes, size_t len)
{
	struct frame f = {.buf = malloc(len ? len : 1), .len = len};

	assert_non_null(f.buf);
	memcpy(f.buf, bytes, len);
	return f;
}

static enum wire_verdict parse(struct frame *f)
{
	return wire_frame_parse(&f->path, &f->pkt, f->buf, f->len);
}

static size_t ip_at(const struct frame *f)
{
	return f->buf[12] == 0x81 ? 18 : 14;
}

static bool is_v6(const struct frame *f)
{
	return f->buf[ip_at(f)] >> 4 == 6;
}

static size_t udp_at(const struct frame *f)
{
	return ip_at(f) + (is_v6(f) ? 40 : 20);
}

static void repair_checksum(struct frame *f)
{
	uint8_t *ip = f->buf + ip_at(f);
	uint16_t sum;

	if (is_v6(f))
		return;
	ip[10] = ip[11] = 0;
	sum = wire_ip_checksum(0, ip, 20);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* For a packet that ends where the frame ends. */
static void repair_icrc(struct frame *f)
{
	uint8_t *ip = f->buf + ip_at(f), *bth = f->buf + udp_at(f) + 8;
	uint8_t *end = f->buf + f->len - 4;
	uint32_t state = wire_icrc_bth(wire_icrc_ip_udp(ip), bth);

	wire_icrc_put(end, wire_icrc_end(wire_icrc_add(state, bth + 12, end - bth - 12)));
}

static void test_values_of_known_frames(void **state)
{
	struct frame f = frame_of(v4_send_only, sizeof(v4_send_only));

	(void)state;
	assert_int_equal(parse(&f), WIRE_OK);
	assert_memory_equal(f.path.src_mac, mac_a, 6);
	assert_memory_equal(f.path.dst_mac, mac_b, 6);
	assert_memory_equal(f.path.src_ip, v4_a, 16);
	assert_memory_equal(f.path.dst_ip, v4_b, 16);
	assert_int_equal(f.path.udp_sport, 63102);
	assert_int_equal(f.path.ip_id, 0x1c46);
	assert_int_equal(f.path.ttl, 64);
	assert_true(f.path.vlan == 0 && f.path.dscp == 0 && f.path.ecn == 0);
	assert_int_equal(f.pkt.opcode, WIRE_RC | WIRE_SEND_ONLY);
	assert_true(f.pkt.solicited && f.pkt.ack_req && !f.pkt.has_rare);
	assert_int_equal(f.pkt.dest_qpn, 0x11);
	assert_int_equal(f.pkt.psn, 0xfedcba);
	assert_int_equal(f.pkt.length, 7);
	assert_memory_equal(f.pkt.payload, "verbena", 7);
	free(f.buf);

	f = frame_of(v6_write_only_imm, sizeof(v6_write_only_imm));
	assert_int_equal(parse(&f), WIRE_OK);
	assert_memory_equal(f.path.dst_ip, v6_b, 16);
	assert_int_equal(f.path.vlan, 0x6064);
	assert_int_equal(f.path.priority, 3);
	assert_int_equal(f.path.dscp, 26);
	assert_int_equal(f.path.ecn, WIRE_ECT0);
	assert_int_equal(f.path.flow_label, 0x54321);
	assert_int_equal(f.pkt.word, 0xdeadbeef);
	assert_int_equal(f.pkt.va, 0x7f0123456789abcd);
	assert_int_equal(f.pkt.rkey, 0x01020304);
	assert_int_equal(f.pkt.dma_length, 0x11223344);
	assert_memory_equal(f.pkt.payload, "\1\2\3\4\5", 5);
	free(f.buf);
}

static void test_values_of_known_responses(void **state)
{
	struct frame f = frame_of(v4_ack, sizeof(v4_ack));

	(void)state;
	assert_int_equal(parse(&f), WIRE_OK);
	assert_int_equal(wire_aeth_syndrome(f.pkt.word), WIRE_SYN_ACK_UNLIMITED);
	assert_int_equal(wire_aeth_msn(f.pkt.word), 0xabcdef);
	assert_int_equal(f.pkt.psn, 0xffffff);
	assert_int_equal(f.path.priority, 3); /* of DSCP 26 */
	assert_null(f.pkt.payload);
	free(f.buf);

	f = frame_of(v6_compare_swap, sizeof(v6_compare_swap));
	assert_int_equal(parse(&f), WIRE_OK);
	assert_true(f.pkt.has_rare);
	assert_int_equal(f.pkt.rare.swap_add, 0x1111222233334444);
	assert_int_equal(f.pkt.rare.compare, 0x5555666677778888);
	free(f.buf);

	f = frame_of(v4_cnp, sizeof(v4_cnp));
	assert_int_equal(parse(&f), WIRE_OK);
	assert_int_equal(f.pkt.opcode, WIRE_CNP);
	assert_true(f.pkt.becn && !f.pkt.fecn);
	assert_int_equal(f.path.priority, 6); /* of DSCP 48 */
	free(f.buf);

	f = frame_of(v4_ud_send_only, sizeof(v4_ud_send_only));
	assert_int_equal(parse(&f), WIRE_OK);
	assert_int_equal(f.pkt.rare.qkey, 0x80010000);
	assert_int_equal(f.pkt.rare.src_qpn, 1);
	assert_int_equal(f.pkt.rare.pkey, 0x8001);
	assert_true(f.pkt.rare.mig_req && f.pkt.fecn);
	free(f.buf);
}

static void test_known_frames_come_out_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		struct frame f = frame_of(vectors[i].bytes, vectors[i].len);
		uint8_t out[WIRE_FRAME_MAX];

		assert_int_equal(parse(&f), WIRE_OK);
		memset(out, 0xee, sizeof(out));
		assert_int_equal(wire_frame_emit(&f.path, &f.pkt, out, f.len), f.len);
		assert_memory_equal(out, vectors[i].bytes, f.len);
		assert_int_equal(wire_frame_emit(&f.path, &f.pkt, out, f.len - 1), 0);
		free(f.buf);
	}
}

/* The payload of the UDP datagram alone, with the headers known from the path. */
static void test_udp_payload_needs_the_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		struct frame f = frame_of(vectors[i].bytes, vectors[i].len);
		uint8_t out[WIRE_UDP_PAYLOAD_MAX], *bth = f.buf + udp_at(&f) + 8;
		size_t len = (size_t)(bth[-4] << 8 | bth[-3]) - 8;

		assert_int_equal(parse(&f), WIRE_OK);
		assert_int_equal(wire_udp_emit(&f.path, &f.pkt, out, len), len);
		assert_memory_equal(out, bth, len);
		assert_int_equal(wire_udp_emit(&f.path, &f.pkt, out, len - 1), 0);
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, len), WIRE_OK);
		f.path.ttl ^= 1; /* not covered */
		f.path.dscp ^= 1;
		f.path.ecn ^= 1;
		f.path.flow_label ^= 1;
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, len), WIRE_OK);
		f.path.udp_sport ^= 1;
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, len), WIRE_BAD_ICRC);
		f.path.udp_sport ^= 1;
		f.path.src_ip[15] ^= 1;
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, len), WIRE_BAD_ICRC);
		f.path.src_ip[15] ^= 1;
		f.path.ip_id ^= 1;
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, len),
				 is_v6(&f) ? WIRE_OK : WIRE_BAD_ICRC);
		assert_int_equal(wire_udp_parse(&f.path, &f.pkt, out, 15), WIRE_MALFORMED);
		free(f.buf);
	}
}

static void test_udp_payload_too_long(void **state)
{
	static uint8_t buf[WIRE_UDP_PAYLOAD_MAX + 4];
	struct wire_path path = {0};
	struct wire_pkt pkt;

	(void)state;
	assert_int_equal(wire_udp_parse(&path, &pkt, buf, sizeof(buf)), WIRE_MALFORMED);
	assert_int_equal(wire_udp_parse(&path, &pkt, buf, sizeof(buf) - 4), WIRE_BAD_ICRC);
}

static struct wire_path random_path(struct util_rand *rand)
{
	struct wire_path path = {.udp_sport = (uint16_t)rand_bits(rand, 16),
				 .ttl = (uint8_t)(rand_bits(rand, 8) | 1),
				 .dscp = (uint8_t)rand_bits(rand, 6),
				 .ecn = (uint8_t)rand_bits(rand, 2)};

	for (int i = 0; i < 6; i++) {
		path.src_mac[i] = (uint8_t)rand_bits(rand, 8);
		path.dst_mac[i] = (uint8_t)rand_bits(rand, 8);
	}
	for (int i = 0; i < 16; i++) {
		path.src_ip[i] = (uint8_t)rand_bits(rand, 8);
		path.dst_ip[i] = (uint8_t)rand_bits(rand, 8);
	}
	path.priority = path.dscp >> 3;
	if (rand_bits(rand, 1)) {
		path.vlan = (uint16_t)((rand_bits(rand, 16) & 0xefff) | 1);
		path.priority = (uint8_t)(path.vlan >> 13);
	}
	if (rand_bits(rand, 1)) {
		memcpy(path.src_ip, v4_a, 12);
		memcpy(path.dst_ip, v4_a, 12);
		path.ip_id = (uint16_t)rand_bits(rand, 16);
	} else {
		path.flow_label = rand_bits(rand, 20);
	}
	return path;
}

static void test_parse_is_the_inverse_of_emit(void **state)
{
	struct util_rand rand = {.seed = 11};
	uint8_t slab[WIRE_MTU_MAX], buf[WIRE_FRAME_MAX];

	(void)state;
	for (int i = 0; i < 256 * 40; i++) {
		struct wire_path path = random_path(&rand), path_out;
		struct wire_pkt pkt, out;
		size_t len;

		if (!wire_op_find((uint8_t)i))
			continue;
		pkt = random_pkt(&rand, (uint8_t)i, slab);
		len = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
		assert_int_equal(wire_frame_parse_stamped(&path_out, &out, buf, len), WIRE_OK);
		assert_same_pkt(&pkt, &out);
		assert_same_path(&path, &path_out);
		assert_int_equal(wire_frame_wire_bytes(wire_path_shape(&path), &pkt), len + 24);
	}
}

/* Bits that may change on the way, or that nothing covers: MAC addresses, the tag, the UDP
 * checksum, FECN and BECN with their byte, Ethernet padding; and of IPv6, class, flow label and
 * hops. Those of IPv4 its header checksum guards. */
static bool is_free(const struct frame *f, size_t at, size_t bit)
{
	size_t ip = ip_at(f), udp = udp_at(f);

	if (at < 12 || (ip == 18 && (at == 14 || at == 15)))
		return true;
	if (at == udp + 6 || at == udp + 7 || at == udp + 12)
		return true;
	if (at >= udp + (size_t)(f->buf[udp + 4] << 8 | f->buf[udp + 5]))
		return true;
	if (!is_v6(f))
		return false;
	return (at == ip && bit < 4) || (at > ip && at < ip + 4) || at == ip + 7;
}

static void test_every_flipped_bit(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		for (size_t bit = 0; bit < vectors[i].len * 8; bit++) {
			struct frame f = frame_of(vectors[i].bytes, vectors[i].len);
			bool allowed = is_free(&f, bit / 8, bit % 8);

			f.buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if ((parse(&f) == WIRE_OK) != allowed)
				fail_msg("%s: bit %zu of byte %zu", vectors[i].name, bit % 8,
					 bit / 8);
			free(f.buf);
		}
	}
}

/* A router that changes IPv4 header fields makes the checksum right; the ICRC must still hold for
 * ToS and TTL and for nothing else. */
static void test_every_flipped_bit_of_ipv4_with_a_right_checksum(void **state)
{
	(void)state;
	for (size_t bit = 15 * 8; bit < 34 * 8; bit++) {
		struct frame f = frame_of(v4_ack, sizeof(v4_ack));
		size_t at = bit / 8;

		f.buf[at] ^= (uint8_t)(1u << bit % 8);
		repair_checksum(&f);
		assert_int_equal(parse(&f) == WIRE_OK, at == 15 || at == 22 || at / 2 == 12);
		free(f.buf);
	}
}

enum kind { V4, V6 };

/* A whole SEND ONLY with byte @at of the IP header on set to @value, checksum and ICRC repaired:
 * breaks exactly one rule. */
static enum wire_verdict with(enum kind kind, size_t at, uint8_t value)
{
	struct frame f = kind == V4 ? frame_of(v4_send_only, sizeof(v4_send_only))
				    : frame_of(v6_compare_swap, sizeof(v6_compare_swap));
	enum wire_verdict verdict;

	f.buf[14 + at] = value;
	repair_checksum(&f);
	repair_icrc(&f);
	verdict = parse(&f);
	free(f.buf);
	return verdict;
}

static void test_each_rule_of_ipv4(void **state)
{
	struct frame f = frame_of(v4_send_only, sizeof(v4_send_only));

	(void)state;
	assert_int_equal(with(V4, 0, 0x45), WIRE_OK);
	assert_int_equal(with(V4, 0, 0x46), WIRE_MALFORMED); /* options */
	assert_int_equal(with(V4, 0, 0x44), WIRE_MALFORMED); /* too short */
	assert_int_equal(with(V4, 0, 0x55), WIRE_MALFORMED); /* version 5 */
	assert_int_equal(with(V4, 1, 0xff), WIRE_OK);
	assert_int_equal(with(V4, 3, 51), WIRE_MALFORMED); /* length above UDP's and the frame's */
	assert_int_equal(with(V4, 3, 53), WIRE_MALFORMED);
	assert_int_equal(with(V4, 3, 48), WIRE_MALFORMED); /* below UDP's */
	assert_int_equal(with(V4, 6, 0x00), WIRE_OK);	   /* may be fragmented, is not */
	assert_int_equal(with(V4, 6, 0x20), WIRE_FRAGMENT);
	assert_int_equal(with(V4, 6, 0x01), WIRE_FRAGMENT);
	assert_int_equal(with(V4, 7, 0x01), WIRE_FRAGMENT);
	assert_int_equal(with(V4, 6, 0xc0), WIRE_MALFORMED); /* reserved bit */
	assert_int_equal(with(V4, 8, 0), WIRE_MALFORMED);    /* time to live */
	assert_int_equal(with(V4, 8, 1), WIRE_OK);
	assert_int_equal(with(V4, 9, 6), WIRE_NOT_ROCE); /* TCP */
	f.buf[24] ^= 0x10;
	assert_int_equal(parse(&f), WIRE_BAD_CHECKSUM);
	free(f.buf);
}

static void test_each_rule_of_ipv6(void **state)
{
	(void)state;
	assert_int_equal(with(V6, 0, 0x6f), WIRE_OK);
	assert_int_equal(with(V6, 0, 0x70), WIRE_MALFORMED); /* version 7 */
	assert_int_equal(with(V6, 5, 51), WIRE_MALFORMED);   /* below UDP's */
	assert_int_equal(with(V6, 5, 53), WIRE_MALFORMED);   /* behind the frame */
	assert_int_equal(with(V6, 6, 44), WIRE_FRAGMENT);
	assert_int_equal(with(V6, 6, 0), WIRE_NOT_ROCE); /* hop-by-hop options */
	assert_int_equal(with(V6, 6, 58), WIRE_NOT_ROCE);
	assert_int_equal(with(V6, 7, 0), WIRE_MALFORMED);
	assert_int_equal(with(V6, 7, 1), WIRE_OK);
}

static void test_each_rule_of_udp(void **state)
{
	(void)state;
	assert_int_equal(with(V4, 20, 1), WIRE_OK);	     /* any source port */
	assert_int_equal(with(V4, 23, 0xb6), WIRE_NOT_ROCE); /* 4790 */
	assert_int_equal(with(V4, 25, 31), WIRE_MALFORMED);
	assert_int_equal(with(V4, 25, 33), WIRE_MALFORMED);
	assert_int_equal(with(V4, 25, 0), WIRE_MALFORMED);
	assert_int_equal(with(V4, 26, 0x12), WIRE_OK); /* the checksum is not used */
	assert_int_equal(with(V6, 43, 0xb6), WIRE_NOT_ROCE);
	assert_int_equal(with(V6, 45, 51), WIRE_MALFORMED);
}

static void test_each_rule_of_ethernet(void **state)
{
	struct frame f = frame_of(v4_send_only, sizeof(v4_send_only));

	(void)state;
	for (f.len = 0; f.len < 14; f.len++)
		assert_int_equal(parse(&f), WIRE_MALFORMED);
	f.len = sizeof(v4_send_only);
	f.buf[13] = 0x06; /* ARP */
	assert_int_equal(parse(&f), WIRE_NOT_ROCE);
	f.buf[12] = 0x86; /* IPv4 announced as IPv6 */
	f.buf[13] = 0xdd;
	assert_int_equal(parse(&f), WIRE_MALFORMED);
	f.buf[12] = 0x81; /* a tag, then what was IPv4 */
	f.buf[13] = 0x00;
	assert_int_equal(parse(&f), WIRE_NOT_ROCE);
	free(f.buf);
	f = frame_of(v6_compare_swap, sizeof(v6_compare_swap));
	f.buf[12] = 0x08; /* IPv6 announced as IPv4 */
	f.buf[13] = 0x00;
	assert_int_equal(parse(&f), WIRE_MALFORMED);
	free(f.buf);
}

static void test_mapped_addresses_do_not_travel_in_ipv6(void **state)
{
	(void)state;
	for (size_t at = 22; at <= 38; at += 16) {
		struct frame f = frame_of(v6_compare_swap, sizeof(v6_compare_swap));

		memcpy(f.buf + at, v4_a, 16);
		repair_icrc(&f);
		assert_int_equal(parse(&f), WIRE_MALFORMED);
		f.buf[at] = 1;
		repair_icrc(&f);
		assert_int_equal(parse(&f), WIRE_OK);
		free(f.buf);
	}
}

static void test_every_shorter_frame_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		struct frame whole = frame_of(vectors[i].bytes, vectors[i].len);
		size_t least = udp_at(&whole) + (size_t)(whole.buf[udp_at(&whole) + 4] << 8 |
							 whole.buf[udp_at(&whole) + 5]);

		for (size_t len = 0; len < vectors[i].len; len++) {
			struct frame f = frame_of(vectors[i].bytes, len);

			assert_int_equal(parse(&f), len >= least ? WIRE_OK : WIRE_MALFORMED);
			free(f.buf);
		}
		free(whole.buf);
	}
}

/* Both lengths say less than a BTH and an ICRC. */
static void test_too_little_for_a_packet(void **state)
{
	struct frame f = frame_of(v4_empty_send, sizeof(v4_empty_send));

	(void)state;
	f.buf[17] = 20 + 8 + 15;
	f.buf[39] = 8 + 15;
	repair_checksum(&f);
	assert_int_equal(parse(&f), WIRE_MALFORMED);
	f.buf[17] = 20 + 7;
	f.buf[39] = 7;
	repair_checksum(&f);
	assert_int_equal(parse(&f), WIRE_MALFORMED);
	f.buf[17] = 19;
	repair_checksum(&f);
	assert_int_equal(parse(&f), WIRE_MALFORMED);
	free(f.buf);
}

static void test_whole_but_not_understood(void **state)
{
	assert_int_equal(with(V4, 28, 0x15), WIRE_BAD_TRANSPORT);
	assert_int_equal(with(V4, 29, 0x11), WIRE_BAD_TRANSPORT);
	(void)state;
}

static void test_refused_frames_leave_the_values_alone(void **state)
{
	struct frame f = frame_of(v4_ack, sizeof(v4_ack));

	(void)state;
	f.path.udp_sport = 0x5a5a;
	f.pkt.psn = 0x5a5a;
	f.buf[60] ^= 1;
	assert_int_equal(parse(&f), WIRE_BAD_ICRC);
	assert_int_equal(f.path.udp_sport, 0x5a5a);
	assert_int_equal(f.pkt.psn, 0x5a5a);
	free(f.buf);
}

/* Sums by hand: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12 are 82. */
static void test_bytes_on_the_wire(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_WRITE_MIDDLE, .length = 1024};

	(void)state;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 1106);
	assert_int_equal(wire_frame_wire_bytes(WIRE_SHAPE_IPV6, &pkt), 1126);
	assert_int_equal(wire_frame_wire_bytes(WIRE_SHAPE_VLAN, &pkt), 1110);
	assert_int_equal(wire_frame_wire_bytes(WIRE_SHAPE_VLAN | WIRE_SHAPE_IPV6, &pkt), 1130);
	pkt.length = 4096;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 4178);
	pkt.opcode = WIRE_WRITE_ONLY;
	pkt.length = 100;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 198);
	pkt = (struct wire_pkt){.opcode = WIRE_ACKNOWLEDGE};
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 86);
	pkt.opcode = WIRE_CNP;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 98);
	pkt.opcode = WIRE_READ_REQUEST;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 98);
	pkt.opcode = WIRE_SEND_ONLY;
	assert_int_equal(wire_frame_wire_bytes(0, &pkt), 84); /* 82 is below the least */
	assert_int_equal(wire_frame_wire_bytes(WIRE_SHAPE_VLAN, &pkt), 86);
	assert_int_equal(wire_frame_wire_bytes_of(wire_frame_overhead(0), 1040), 1106);
}

/* Of the captured frames: what lies between their Ethernet and UDP headers, IPv4's behind zeros. */
static void test_global_route_header_of_a_datagram(void **state)
{
	static const uint8_t zeros[20];
	int ipv6_count = 0;

	(void)state;
	for (int i = 0; i < VECTORS; i++) {
		struct frame f = frame_of(vectors[i].bytes, vectors[i].len);
		uint8_t grh[WIRE_GRH_BYTES], *ip = f.buf + ip_at(&f);

		assert_int_equal(parse(&f), WIRE_OK);
		memset(grh, 0xee, sizeof(grh));
		wire_frame_grh(&f.path, wire_pkt_bytes(&f.pkt), grh);
		if (is_v6(&f)) {
			assert_memory_equal(grh, ip, 40);
			ipv6_count++;
		} else {
			assert_memory_equal(grh, zeros, 20);
			assert_memory_equal(grh + 20, ip, 20);
		}
		free(f.buf);
	}
	assert_in_range(ipv6_count, 1, VECTORS - 1);
}

/* A head of any length is that of the whole frame, and says how long that is. */
static void test_heads_of_frames(void **state)
{
	static const uint8_t opcodes[] = {WIRE_WRITE_ONLY, WIRE_SEND_LAST, WIRE_ACKNOWLEDGE,
					  WIRE_CNP, WIRE_READ_RESPONSE_ONLY};
	uint8_t whole[WIRE_FRAME_MAX], head[WIRE_FRAME_MAX], payload[WIRE_MTU_MAX];
	struct wire_path path = {.ttl = 64, .udp_sport = 0xc001};
	struct util_rand rand = {.seed = 11};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(opcodes); i++) {
		struct wire_pkt pkt = random_pkt(&rand, opcodes[i / 2], payload);
		size_t bytes;

		pkt.length = pkt.length > 203 ? 203 : pkt.length;
		if (i % 2 && pkt.length) {
			pkt.synthetic = true;
			pkt.pattern = wire_pattern(7, 13);
		}
		memcpy(path.dst_ip, i % 3 ? v4_b : v6_b, 16);
		memcpy(path.src_ip, i % 3 ? v4_a : v6_b, 16);
		bytes = wire_frame_emit(&path, &pkt, whole, sizeof(whole));
		for (size_t want = 1; want <= bytes + 1; want++) {
			memset(head, 0xee, sizeof(head));
			assert_int_equal(
				wire_frame_emit_head(&path, &pkt, want, head, sizeof(head)), bytes);
			assert_memory_equal(head, whole, want < bytes ? want : bytes);
		}
		assert_int_equal(wire_frame_emit_head(&path, &pkt, 20, head, bytes - 1), 0);
	}
}

static void test_names_of_verdicts(void **state)
{
	(void)state;
	for (int i = 0; i < WIRE_VERDICT_COUNT; i++)
		assert_true(strlen(wire_verdict_name((enum wire_verdict)i)) > 0);
	assert_string_equal(wire_verdict_name(WIRE_BAD_ICRC), "bad_icrc");
}

RUN(T(test_values_of_known_frames), T(test_values_of_known_responses),
    T(test_known_frames_come_out_again), T(test_udp_payload_needs_the_path),
    T(test_udp_payload_too_long), T(test_parse_is_the_inverse_of_emit), T(test_every_flipped_bit),
    T(test_every_flipped_bit_of_ipv4_with_a_right_checksum), T(test_each_rule_of_ipv4),
    T(test_each_rule_of_ipv6), T(test_each_rule_of_udp), T(test_each_rule_of_ethernet),
    T(test_mapped_addresses_do_not_travel_in_ipv6), T(test_every_shorter_frame_is_refused),
    T(test_too_little_for_a_packet), T(test_whole_but_not_understood),
    T(test_refused_frames_leave_the_values_alone), T(test_bytes_on_the_wire),
    T(test_global_route_header_of_a_datagram), T(test_heads_of_frames), T(test_names_of_verdicts))

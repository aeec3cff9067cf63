/* SPDX-License-Identifier: BSD-2-Clause */

/* Values that cross the seam as bytes: every field, and nothing else; requests that are none. */
#include "tests/test.h"

#include "transport/verbs/bytes_call.h"
#include "transport/verbs/convert.h"
#include "transport/verbs/world.h"
#include <errno.h>
#include <string.h>

enum { ROOM = 256, UNTOUCHED = 0xa5 };

const struct vrb_provider *vrb_provider(void)
{
	return NULL; /* nobody asks */
}

typedef void pass_fn(struct vrb_cursor *c, void *value);

/* One bit at a time: where it was it is again, but for @size - @carried bytes (gaps between members
 * and pointers), which stay as they were. */
static void expect_carried(pass_fn *pass, size_t size, size_t carried)
{
	uint8_t from[ROOM], to[ROOM], bytes[ROOM];
	size_t found = 0;

	assert_true(size <= ROOM);
	for (size_t at = 0; at < size; at++) {
		struct vrb_cursor c = vrb_cursor_emit(bytes, sizeof(bytes));

		memset(from, 0, sizeof(from));
		memset(to, UNTOUCHED, sizeof(to));
		from[at] = 1;
		pass(&c, from);
		assert_false(c.is_bad);
		assert_int_equal(c.at - bytes, carried);
		c = vrb_cursor_parse(bytes, (size_t)(c.at - bytes));
		pass(&c, to);
		assert_false(c.is_bad);
		assert_ptr_equal(c.at, c.end);
		for (size_t i = 0; i < size; i++)
			assert_true(to[i] == UNTOUCHED || to[i] == (i == at));
		found += to[at] == 1;
	}
	assert_int_equal(found, carried);
}

#define PASS(name, type)                                                                           \
	static void name(struct vrb_cursor *c, void *value)                                        \
	{                                                                                          \
		vrb_pass_##name(c, (type *)value);                                                 \
	}
PASS(info, struct vrb_info)
PASS(limits, struct vrb_limits)
PASS(av, struct vrb_av)
PASS(path, struct wire_path)
PASS(mr_init, struct vrb_mr_init)
PASS(mr_info, struct vrb_mr_info)
PASS(cq_init, struct vrb_cq_init)
PASS(xrcd_init, struct hca_xrcd_init)
PASS(qp_open, struct vrb_qp_open)
PASS(srq_init, struct vrb_srq_init)
PASS(srq_attr, struct hca_srq_attr)
PASS(qp_init, struct vrb_qp_init)
PASS(qp_cap, struct hca_qp_cap)
PASS(qp_attr, struct hca_qp_attr)
PASS(sge, struct hca_sge)
PASS(recv_wr, struct hca_recv_wr)
PASS(wc, struct ibv_wc)
PASS(stamped, struct vrb_stamped)

static void send_wr(struct vrb_cursor *c, void *value)
{
	bool has_path = false;

	vrb_pass_send_wr(c, value, &has_path);
}

/* What a structure has less than its size: gaps of the compiler's, pointers, and the path of
 * attributes. */
static void every_field_survives(void **state)
{
	(void)state;
	expect_carried(info, sizeof(struct vrb_info), sizeof(struct vrb_info) - 4);
	expect_carried(limits, sizeof(struct vrb_limits), sizeof(struct vrb_limits) - 3);
	expect_carried(av, sizeof(struct vrb_av), sizeof(struct vrb_av) - 1);
	expect_carried(path, sizeof(struct wire_path), sizeof(struct wire_path) - 2);
	expect_carried(mr_init, sizeof(struct vrb_mr_init), sizeof(struct vrb_mr_init) - 1);
	expect_carried(mr_info, sizeof(struct vrb_mr_info), sizeof(struct vrb_mr_info) - 4);
	expect_carried(cq_init, sizeof(struct vrb_cq_init), sizeof(struct vrb_cq_init) - 11);
	expect_carried(xrcd_init, sizeof(struct hca_xrcd_init),
		       sizeof(struct hca_xrcd_init) - 7 - 6);
	expect_carried(qp_open, sizeof(struct vrb_qp_open), sizeof(struct vrb_qp_open) - 4);
	expect_carried(srq_init, sizeof(struct vrb_srq_init), sizeof(struct vrb_srq_init));
	expect_carried(srq_attr, sizeof(struct hca_srq_attr), sizeof(struct hca_srq_attr));
	expect_carried(qp_init, sizeof(struct vrb_qp_init), sizeof(struct vrb_qp_init) - 7);
	expect_carried(qp_cap, sizeof(struct hca_qp_cap), sizeof(struct hca_qp_cap));
	expect_carried(qp_attr, sizeof(struct hca_qp_attr),
		       sizeof(struct hca_qp_attr) - sizeof(struct wire_path) - 2);
	expect_carried(sge, sizeof(struct hca_sge), sizeof(struct hca_sge));
	expect_carried(recv_wr, sizeof(struct hca_recv_wr), sizeof(struct hca_recv_wr) - 12);
	expect_carried(wc, sizeof(struct ibv_wc), sizeof(struct ibv_wc) - 2);
	expect_carried(stamped, sizeof(struct vrb_stamped), sizeof(struct vrb_stamped) - 2);
}

/* One byte more than its fields: whether there is a path. */
static void every_field_of_a_request_survives(void **state)
{
	const size_t fields = sizeof(struct hca_send_wr) - 2 * sizeof(void *) - 4 - 4;
	struct hca_send_wr from, to;
	uint8_t bytes[ROOM];

	(void)state;
	for (size_t at = 0; at < sizeof(from); at++) {
		struct vrb_cursor c = vrb_cursor_emit(bytes, sizeof(bytes));

		memset(&from, 0, sizeof(from));
		memset(&to, 0, sizeof(to));
		((uint8_t *)&from)[at] = 1;
		send_wr(&c, &from);
		assert_int_equal(c.at - bytes, fields + 1);
		c = vrb_cursor_parse(bytes, fields + 1);
		send_wr(&c, &to);
		if (at >= offsetof(struct hca_send_wr, sge) &&
		    at < offsetof(struct hca_send_wr, sge) + sizeof(void *))
			continue;
		if (at >= offsetof(struct hca_send_wr, path) &&
		    at < offsetof(struct hca_send_wr, path) + sizeof(void *))
			continue;
		if (at >= offsetof(struct hca_send_wr, rkey) + 4 &&
		    at < offsetof(struct hca_send_wr, compare_add))
			continue;
		if (at >= offsetof(struct hca_send_wr, srqn) + 4)
			continue;
		assert_memory_equal(&from, &to, sizeof(from));
	}
}

static void literal_bytes(void **state)
{
	const uint8_t literal[16] = {8, 7, 6, 5, 4, 3, 2, 1, 0x0c, 0x0b, 0x0a, 0x09, 4, 3, 2, 1};
	struct hca_sge sge = {0x0102030405060708, 0x090a0b0c, 0x01020304};
	uint8_t bytes[16];
	struct vrb_cursor c = vrb_cursor_emit(bytes, sizeof(bytes));

	(void)state;
	vrb_pass_sge(&c, &sge);
	assert_false(c.is_bad);
	assert_memory_equal(bytes, literal, 16);
}

static void what_does_not_fit_is_bad(void **state)
{
	uint8_t bytes[4] = {0xff, 0xff, 0xff, 2};
	struct vrb_cursor c = vrb_cursor_emit(bytes, 4);
	uint64_t word = 1;
	uint32_t half = 7;
	bool flag;

	(void)state;
	vrb_pass_u64(&c, &word);
	assert_true(c.is_bad);
	assert_int_equal(bytes[0], 0xff);
	c = vrb_cursor_parse(bytes, 3);
	vrb_pass_u32(&c, &half);
	assert_true(c.is_bad);
	assert_int_equal(half, 0);
	c = vrb_cursor_parse(bytes + 3, 1);
	vrb_pass_bool(&c, &flag);
	assert_true(c.is_bad);
}

/* Calls that are cut off, that are longer than they are (lists are empty in zeros), and that there
 * are not, are refused before anybody hears of them: there is nobody. */
static void requests_that_are_none(void **state)
{
	const struct vrb_backend none = {0};
	const struct vrb_bytes nobody = {.inner = &none};
	const size_t lengths[] = {0, 1, 2, 3, 5, 250};

	(void)state;
	for (uint32_t call = 0; call < VRB_BYTES_COUNT + 2; call++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			uint8_t request[ROOM] = {(uint8_t)call}, answer[ROOM];
			struct vrb_cursor q = vrb_cursor_parse(request, lengths[i]);
			struct vrb_cursor a = vrb_cursor_emit(answer, sizeof(answer));
			int ret = 0;

			vrb_bytes_answer(&nobody, &q, &a);
			q = vrb_cursor_parse(answer, (size_t)(a.at - answer));
			VRB_PASS_INT(&q, &ret);
			assert_int_equal(ret, -EPROTO);
		}
}

/* More requests than there are bytes for, however many. */
static void requests_without_end(void **state)
{
	static const uint32_t calls[] = {VRB_BYTES_POST_SEND, VRB_BYTES_POST_RECV};
	static const uint32_t counts[] = {UINT32_MAX, UINT32_MAX - 1, 1u << 26, 32};
	const struct vrb_backend none = {0};
	const struct vrb_bytes nobody = {.inner = &none};

	(void)state;
	for (int i = 0; i < 8; i++) {
		uint8_t request[ROOM] = {0}, answer[ROOM];
		struct vrb_cursor q = vrb_cursor_emit(request, sizeof(request));
		struct vrb_cursor a = vrb_cursor_emit(answer, sizeof(answer));
		uint32_t call = calls[i / 4], count = counts[i % 4];
		uint64_t qp = 1;
		int ret = 0;

		vrb_pass_u32(&q, &call);
		vrb_pass_u64(&q, &qp);
		vrb_pass_u32(&q, &count);
		vrb_pass_u32(&q, &count);
		q = vrb_cursor_parse(request, (size_t)(q.at - request) + 100);
		vrb_bytes_answer(&nobody, &q, &a);
		q = vrb_cursor_parse(answer, (size_t)(a.at - answer));
		VRB_PASS_INT(&q, &ret);
		assert_int_equal(ret, -EPROTO);
	}
}

/* An adapter that says how much it takes, and keeps what it is given. */
enum { INLINE_MAX = 20, LISTS_MAX = 3 };

static struct {
	uint32_t calls;
	uint64_t addresses[LISTS_MAX];
	uint8_t bytes[INLINE_MAX];
	uint32_t length;
} heard;

static int hear_attach(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring)
{
	(void)self;
	*ret_info = (struct vrb_info){.sge_max = LISTS_MAX, .inline_max = INLINE_MAX};
	*ret_ring = NULL;
	return 0;
}

static void hear_detach(void *self)
{
	(void)self;
}

static int hear_post(void *self, uint64_t qp, uint32_t listed, const struct hca_send_wr *wr,
		     uint32_t count, uint32_t *ret_done)
{
	uint64_t all = 0;

	(void)self, (void)qp, (void)listed;
	assert_int_equal(count, 1);
	heard.calls++;
	heard.length = 0;
	*ret_done = 0;
	for (uint32_t i = 0; i < wr->sge_count && i < LISTS_MAX; i++) {
		heard.addresses[i] = wr->sge[i].addr;
		all += wr->sge[i].length;
	}
	if (all > INLINE_MAX || wr->opcode == HCA_WR_RDMA_READ)
		return -EINVAL;
	for (uint32_t i = 0; i < wr->sge_count && wr->flags & HCA_SEND_INLINE; i++) {
		if (wr->sge[i].length > 0)
			memcpy(heard.bytes + heard.length, (const void *)(uintptr_t)wr->sge[i].addr,
			       wr->sge[i].length);
		heard.length += wr->sge[i].length;
	}
	*ret_done = 1;
	return 0;
}

static const struct vrb_backend hearing = {
	.attach = hear_attach, .detach = hear_detach, .post_send = hear_post};

/* What is posted INLINE goes along, and nobody reads the program's memory behind the bytes; of
 * others the addresses go. */
static void inline_bytes_are_in_the_request(void **state)
{
	uint8_t first[8] = "abcdefg", second[12] = "hijklmnopqr";
	struct hca_sge sge[] = {{(uintptr_t)first, 8, 1}, {0x10, 0, 1}, {(uintptr_t)second, 12, 1}};
	struct hca_send_wr wr = {
		.opcode = HCA_WR_SEND, .flags = HCA_SEND_INLINE, .sge = sge, .sge_count = 3};
	void *self = vrb_bytes_create(&hearing, NULL);
	struct vrb_ring *ring;
	struct vrb_info said;
	uint32_t done;

	(void)state;
	assert_int_equal(vrb_bytes.attach(self, &said, &ring), 0);
	assert_int_equal(said.inline_max, INLINE_MAX);
	assert_int_equal(vrb_bytes.post_send(self, 1, 1, &wr, 1, &done), 0);
	assert_int_equal(heard.length, INLINE_MAX);
	assert_memory_equal(heard.bytes, "abcdefg\0hijklmnopqr", INLINE_MAX);
	assert_true(heard.addresses[0] != sge[0].addr && heard.addresses[2] != sge[2].addr);
	/* Too long, or of a kind that is never INLINE: refused, and not read. */
	sge[0].addr = sge[2].addr = 0x10;
	sge[2].length = 13;
	assert_int_equal(vrb_bytes.post_send(self, 1, 1, &wr, 1, &done), -EINVAL);
	assert_int_equal(heard.addresses[0], 0);
	sge[2].length = UINT32_MAX;
	assert_int_equal(vrb_bytes.post_send(self, 1, 1, &wr, 1, &done), -EINVAL);
	sge[2].length = 8;
	wr.opcode = HCA_WR_RDMA_READ;
	assert_int_equal(vrb_bytes.post_send(self, 1, 1, &wr, 1, &done), -EINVAL);
	wr.opcode = HCA_WR_SEND;
	wr.flags = 0;
	assert_int_equal(vrb_bytes.post_send(self, 1, 1, &wr, 1, &done), 0);
	assert_int_equal(heard.addresses[0], 0x10);
	vrb_bytes.detach(self);
}

/* A request that has fewer bytes than it says. */
static void inline_bytes_that_are_not_there(void **state)
{
	const struct vrb_bytes hears = {
		.inner = &hearing, .sge_max = LISTS_MAX, .inline_max = INLINE_MAX};
	const uint32_t calls = heard.calls;

	(void)state;
	for (uint32_t length = 0; length <= 8; length++) {
		struct hca_send_wr wr = {
			.opcode = HCA_WR_SEND, .flags = HCA_SEND_INLINE, .sge_count = 1};
		struct hca_sge sge = {0x10, 8, 1};
		uint32_t call = VRB_BYTES_POST_SEND, one = 1;
		uint8_t request[ROOM] = {0}, answer[ROOM];
		struct vrb_cursor q = vrb_cursor_emit(request, sizeof(request));
		struct vrb_cursor a = vrb_cursor_emit(answer, sizeof(answer));
		bool has_path = false;
		uint64_t qp = 1;
		int ret = 0;

		vrb_pass_u32(&q, &call);
		vrb_pass_u64(&q, &qp);
		vrb_pass_u32(&q, &one);
		vrb_pass_u32(&q, &one);
		vrb_pass_send_wr(&q, &wr, &has_path);
		vrb_pass_u32(&q, &one);
		vrb_pass_sge(&q, &sge);
		q = vrb_cursor_parse(request, (size_t)(q.at - request) + length);
		vrb_bytes_answer(&hears, &q, &a);
		q = vrb_cursor_parse(answer, (size_t)(a.at - answer));
		VRB_PASS_INT(&q, &ret);
		assert_int_equal(ret, length < 8 ? -EPROTO : 0);
		assert_int_equal(heard.calls - calls, length == 8);
	}
}

/* What ConnectX tells in sl of a datagram over RoCE: bit 3, UDP; below it 1 for IPv6, 2 for IPv4.
 */
static void kind_of_ip_of_a_datagram(void **state)
{
	static const struct {
		uint32_t flags;
		uint8_t sl;
		unsigned int wc_flags;
	} cases[] = {
		{0, 0, 0},
		{HCA_WC_WITH_IMM, 0, IBV_WC_WITH_IMM},
		{HCA_WC_GRH, 9, IBV_WC_GRH},
		{HCA_WC_GRH | HCA_WC_IPV4, 10, IBV_WC_GRH},
		{HCA_WC_GRH | HCA_WC_IPV4 | HCA_WC_WITH_IMM, 10, IBV_WC_GRH | IBV_WC_WITH_IMM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hca_wc hca = {.flags = cases[i].flags};
		struct ibv_wc wc;

		vrb_wc(&wc, &hca);
		assert_int_equal(wc.sl, cases[i].sl);
		assert_int_equal(wc.wc_flags, cases[i].wc_flags);
	}
}

RUN(T(kind_of_ip_of_a_datagram), T(every_field_survives), T(every_field_of_a_request_survives),
    T(literal_bytes), T(what_does_not_fit_is_bad), T(requests_that_are_none),
    T(requests_without_end), T(inline_bytes_are_in_the_request), T(inline_bytes_that_are_not_there))

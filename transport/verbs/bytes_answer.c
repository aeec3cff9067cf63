/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter's end: a request is parsed and made, its result becomes an answer. */
#include "transport/verbs/bytes_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef void answer_fn(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a);

/* What is not in the bytes must not be there by chance. */
#define FOREIGN(value) memset(&(value), 0xa5, sizeof(value))

/* The whole request has been parsed, and was one. */
static bool is_sound(const struct vrb_cursor *q)
{
	return !q->is_bad && q->at == q->end;
}

static bool give(struct vrb_cursor *a, int ret)
{
	VRB_PASS_INT(a, &ret);
	return ret >= 0;
}

static void bytes_answer_attach(const struct vrb_bytes *b, struct vrb_cursor *q,
				struct vrb_cursor *a)
{
	struct vrb_ring *ring; /* memory that both have */
	struct vrb_info info;

	if (!give(a, is_sound(q) ? b->inner->attach(b->self, &info, &ring) : -EPROTO))
		return;
	vrb_pass_info(a, &info);
	vrb_pass_bytes(a, (uint8_t *)&ring, sizeof(ring));
}

static void open_context(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	give(a, is_sound(q) ? b->inner->open(b->self) : -EPROTO);
}

static void close_context(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	if (is_sound(q))
		b->inner->close(b->self);
	give(a, is_sound(q) ? 0 : -EPROTO);
}

static void query(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct vrb_limits limits;

	if (give(a, is_sound(q) ? b->inner->query(b->self, &limits) : -EPROTO))
		vrb_pass_limits(a, &limits);
}

static void query_clock(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t ns;

	if (give(a, is_sound(q) ? b->inner->query_clock(b->self, &ns) : -EPROTO))
		vrb_pass_u64(a, &ns);
}

static void bytes_answer_query_gid(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	uint32_t index;
	uint8_t gid[16];

	vrb_pass_u32(q, &index);
	if (give(a, is_sound(q) ? b->inner->query_gid(b->self, index, gid) : -EPROTO))
		vrb_pass_bytes(a, gid, sizeof(gid));
}

static void create_pd(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t pd;

	if (give(a, is_sound(q) ? b->inner->create_pd(b->self, &pd) : -EPROTO))
		vrb_pass_u64(a, &pd);
}

static void bytes_answer_create_mr(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct vrb_mr_init init;
	struct vrb_mr_info info;
	uint64_t pd;

	FOREIGN(init);
	vrb_pass_u64(q, &pd);
	vrb_pass_mr_init(q, &init);
	if (give(a, is_sound(q) ? b->inner->create_mr(b->self, pd, &init, &info) : -EPROTO))
		vrb_pass_mr_info(a, &info);
}

static void change_mr(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct vrb_mr_init init;
	uint64_t mr, pd;

	FOREIGN(init);
	vrb_pass_u64(q, &mr);
	vrb_pass_u64(q, &pd);
	vrb_pass_mr_init(q, &init);
	give(a, is_sound(q) ? b->inner->change_mr(b->self, mr, pd, &init) : -EPROTO);
}

static void bytes_answer_create_mw(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	enum hca_mw_type type;
	uint64_t pd, mw;
	uint32_t rkey;

	FOREIGN(type);
	vrb_pass_u64(q, &pd);
	VRB_PASS_INT(q, &type);
	if (!give(a, is_sound(q) ? b->inner->create_mw(b->self, pd, type, &mw, &rkey) : -EPROTO))
		return;
	vrb_pass_u64(a, &mw);
	vrb_pass_u32(a, &rkey);
}

static void create_dm(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t length, dm;
	uint32_t log_align;

	vrb_pass_u64(q, &length);
	vrb_pass_u32(q, &log_align);
	if (give(a, is_sound(q) ? b->inner->create_dm(b->self, length, log_align, &dm) : -EPROTO))
		vrb_pass_u64(a, &dm);
}

static void write_dm(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t dm, offset, length;
	const uint8_t *bytes;

	vrb_pass_u64(q, &dm);
	vrb_pass_u64(q, &offset);
	vrb_pass_u64(q, &length);
	bytes = vrb_cursor_take(q, length <= HCA_DM_BYTES ? length : 0);
	give(a, is_sound(q) ? b->inner->write_dm(b->self, dm, offset, bytes, length) : -EPROTO);
}

static void read_dm(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t dm, offset, length;
	uint8_t *bytes;
	int ret = -EPROTO;

	vrb_pass_u64(q, &dm);
	vrb_pass_u64(q, &offset);
	vrb_pass_u64(q, &length);
	bytes = malloc(length <= HCA_DM_BYTES ? length + 1 : 1);
	if (!bytes)
		ret = -ENOMEM;
	else if (is_sound(q))
		ret = b->inner->read_dm(b->self, dm, offset, bytes, length);
	if (give(a, ret))
		vrb_pass_bytes(a, bytes, length);
	free(bytes);
}

static void resolve_ah(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct wire_path path;
	struct vrb_av av;

	FOREIGN(av);
	vrb_pass_av(q, &av);
	if (give(a, is_sound(q) ? b->inner->resolve_ah(b->self, &av, &path) : -EPROTO))
		vrb_pass_path(a, &path);
}

static void create_channel(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	enum vrb_channel_use use;
	uint64_t channel;
	int fd;

	FOREIGN(use);
	VRB_PASS_INT(q, &use);
	if (!give(a, is_sound(q) ? b->inner->create_channel(b->self, use, &channel, &fd) : -EPROTO))
		return;
	vrb_pass_u64(a, &channel);
	VRB_PASS_INT(a, &fd);
}

static void wait_channel(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t channel;
	uint32_t seen;

	vrb_pass_u64(q, &channel);
	vrb_pass_u32(q, &seen);
	if (give(a, is_sound(q) ? b->inner->wait_channel(b->self, channel, &seen) : -EPROTO))
		vrb_pass_u32(a, &seen);
}

static void charge_event(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	if (is_sound(q))
		b->inner->charge_event(b->self);
	give(a, is_sound(q) ? 0 : -EPROTO);
}

static void refill(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	if (is_sound(q))
		b->inner->refill(b->self);
	give(a, is_sound(q) ? 0 : -EPROTO);
}

static void relax(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t cq;

	vrb_pass_u64(q, &cq);
	if (is_sound(q))
		b->inner->relax(b->self, cq);
	give(a, is_sound(q) ? 0 : -EPROTO);
}

static void bytes_answer_create_cq(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct vrb_cq_init init;
	uint64_t cq;
	uint32_t depth;

	FOREIGN(init);
	vrb_pass_cq_init(q, &init);
	if (!give(a, is_sound(q) ? b->inner->create_cq(b->self, &init, &cq, &depth) : -EPROTO))
		return;
	vrb_pass_u64(a, &cq);
	vrb_pass_u32(a, &depth);
}

static void poll_cq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct ibv_wc *wc;
	uint64_t cq;
	uint32_t count;
	int done = -EPROTO;

	vrb_pass_u64(q, &cq);
	vrb_pass_u32(q, &count);
	wc = calloc(count, sizeof(*wc));
	if (!wc)
		done = -ENOMEM;
	else if (is_sound(q))
		done = b->inner->poll_cq(b->self, cq, count, wc);
	give(a, done);
	for (int i = 0; i < done; i++)
		vrb_pass_wc(a, &wc[i]);
	free(wc);
}

static void poll_stamped(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct vrb_stamped wc;
	uint64_t cq;
	bool may_wait;
	int ret = -EPROTO;

	FOREIGN(wc);
	vrb_pass_u64(q, &cq);
	vrb_pass_bool(q, &may_wait);
	if (is_sound(q))
		ret = b->inner->poll_stamped(b->self, cq, may_wait, &wc);
	if (give(a, ret) && ret == 1)
		vrb_pass_stamped(a, &wc);
}

static void resize_cq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t cq;
	uint32_t depth, now;

	vrb_pass_u64(q, &cq);
	vrb_pass_u32(q, &depth);
	if (give(a, is_sound(q) ? b->inner->resize_cq(b->self, cq, depth, &now) : -EPROTO))
		vrb_pass_u32(a, &now);
}

static void moderate_cq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t cq;
	uint32_t count, after_us;

	vrb_pass_u64(q, &cq);
	vrb_pass_u32(q, &count);
	vrb_pass_u32(q, &after_us);
	give(a, is_sound(q) ? b->inner->moderate_cq(b->self, cq, count, after_us) : -EPROTO);
}

static void arm_cq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint64_t cq;
	bool solicited_only;

	vrb_pass_u64(q, &cq);
	vrb_pass_bool(q, &solicited_only);
	give(a, is_sound(q) ? b->inner->arm_cq(b->self, cq, solicited_only) : -EPROTO);
}

static void answer_open_xrcd(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct hca_xrcd_init init;
	uint64_t xrcd;

	FOREIGN(init);
	vrb_pass_xrcd_init(q, &init);
	if (give(a, is_sound(q) ? b->inner->open_xrcd(b->self, &init, &xrcd) : -EPROTO))
		vrb_pass_u64(a, &xrcd);
}

static void answer_open_qp(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct vrb_qp_open open;
	uint64_t qp;

	FOREIGN(open);
	vrb_pass_qp_open(q, &open);
	if (give(a, is_sound(q) ? b->inner->open_qp(b->self, &open, &qp) : -EPROTO))
		vrb_pass_u64(a, &qp);
}

static void bytes_answer_create_srq(const struct vrb_bytes *b, struct vrb_cursor *q,
				    struct vrb_cursor *a)
{
	struct vrb_srq_init init;
	uint64_t srq;
	uint32_t number;

	FOREIGN(init);
	vrb_pass_srq_init(q, &init);
	if (!give(a, is_sound(q) ? b->inner->create_srq(b->self, &init, &srq, &number) : -EPROTO))
		return;
	vrb_pass_u64(a, &srq);
	vrb_pass_u32(a, &number);
}

static void bytes_answer_modify_srq(const struct vrb_bytes *b, struct vrb_cursor *q,
				    struct vrb_cursor *a)
{
	struct hca_srq_attr attr;
	uint64_t srq;
	uint32_t mask;

	FOREIGN(attr);
	vrb_pass_u64(q, &srq);
	vrb_pass_srq_attr(q, &attr);
	vrb_pass_u32(q, &mask);
	give(a, is_sound(q) ? b->inner->modify_srq(b->self, srq, &attr, mask) : -EPROTO);
}

static void bytes_answer_query_srq(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct hca_srq_attr attr;
	uint64_t srq;

	vrb_pass_u64(q, &srq);
	if (give(a, is_sound(q) ? b->inner->query_srq(b->self, srq, &attr) : -EPROTO))
		vrb_pass_srq_attr(a, &attr);
}

static void bytes_answer_create_qp(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct vrb_qp_init init;
	uint64_t qp;
	uint32_t qpn;

	FOREIGN(init);
	vrb_pass_qp_init(q, &init);
	if (!give(a, is_sound(q) ? b->inner->create_qp(b->self, &init, &qp, &qpn) : -EPROTO))
		return;
	vrb_pass_u64(a, &qp);
	vrb_pass_u32(a, &qpn);
}

static void bytes_answer_modify_qp(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct hca_qp_attr attr;
	struct vrb_av av;
	enum hca_qp_state cur_state;
	uint64_t qp;
	uint32_t mask;

	FOREIGN(attr);
	FOREIGN(av);
	FOREIGN(cur_state);
	vrb_pass_u64(q, &qp);
	vrb_pass_qp_attr(q, &attr);
	vrb_pass_u32(q, &mask);
	vrb_pass_av(q, &av);
	VRB_PASS_INT(q, &cur_state);
	give(a,
	     is_sound(q) ? b->inner->modify_qp(b->self, qp, &attr, mask, &av, cur_state) : -EPROTO);
}

static void query_qp(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct hca_qp_attr attr;
	struct hca_qp_cap cap;
	uint64_t qp;

	vrb_pass_u64(q, &qp);
	if (!give(a, is_sound(q) ? b->inner->query_qp(b->self, qp, &attr, &cap) : -EPROTO))
		return;
	vrb_pass_qp_attr(a, &attr);
	vrb_pass_qp_cap(a, &cap);
}

/* A list with its length; NULL: it cannot be that long, or there is no memory. */
static struct hca_sge *parse_elements(struct vrb_cursor *q, uint32_t *ret_count)
{
	struct hca_sge *sge;
	uint32_t count;

	vrb_pass_u32(q, &count);
	*ret_count = count;
	if (q->is_bad || count > (size_t)(q->end - q->at) / sizeof(*sge)) {
		q->is_bad = true;
		return NULL;
	}
	sge = malloc((count ? count : 1) * sizeof(*sge));
	for (uint32_t i = 0; sge && i < count; i++) {
		FOREIGN(sge[i]);
		vrb_pass_sge(q, &sge[i]);
	}
	q->is_bad |= !sge;
	return sge;
}

/* That of a request: it is less long than @sge_count says where that is refused anyway. */
static struct hca_sge *parse_list(const struct vrb_bytes *b, struct vrb_cursor *q,
				  uint32_t sge_count)
{
	uint32_t count;
	struct hca_sge *sge = parse_elements(q, &count);

	q->is_bad |= count != sge_count && sge_count <= b->sge_max;
	return sge;
}

static void advise_mr(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct hca_sge *sge;
	uint64_t pd;
	uint32_t count;
	bool writes;

	vrb_pass_u64(q, &pd);
	vrb_pass_bool(q, &writes);
	sge = parse_elements(q, &count);
	give(a, is_sound(q) ? b->inner->advise_mr(b->self, pd, writes, sge, count) : -EPROTO);
	free(sge);
}

static struct wire_path *parse_path(struct vrb_cursor *q, bool is_there)
{
	struct wire_path *path = is_there ? malloc(sizeof(*path)) : NULL;

	if (path) {
		FOREIGN(*path);
		vrb_pass_path(q, path);
	}
	q->is_bad |= is_there && !path;
	return path;
}

/* The bytes of an INLINE request are read where they are in the request. An address of the program
 * says nothing here. */
static void take_inline(const struct vrb_bytes *b, struct vrb_cursor *q,
			const struct hca_send_wr *wr, struct hca_sge *sge)
{
	const uint32_t count = wr->sge_count <= b->sge_max ? wr->sge_count : 0;
	bool has_bytes;

	if (q->is_bad || !(wr->flags & HCA_SEND_INLINE))
		return;
	has_bytes = vrb_bytes_inline(wr, sge, count, b->inline_max) > 0;
	for (uint32_t i = 0; i < count; i++)
		sge[i].addr = has_bytes ? (uintptr_t)vrb_cursor_take(q, sge[i].length) : 0;
}

/* Of posted requests; each of them begins with its 64 bits. */
static uint32_t parse_count(struct vrb_cursor *q)
{
	uint32_t count;

	vrb_pass_u32(q, &count);
	q->is_bad |= count > (size_t)(q->end - q->at) / sizeof(uint64_t);
	return q->is_bad ? 0 : count;
}

/* What is not sound makes @q bad. For free_requests(). */
static struct hca_send_wr *parse_requests(const struct vrb_bytes *b, struct vrb_cursor *q,
					  uint32_t *ret_count)
{
	const uint32_t count = parse_count(q);
	struct hca_send_wr *wr = calloc((size_t)count + 1, sizeof(*wr));

	q->is_bad |= !wr;
	for (uint32_t i = 0; i < count && !q->is_bad; i++) {
		bool has_path = false;
		struct hca_sge *sge;

		FOREIGN(wr[i]);
		vrb_pass_send_wr(q, &wr[i], &has_path);
		wr[i].sge = sge = parse_list(b, q, wr[i].sge_count);
		take_inline(b, q, &wr[i], sge);
		wr[i].path = parse_path(q, has_path);
	}
	*ret_count = count;
	return wr;
}

static void free_requests(struct hca_send_wr *wr, uint32_t count)
{
	for (uint32_t i = 0; wr && i < count; i++) {
		free((void *)(uintptr_t)wr[i].sge);
		free((void *)(uintptr_t)wr[i].path);
	}
	free(wr);
}

static void bytes_answer_post_send(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	struct hca_send_wr *wr;
	uint64_t qp;
	uint32_t listed, count, done = 0;

	vrb_pass_u64(q, &qp);
	vrb_pass_u32(q, &listed);
	wr = parse_requests(b, q, &count);
	give(a, is_sound(q) ? b->inner->post_send(b->self, qp, listed, wr, count, &done) : -EPROTO);
	vrb_pass_u32(a, &done);
	free_requests(wr, count);
}

static void post_batch(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	struct hca_send_wr *wr;
	uint64_t qp;
	uint32_t count;

	vrb_pass_u64(q, &qp);
	wr = parse_requests(b, q, &count);
	give(a, is_sound(q) ? b->inner->post_batch(b->self, qp, wr, count) : -EPROTO);
	free_requests(wr, count);
}

typedef int post_fn(void *self, uint64_t queue, uint32_t listed, const struct hca_recv_wr *wr,
		    uint32_t count, uint32_t *ret_done);

static void answer_receives(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a,
			    post_fn *post)
{
	struct hca_recv_wr *wr;
	uint64_t queue;
	uint32_t listed, count, done = 0;

	vrb_pass_u64(q, &queue);
	vrb_pass_u32(q, &listed);
	count = parse_count(q);
	wr = calloc((size_t)count + 1, sizeof(*wr));
	q->is_bad |= !wr;
	for (uint32_t i = 0; i < count && !q->is_bad; i++) {
		FOREIGN(wr[i]);
		vrb_pass_recv_wr(q, &wr[i]);
		wr[i].sge = parse_list(b, q, wr[i].sge_count);
	}
	give(a, is_sound(q) ? post(b->self, queue, listed, wr, count, &done) : -EPROTO);
	vrb_pass_u32(a, &done);
	for (uint32_t i = 0; wr && i < count; i++)
		free((void *)(uintptr_t)wr[i].sge);
	free(wr);
}

static void bytes_answer_post_recv(const struct vrb_bytes *b, struct vrb_cursor *q,
				   struct vrb_cursor *a)
{
	answer_receives(b, q, a, b->inner->post_recv);
}

static void post_srq_recv(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	answer_receives(b, q, a, b->inner->post_srq_recv);
}

/* Those that take a handle away. */
static void bytes_answer_destroy(const struct vrb_bytes *b, struct vrb_cursor *q,
				 struct vrb_cursor *a, int (*call)(void *self, uint64_t handle))
{
	uint64_t handle;

	vrb_pass_u64(q, &handle);
	give(a, is_sound(q) ? call(b->self, handle) : -EPROTO);
}

static void destroy_pd(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_pd);
}

static void destroy_mr(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_mr);
}

static void destroy_mw(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_mw);
}

static void destroy_dm(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_dm);
}

static void destroy_channel(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_channel);
}

static void destroy_cq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_cq);
}

static void answer_close_xrcd(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->close_xrcd);
}

static void destroy_srq(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_srq);
}

static void destroy_qp(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	bytes_answer_destroy(b, q, a, b->inner->destroy_qp);
}

static void answer_set_mcast(const struct vrb_bytes *b, struct vrb_cursor *q, struct vrb_cursor *a)
{
	uint8_t gid[16];
	bool leaves;
	uint64_t qp;

	FOREIGN(gid);
	vrb_pass_u64(q, &qp);
	vrb_pass_bytes(q, gid, sizeof(gid));
	vrb_pass_bool(q, &leaves);
	give(a, is_sound(q) ? b->inner->set_mcast(b->self, qp, gid, leaves) : -EPROTO);
}

static answer_fn *const calls[VRB_BYTES_COUNT] = {
	[VRB_BYTES_ATTACH] = bytes_answer_attach,
	[VRB_BYTES_OPEN] = open_context,
	[VRB_BYTES_CLOSE] = close_context,
	[VRB_BYTES_QUERY] = query,
	[VRB_BYTES_QUERY_CLOCK] = query_clock,
	[VRB_BYTES_QUERY_GID] = bytes_answer_query_gid,
	[VRB_BYTES_CREATE_PD] = create_pd,
	[VRB_BYTES_DESTROY_PD] = destroy_pd,
	[VRB_BYTES_CREATE_MR] = bytes_answer_create_mr,
	[VRB_BYTES_CHANGE_MR] = change_mr,
	[VRB_BYTES_DESTROY_MR] = destroy_mr,
	[VRB_BYTES_CREATE_MW] = bytes_answer_create_mw,
	[VRB_BYTES_DESTROY_MW] = destroy_mw,
	[VRB_BYTES_ADVISE_MR] = advise_mr,
	[VRB_BYTES_CREATE_DM] = create_dm,
	[VRB_BYTES_DESTROY_DM] = destroy_dm,
	[VRB_BYTES_WRITE_DM] = write_dm,
	[VRB_BYTES_READ_DM] = read_dm,
	[VRB_BYTES_RESOLVE_AH] = resolve_ah,
	[VRB_BYTES_CREATE_CHANNEL] = create_channel,
	[VRB_BYTES_DESTROY_CHANNEL] = destroy_channel,
	[VRB_BYTES_WAIT_CHANNEL] = wait_channel,
	[VRB_BYTES_CHARGE_EVENT] = charge_event,
	[VRB_BYTES_REFILL] = refill,
	[VRB_BYTES_RELAX] = relax,
	[VRB_BYTES_CREATE_CQ] = bytes_answer_create_cq,
	[VRB_BYTES_DESTROY_CQ] = destroy_cq,
	[VRB_BYTES_POLL_CQ] = poll_cq,
	[VRB_BYTES_POLL_STAMPED] = poll_stamped,
	[VRB_BYTES_ARM_CQ] = arm_cq,
	[VRB_BYTES_RESIZE_CQ] = resize_cq,
	[VRB_BYTES_MODERATE_CQ] = moderate_cq,
	[VRB_BYTES_OPEN_XRCD] = answer_open_xrcd,
	[VRB_BYTES_CLOSE_XRCD] = answer_close_xrcd,
	[VRB_BYTES_CREATE_SRQ] = bytes_answer_create_srq,
	[VRB_BYTES_DESTROY_SRQ] = destroy_srq,
	[VRB_BYTES_MODIFY_SRQ] = bytes_answer_modify_srq,
	[VRB_BYTES_QUERY_SRQ] = bytes_answer_query_srq,
	[VRB_BYTES_POST_SRQ_RECV] = post_srq_recv,
	[VRB_BYTES_CREATE_QP] = bytes_answer_create_qp,
	[VRB_BYTES_OPEN_QP] = answer_open_qp,
	[VRB_BYTES_DESTROY_QP] = destroy_qp,
	[VRB_BYTES_SET_MCAST] = answer_set_mcast,
	[VRB_BYTES_MODIFY_QP] = bytes_answer_modify_qp,
	[VRB_BYTES_QUERY_QP] = query_qp,
	[VRB_BYTES_POST_SEND] = bytes_answer_post_send,
	[VRB_BYTES_POST_BATCH] = post_batch,
	[VRB_BYTES_POST_RECV] = bytes_answer_post_recv,
};

void vrb_bytes_answer(const struct vrb_bytes *bytes, struct vrb_cursor *request,
		      struct vrb_cursor *answer)
{
	uint32_t call;

	vrb_pass_u32(request, &call);
	if (request->is_bad || call >= VRB_BYTES_COUNT)
		give(answer, -EPROTO);
	else
		calls[call](bytes, request, answer);
}

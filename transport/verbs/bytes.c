/* SPDX-License-Identifier: BSD-2-Clause */
/* The front's end: a call becomes a request, its answer what the call fills. */
#include "transport/verbs/bytes_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 512, WR_ROOM = 256, SGE_ROOM = 16, WC_ROOM = 64 };

/* A call on its way: first the cursor emits the request, then it parses the answer. */
struct passage {
	const struct vrb_bytes *bytes;
	size_t room; /* of the request, and of the answer */
	uint8_t *request, *answer;
	struct vrb_cursor c;
};

static struct passage bytes_begin(void *self, enum vrb_bytes_call call, size_t room)
{
	struct passage p = {.bytes = self, .room = room, .request = malloc(2 * room)};
	uint32_t number = call;

	p.answer = p.request ? p.request + room : NULL;
	p.c = vrb_cursor_emit(p.request, p.request ? room : 0);
	vrb_pass_u32(&p.c, &number);
	return p;
}

/* What the call returned; its outputs come next, with the values' own functions. */
static int carry(struct passage *p)
{
	struct vrb_cursor request, answer = vrb_cursor_emit(p->answer, p->room);
	int ret = 0;

	if (!p->request)
		return -ENOMEM;
	if (p->c.is_bad)
		return -EPROTO;
	request = vrb_cursor_parse(p->request, (size_t)(p->c.at - p->request));
	vrb_bytes_answer(p->bytes, &request, &answer);
	p->c = vrb_cursor_parse(p->answer, (size_t)(answer.at - p->answer));
	p->c.is_bad = answer.is_bad;
	VRB_PASS_INT(&p->c, &ret);
	return p->c.is_bad ? -EPROTO : ret;
}

static int bytes_end(struct passage *p, int ret)
{
	if (ret >= 0 && (p->c.is_bad || p->c.at != p->c.end))
		ret = -EPROTO;
	free(p->request);
	return ret;
}

static int bytes_attach(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring)
{
	struct passage p = bytes_begin(self, VRB_BYTES_ATTACH, ROOM);
	struct vrb_bytes *bytes = self;
	int ret = carry(&p);

	if (ret == 0) {
		vrb_pass_info(&p.c, ret_info);
		bytes->sge_max = ret_info->sge_max;
		bytes->inline_max = ret_info->inline_max;
		vrb_pass_bytes(&p.c, (uint8_t *)ret_ring, sizeof(*ret_ring));
	}
	return bytes_end(&p, ret);
}

static void bytes_detach(void *self)
{
	struct vrb_bytes *bytes = self;

	bytes->inner->detach(bytes->self);
	free(bytes);
}

static int bytes_open(void *self)
{
	struct passage p = bytes_begin(self, VRB_BYTES_OPEN, ROOM);

	return bytes_end(&p, carry(&p));
}

static void bytes_close(void *self)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CLOSE, ROOM);

	(void)bytes_end(&p, carry(&p));
}

static int bytes_query(void *self, struct vrb_limits *ret_limits)
{
	struct passage p = bytes_begin(self, VRB_BYTES_QUERY, ROOM);
	int ret = carry(&p);

	if (ret == 0)
		vrb_pass_limits(&p.c, ret_limits);
	return bytes_end(&p, ret);
}

static int bytes_query_clock(void *self, uint64_t *ret_ns)
{
	struct passage p = bytes_begin(self, VRB_BYTES_QUERY_CLOCK, ROOM);
	int ret = carry(&p);

	if (ret == 0)
		vrb_pass_u64(&p.c, ret_ns);
	return bytes_end(&p, ret);
}

static int bytes_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	struct passage p = bytes_begin(self, VRB_BYTES_QUERY_GID, ROOM);
	int ret;

	vrb_pass_u32(&p.c, &index);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_bytes(&p.c, ret_gid, 16);
	return bytes_end(&p, ret);
}

static int bytes_create_pd(void *self, uint64_t *ret_pd)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_PD, ROOM);
	int ret = carry(&p);

	if (ret == 0)
		vrb_pass_u64(&p.c, ret_pd);
	return bytes_end(&p, ret);
}

static int bytes_destroy(void *self, enum vrb_bytes_call call, uint64_t handle)
{
	struct passage p = bytes_begin(self, call, ROOM);

	vrb_pass_u64(&p.c, &handle);
	return bytes_end(&p, carry(&p));
}

static int bytes_destroy_pd(void *self, uint64_t pd)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_PD, pd);
}

static int bytes_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			   struct vrb_mr_info *ret_info)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_MR, ROOM);
	struct vrb_mr_init copy = *init;
	int ret;

	vrb_pass_u64(&p.c, &pd);
	vrb_pass_mr_init(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_mr_info(&p.c, ret_info);
	return bytes_end(&p, ret);
}

static int bytes_change_mr(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CHANGE_MR, ROOM);
	struct vrb_mr_init copy = *init;

	vrb_pass_u64(&p.c, &mr);
	vrb_pass_u64(&p.c, &pd);
	vrb_pass_mr_init(&p.c, &copy);
	return bytes_end(&p, carry(&p));
}

static int bytes_destroy_mr(void *self, uint64_t mr)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_MR, mr);
}

static int bytes_create_mw(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			   uint32_t *ret_rkey)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_MW, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &pd);
	VRB_PASS_INT(&p.c, &type);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_u64(&p.c, ret_mw);
		vrb_pass_u32(&p.c, ret_rkey);
	}
	return bytes_end(&p, ret);
}

static int bytes_destroy_mw(void *self, uint64_t mw)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_MW, mw);
}

static int bytes_create_dm(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_DM, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &length);
	vrb_pass_u32(&p.c, &log_align);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_u64(&p.c, ret_dm);
	return bytes_end(&p, ret);
}

static int bytes_destroy_dm(void *self, uint64_t dm)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_DM, dm);
}

/* More than a device has of it can only be refused: none of it goes along. */
static uint64_t dm_room(uint64_t length)
{
	return length <= HCA_DM_BYTES ? length : 0;
}

static int bytes_write_dm(void *self, uint64_t dm, uint64_t offset, const void *bytes,
			  uint64_t length)
{
	const uint64_t count = dm_room(length);
	struct passage p = bytes_begin(self, VRB_BYTES_WRITE_DM, ROOM + count);
	uint8_t *to;

	vrb_pass_u64(&p.c, &dm);
	vrb_pass_u64(&p.c, &offset);
	vrb_pass_u64(&p.c, &length);
	to = vrb_cursor_take(&p.c, count);
	if (to && count > 0)
		memcpy(to, bytes, count);
	return bytes_end(&p, carry(&p));
}

static int bytes_read_dm(void *self, uint64_t dm, uint64_t offset, void *ret_bytes, uint64_t length)
{
	struct passage p = bytes_begin(self, VRB_BYTES_READ_DM, ROOM + dm_room(length));
	int ret;

	vrb_pass_u64(&p.c, &dm);
	vrb_pass_u64(&p.c, &offset);
	vrb_pass_u64(&p.c, &length);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_bytes(&p.c, ret_bytes, length);
	return bytes_end(&p, ret);
}

static int bytes_resolve_ah(void *self, const struct vrb_av *av, struct wire_path *ret_path)
{
	struct passage p = bytes_begin(self, VRB_BYTES_RESOLVE_AH, ROOM);
	struct vrb_av copy = *av;
	int ret;

	vrb_pass_av(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_path(&p.c, ret_path);
	return bytes_end(&p, ret);
}

static int bytes_create_channel(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
				int *ret_fd)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_CHANNEL, ROOM);
	int ret;

	VRB_PASS_INT(&p.c, &use);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_u64(&p.c, ret_channel);
		VRB_PASS_INT(&p.c, ret_fd);
	}
	return bytes_end(&p, ret);
}

static int bytes_destroy_channel(void *self, uint64_t channel)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_CHANNEL, channel);
}

static int bytes_wait_channel(void *self, uint64_t channel, uint32_t *seen)
{
	struct passage p = bytes_begin(self, VRB_BYTES_WAIT_CHANNEL, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &channel);
	vrb_pass_u32(&p.c, seen);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_u32(&p.c, seen);
	return bytes_end(&p, ret);
}

static void bytes_charge_event(void *self)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CHARGE_EVENT, ROOM);

	(void)bytes_end(&p, carry(&p));
}

static void bytes_refill(void *self)
{
	struct passage p = bytes_begin(self, VRB_BYTES_REFILL, ROOM);

	(void)bytes_end(&p, carry(&p));
}

static void bytes_relax(void *self, uint64_t cq)
{
	struct passage p = bytes_begin(self, VRB_BYTES_RELAX, ROOM);

	vrb_pass_u64(&p.c, &cq);
	(void)bytes_end(&p, carry(&p));
}

static int bytes_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			   uint32_t *ret_depth)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_CQ, ROOM);
	struct vrb_cq_init copy = *init;
	int ret;

	vrb_pass_cq_init(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_u64(&p.c, ret_cq);
		vrb_pass_u32(&p.c, ret_depth);
	}
	return bytes_end(&p, ret);
}

static int bytes_destroy_cq(void *self, uint64_t cq)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_CQ, cq);
}

static int bytes_poll_cq(void *self, uint64_t cq, uint32_t count, struct ibv_wc *ret_wc)
{
	struct passage p = bytes_begin(self, VRB_BYTES_POLL_CQ, ROOM + (size_t)count * WC_ROOM);
	int ret;

	vrb_pass_u64(&p.c, &cq);
	vrb_pass_u32(&p.c, &count);
	ret = carry(&p);
	for (int i = 0; i < ret && i < (int)count; i++)
		vrb_pass_wc(&p.c, &ret_wc[i]);
	return bytes_end(&p, ret);
}

static int bytes_arm_cq(void *self, uint64_t cq, bool solicited_only)
{
	struct passage p = bytes_begin(self, VRB_BYTES_ARM_CQ, ROOM);

	vrb_pass_u64(&p.c, &cq);
	vrb_pass_bool(&p.c, &solicited_only);
	return bytes_end(&p, carry(&p));
}

static int bytes_poll_stamped(void *self, uint64_t cq, bool may_wait, struct vrb_stamped *ret_wc)
{
	struct passage p = bytes_begin(self, VRB_BYTES_POLL_STAMPED, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &cq);
	vrb_pass_bool(&p.c, &may_wait);
	ret = carry(&p);
	if (ret == 1)
		vrb_pass_stamped(&p.c, ret_wc);
	return bytes_end(&p, ret);
}

static int bytes_resize_cq(void *self, uint64_t cq, uint32_t depth, uint32_t *ret_depth)
{
	struct passage p = bytes_begin(self, VRB_BYTES_RESIZE_CQ, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &cq);
	vrb_pass_u32(&p.c, &depth);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_u32(&p.c, ret_depth);
	return bytes_end(&p, ret);
}

static int bytes_moderate_cq(void *self, uint64_t cq, uint32_t count, uint32_t after_us)
{
	struct passage p = bytes_begin(self, VRB_BYTES_MODERATE_CQ, ROOM);

	vrb_pass_u64(&p.c, &cq);
	vrb_pass_u32(&p.c, &count);
	vrb_pass_u32(&p.c, &after_us);
	return bytes_end(&p, carry(&p));
}

static int bytes_open_xrcd(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd)
{
	struct passage p = bytes_begin(self, VRB_BYTES_OPEN_XRCD, ROOM);
	struct hca_xrcd_init copy = *init;
	int ret;

	vrb_pass_xrcd_init(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_u64(&p.c, ret_xrcd);
	return bytes_end(&p, ret);
}

static int bytes_close_xrcd(void *self, uint64_t xrcd)
{
	return bytes_destroy(self, VRB_BYTES_CLOSE_XRCD, xrcd);
}

static int bytes_create_srq(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			    uint32_t *ret_number)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_SRQ, ROOM);
	struct vrb_srq_init copy = *init;
	int ret;

	vrb_pass_srq_init(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_u64(&p.c, ret_srq);
		vrb_pass_u32(&p.c, ret_number);
	}
	return bytes_end(&p, ret);
}

static int bytes_destroy_srq(void *self, uint64_t srq)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_SRQ, srq);
}

static int bytes_modify_srq(void *self, uint64_t srq, const struct hca_srq_attr *attr,
			    uint32_t mask)
{
	struct passage p = bytes_begin(self, VRB_BYTES_MODIFY_SRQ, ROOM);
	struct hca_srq_attr copy = *attr;

	vrb_pass_u64(&p.c, &srq);
	vrb_pass_srq_attr(&p.c, &copy);
	vrb_pass_u32(&p.c, &mask);
	return bytes_end(&p, carry(&p));
}

static int bytes_query_srq(void *self, uint64_t srq, struct hca_srq_attr *ret_attr)
{
	struct passage p = bytes_begin(self, VRB_BYTES_QUERY_SRQ, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &srq);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_srq_attr(&p.c, ret_attr);
	return bytes_end(&p, ret);
}

static int bytes_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			   uint32_t *ret_qpn)
{
	struct passage p = bytes_begin(self, VRB_BYTES_CREATE_QP, ROOM);
	struct vrb_qp_init copy = *init;
	int ret;

	vrb_pass_qp_init(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_u64(&p.c, ret_qp);
		vrb_pass_u32(&p.c, ret_qpn);
	}
	return bytes_end(&p, ret);
}

static int bytes_open_qp(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp)
{
	struct passage p = bytes_begin(self, VRB_BYTES_OPEN_QP, ROOM);
	struct vrb_qp_open copy = *open;
	int ret;

	vrb_pass_qp_open(&p.c, &copy);
	ret = carry(&p);
	if (ret == 0)
		vrb_pass_u64(&p.c, ret_qp);
	return bytes_end(&p, ret);
}

static int bytes_destroy_qp(void *self, uint64_t qp)
{
	return bytes_destroy(self, VRB_BYTES_DESTROY_QP, qp);
}

static int bytes_set_mcast(void *self, uint64_t qp, const uint8_t gid[16], bool leaves)
{
	struct passage p = bytes_begin(self, VRB_BYTES_SET_MCAST, ROOM);
	uint8_t copy[16];

	memcpy(copy, gid, sizeof(copy));
	vrb_pass_u64(&p.c, &qp);
	vrb_pass_bytes(&p.c, copy, sizeof(copy));
	vrb_pass_bool(&p.c, &leaves);
	return bytes_end(&p, carry(&p));
}

static int bytes_modify_qp(void *self, uint64_t qp, const struct hca_qp_attr *attr, uint32_t mask,
			   const struct vrb_av *av, enum hca_qp_state cur_state)
{
	struct passage p = bytes_begin(self, VRB_BYTES_MODIFY_QP, ROOM);
	struct hca_qp_attr attr_copy = *attr;
	struct vrb_av av_copy = *av;

	vrb_pass_u64(&p.c, &qp);
	vrb_pass_qp_attr(&p.c, &attr_copy);
	vrb_pass_u32(&p.c, &mask);
	vrb_pass_av(&p.c, &av_copy);
	VRB_PASS_INT(&p.c, &cur_state);
	return bytes_end(&p, carry(&p));
}

static int bytes_query_qp(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			  struct hca_qp_cap *ret_cap)
{
	struct passage p = bytes_begin(self, VRB_BYTES_QUERY_QP, ROOM);
	int ret;

	vrb_pass_u64(&p.c, &qp);
	ret = carry(&p);
	if (ret == 0) {
		vrb_pass_qp_attr(&p.c, ret_attr);
		vrb_pass_qp_cap(&p.c, ret_cap);
	}
	return bytes_end(&p, ret);
}

/* Of a list that is too long for any queue nothing is read: it may not be there. */
static uint32_t list_length(const struct vrb_bytes *bytes, uint32_t sge_count)
{
	return sge_count <= bytes->sge_max ? sge_count : 0;
}

static void pass_list(struct vrb_cursor *c, const struct hca_sge *sge, uint32_t count)
{
	vrb_pass_u32(c, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct hca_sge copy = sge[i];

		vrb_pass_sge(c, &copy);
	}
}

static uint32_t inline_length(const struct vrb_bytes *bytes, const struct hca_send_wr *wr)
{
	return vrb_bytes_inline(wr, wr->sge, list_length(bytes, wr->sge_count), bytes->inline_max);
}

/* The bytes themselves: their memory is the program's again when the call returns. */
static void pass_inline(struct vrb_cursor *c, const struct hca_send_wr *wr, uint32_t length)
{
	uint8_t *to = vrb_cursor_take(c, length);

	for (uint32_t i = 0; to && length > 0 && i < wr->sge_count; i++) {
		if (wr->sge[i].length > 0)
			memcpy(to, (const void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].length);
		to += wr->sge[i].length;
	}
}

static int bytes_advise_mr(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			   uint32_t count)
{
	struct passage p = bytes_begin(self, VRB_BYTES_ADVISE_MR, ROOM + (size_t)count * SGE_ROOM);

	vrb_pass_u64(&p.c, &pd);
	vrb_pass_bool(&p.c, &writes);
	pass_list(&p.c, sge, count);
	return bytes_end(&p, carry(&p));
}

/* The answer to a post says how far it came, whatever it returns. */
static int end_post(struct passage *p, uint32_t *ret_done)
{
	int ret = carry(p);

	*ret_done = 0;
	if (p->request)
		vrb_pass_u32(&p->c, ret_done);
	return bytes_end(p, ret);
}

static size_t requests_room(const struct vrb_bytes *bytes, const struct hca_send_wr *wr,
			    uint32_t count)
{
	size_t room = ROOM;

	for (uint32_t i = 0; i < count; i++)
		room += WR_ROOM + (size_t)list_length(bytes, wr[i].sge_count) * SGE_ROOM +
			inline_length(bytes, &wr[i]);
	return room;
}

static void pass_requests(struct passage *p, const struct hca_send_wr *wr, uint32_t count)
{
	vrb_pass_u32(&p->c, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct hca_send_wr copy = wr[i];
		bool has_path = wr[i].path != NULL;

		vrb_pass_send_wr(&p->c, &copy, &has_path);
		pass_list(&p->c, wr[i].sge, list_length(p->bytes, wr[i].sge_count));
		pass_inline(&p->c, &wr[i], inline_length(p->bytes, &wr[i]));
		if (has_path) {
			struct wire_path path = *wr[i].path;

			vrb_pass_path(&p->c, &path);
		}
	}
}

static int bytes_post_send(void *self, uint64_t qp, uint32_t listed, const struct hca_send_wr *wr,
			   uint32_t count, uint32_t *ret_done)
{
	struct passage p = bytes_begin(self, VRB_BYTES_POST_SEND, requests_room(self, wr, count));

	vrb_pass_u64(&p.c, &qp);
	vrb_pass_u32(&p.c, &listed);
	pass_requests(&p, wr, count);
	return end_post(&p, ret_done);
}

static int bytes_post_batch(void *self, uint64_t qp, const struct hca_send_wr *wr, uint32_t count)
{
	struct passage p = bytes_begin(self, VRB_BYTES_POST_BATCH, requests_room(self, wr, count));

	vrb_pass_u64(&p.c, &qp);
	pass_requests(&p, wr, count);
	return bytes_end(&p, carry(&p));
}

static int bytes_post_receives(void *self, enum vrb_bytes_call call, uint64_t queue,
			       uint32_t listed, const struct hca_recv_wr *wr, uint32_t count,
			       uint32_t *ret_done)
{
	struct passage p;
	size_t room = ROOM;

	for (uint32_t i = 0; i < count; i++)
		room += WR_ROOM + (size_t)list_length(self, wr[i].sge_count) * SGE_ROOM;
	p = bytes_begin(self, call, room);
	vrb_pass_u64(&p.c, &queue);
	vrb_pass_u32(&p.c, &listed);
	vrb_pass_u32(&p.c, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct hca_recv_wr copy = wr[i];

		vrb_pass_recv_wr(&p.c, &copy);
		pass_list(&p.c, wr[i].sge, list_length(self, wr[i].sge_count));
	}
	return end_post(&p, ret_done);
}

static int bytes_post_recv(void *self, uint64_t qp, uint32_t listed, const struct hca_recv_wr *wr,
			   uint32_t count, uint32_t *ret_done)
{
	return bytes_post_receives(self, VRB_BYTES_POST_RECV, qp, listed, wr, count, ret_done);
}

static int bytes_post_srq_recv(void *self, uint64_t srq, uint32_t listed,
			       const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done)
{
	return bytes_post_receives(self, VRB_BYTES_POST_SRQ_RECV, srq, listed, wr, count, ret_done);
}

void *vrb_bytes_create(const struct vrb_backend *inner, void *self)
{
	struct vrb_bytes *bytes = calloc(1, sizeof(*bytes));

	if (bytes)
		*bytes = (struct vrb_bytes){.inner = inner, .self = self};
	return bytes;
}

const struct vrb_backend vrb_bytes = {
	.name = "bytes",
	.attach = bytes_attach,
	.detach = bytes_detach,
	.open = bytes_open,
	.close = bytes_close,
	.query = bytes_query,
	.query_clock = bytes_query_clock,
	.query_gid = bytes_query_gid,
	.create_pd = bytes_create_pd,
	.destroy_pd = bytes_destroy_pd,
	.create_mr = bytes_create_mr,
	.change_mr = bytes_change_mr,
	.destroy_mr = bytes_destroy_mr,
	.create_mw = bytes_create_mw,
	.destroy_mw = bytes_destroy_mw,
	.advise_mr = bytes_advise_mr,
	.create_dm = bytes_create_dm,
	.destroy_dm = bytes_destroy_dm,
	.write_dm = bytes_write_dm,
	.read_dm = bytes_read_dm,
	.resolve_ah = bytes_resolve_ah,
	.create_channel = bytes_create_channel,
	.destroy_channel = bytes_destroy_channel,
	.wait_channel = bytes_wait_channel,
	.charge_event = bytes_charge_event,
	.refill = bytes_refill,
	.relax = bytes_relax,
	.create_cq = bytes_create_cq,
	.destroy_cq = bytes_destroy_cq,
	.poll_cq = bytes_poll_cq,
	.poll_stamped = bytes_poll_stamped,
	.arm_cq = bytes_arm_cq,
	.resize_cq = bytes_resize_cq,
	.moderate_cq = bytes_moderate_cq,
	.open_xrcd = bytes_open_xrcd,
	.close_xrcd = bytes_close_xrcd,
	.create_srq = bytes_create_srq,
	.destroy_srq = bytes_destroy_srq,
	.modify_srq = bytes_modify_srq,
	.query_srq = bytes_query_srq,
	.post_srq_recv = bytes_post_srq_recv,
	.create_qp = bytes_create_qp,
	.open_qp = bytes_open_qp,
	.destroy_qp = bytes_destroy_qp,
	.set_mcast = bytes_set_mcast,
	.modify_qp = bytes_modify_qp,
	.query_qp = bytes_query_qp,
	.post_send = bytes_post_send,
	.post_batch = bytes_post_batch,
	.post_recv = bytes_post_recv,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/record.h"

#include "transport/verbs/record_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recorder {
	const struct vrb_backend *inner;
	void *self; /* of @inner */
	struct vrb_record_file *file;
	char *folder;
	uint32_t sge_max;
};

static void record_note(const struct recorder *r, struct vrb_record *record)
{
	vrb_record_begin(r->file);
	vrb_record_add(r->file, record);
	vrb_record_done(r->file);
}

static int note_done(const struct recorder *r, int ret, enum vrb_record_kind kind, uint64_t object)
{
	struct vrb_record record = {.kind = kind, .object = object};

	if (ret == 0)
		record_note(r, &record);
	return ret;
}

/* Where the call is not kept. */
#define INNER(call)                                                                                \
	const struct recorder *const r = self;                                                     \
                                                                                                   \
	return r->inner->call

/* ---- the device ---- */

static int record_attach(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring)
{
	struct recorder *r = self;
	struct vrb_record_process process = {.gid_count = 0};
	struct vrb_limits limits = {.gid_places = 0};
	int ret = r->inner->attach(r->self, ret_info, ret_ring);

	if (ret != 0)
		return ret;
	r->sge_max = ret_info->sge_max;
	process.guid = ret_info->guid;
	(void)r->inner->query(r->self, &limits);
	for (uint32_t i = 0; i < limits.gid_places && process.gid_count < VRB_RECORD_GIDS; i++)
		if (r->inner->query_gid(r->self, i, process.gids[process.gid_count]) == 0)
			process.gid_count++;
	r->file = vrb_record_file_create(r->folder, &process);
	if (r->file)
		return 0;
	return -ENOMEM;
}

static void record_detach(void *self)
{
	struct recorder *r = self;

	r->inner->detach(r->self);
	vrb_record_file_destroy(r->file);
	free(r->folder);
	free(r);
}

static int record_open(void *self)
{
	const struct recorder *r = self;
	const int ret = r->inner->open(r->self);

	if (ret == 0)
		vrb_record_contexts(r->file, 1);
	return note_done(r, ret, VRB_RECORD_OPEN, 0);
}

static void record_close(void *self)
{
	const struct recorder *r = self;

	r->inner->close(r->self);
	note_done(r, 0, VRB_RECORD_CLOSE, 0);
	vrb_record_contexts(r->file, -1);
}

static int record_query(void *self, struct vrb_limits *ret_limits)
{
	INNER(query(r->self, ret_limits));
}

static int record_query_clock(void *self, uint64_t *ret_ns)
{
	INNER(query_clock(r->self, ret_ns));
}

static int record_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	INNER(query_gid(r->self, index, ret_gid));
}

/* ---- memory ---- */

static int record_create_pd(void *self, uint64_t *ret_pd)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_pd(r->self, ret_pd);

	return note_done(r, ret, VRB_RECORD_CREATE_PD, ret == 0 ? *ret_pd : 0);
}

static int record_destroy_pd(void *self, uint64_t pd)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_pd(r->self, pd), VRB_RECORD_DESTROY, pd);
}

static int record_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			    struct vrb_mr_info *ret_info)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_mr(r->self, pd, init, ret_info);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_MR, .pd = pd};

	if (ret != 0)
		return ret;
	record.object = ret_info->mr;
	record.mr.init = *init;
	record.mr.info = *ret_info;
	record_note(r, &record);
	return 0;
}

static int record_change_mr(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init)
{
	const struct recorder *r = self;
	const int ret = r->inner->change_mr(r->self, mr, pd, init);
	struct vrb_record record = {.kind = VRB_RECORD_CHANGE_MR, .object = mr, .pd = pd};

	record.mr.init = *init;
	if (ret == 0)
		record_note(r, &record);
	return ret;
}

static int record_destroy_mr(void *self, uint64_t mr)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_mr(r->self, mr), VRB_RECORD_DESTROY, mr);
}

static int record_create_mw(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			    uint32_t *ret_rkey)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_mw(r->self, pd, type, ret_mw, ret_rkey);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_MW, .pd = pd, .flags = type};

	if (ret != 0)
		return ret;
	record.object = *ret_mw;
	record.number = *ret_rkey;
	record_note(r, &record);
	return 0;
}

static int record_destroy_mw(void *self, uint64_t mw)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_mw(r->self, mw), VRB_RECORD_DESTROY, mw);
}

static int record_advise_mr(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			    uint32_t count)
{
	INNER(advise_mr(r->self, pd, writes, sge, count));
}

static int record_create_dm(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_dm(r->self, length, log_align, ret_dm);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_DM};

	if (ret != 0)
		return ret;
	record.object = *ret_dm;
	record.mr.init.length = length;
	record_note(r, &record);
	return 0;
}

static int record_destroy_dm(void *self, uint64_t dm)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_dm(r->self, dm), VRB_RECORD_DESTROY, dm);
}

static int record_write_dm(void *self, uint64_t dm, uint64_t offset, const void *bytes,
			   uint64_t length)
{
	INNER(write_dm(r->self, dm, offset, bytes, length));
}

static int record_read_dm(void *self, uint64_t dm, uint64_t offset, void *ret_bytes,
			  uint64_t length)
{
	INNER(read_dm(r->self, dm, offset, ret_bytes, length));
}

static int record_resolve_ah(void *self, const struct vrb_av *av, struct wire_path *ret_path)
{
	const struct recorder *r = self;
	const int ret = r->inner->resolve_ah(r->self, av, ret_path);
	struct vrb_record record = {.kind = VRB_RECORD_AH, .av = *av};

	if (ret != 0)
		return ret;
	memcpy(record.gid, ret_path->dst_ip, sizeof(record.gid));
	record_note(r, &record);
	return 0;
}

/* ---- events ---- */

static int record_create_channel(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
				 int *ret_fd)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_channel(r->self, use, ret_channel, ret_fd);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_CHANNEL, .flags = use};

	if (ret != 0)
		return ret;
	record.object = *ret_channel;
	record_note(r, &record);
	return 0;
}

static int record_destroy_channel(void *self, uint64_t channel)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_channel(r->self, channel), VRB_RECORD_DESTROY,
			 channel);
}

static int record_wait_channel(void *self, uint64_t channel, uint32_t *seen)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->wait_channel(r->self, channel, seen), VRB_RECORD_WAIT,
			 channel);
}

static void record_charge_event(void *self)
{
	const struct recorder *r = self;

	r->inner->charge_event(r->self);
}

static void record_refill(void *self)
{
	const struct recorder *r = self;

	r->inner->refill(r->self);
}

static void record_relax(void *self, uint64_t cq)
{
	const struct recorder *r = self;

	r->inner->relax(r->self, cq);
}

/* ---- completion queues ---- */

static int record_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			    uint32_t *ret_depth)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_cq(r->self, init, ret_cq, ret_depth);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_CQ, .cq = *init};

	if (ret != 0)
		return ret;
	record.object = *ret_cq;
	record.number = *ret_depth;
	record_note(r, &record);
	return 0;
}

static int record_destroy_cq(void *self, uint64_t cq)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_cq(r->self, cq), VRB_RECORD_DESTROY, cq);
}

static int record_poll_cq(void *self, uint64_t cq, uint32_t count, struct ibv_wc *ret_wc)
{
	const struct recorder *r = self;
	const int got = r->inner->poll_cq(r->self, cq, count, ret_wc);
	struct vrb_record record = {.kind = VRB_RECORD_POLL, .object = cq};

	if (got <= 0)
		return got;
	vrb_record_begin(r->file);
	for (int i = 0; i < got; i++) {
		record.wc = ret_wc[i];
		record.chained = i + 1 < got;
		vrb_record_add(r->file, &record);
	}
	vrb_record_done(r->file);
	return got;
}

static int record_poll_stamped(void *self, uint64_t cq, bool may_wait, struct vrb_stamped *ret_wc)
{
	const struct recorder *r = self;
	const int got = r->inner->poll_stamped(r->self, cq, may_wait, ret_wc);
	struct vrb_record record = {.kind = VRB_RECORD_POLL, .object = cq};

	if (got <= 0)
		return got;
	record.wc = ret_wc->wc;
	record_note(r, &record);
	return got;
}

static int record_arm_cq(void *self, uint64_t cq, bool solicited_only)
{
	const struct recorder *r = self;
	const int ret = r->inner->arm_cq(r->self, cq, solicited_only);
	struct vrb_record record = {
		.kind = VRB_RECORD_ARM, .object = cq, .flags = solicited_only ? 1 : 0};

	if (ret == 0)
		record_note(r, &record);
	return ret;
}

static int record_resize_cq(void *self, uint64_t cq, uint32_t depth, uint32_t *ret_depth)
{
	const struct recorder *r = self;
	const int ret = r->inner->resize_cq(r->self, cq, depth, ret_depth);
	struct vrb_record record = {.kind = VRB_RECORD_RESIZE, .object = cq, .number = depth};

	if (ret == 0)
		record_note(r, &record);
	return ret;
}

static int record_moderate_cq(void *self, uint64_t cq, uint32_t count, uint32_t after_us)
{
	const struct recorder *r = self;
	const int ret = r->inner->moderate_cq(r->self, cq, count, after_us);
	struct vrb_record record = {
		.kind = VRB_RECORD_MODERATE, .object = cq, .number = count, .flags = after_us};

	if (ret == 0)
		record_note(r, &record);
	return ret;
}

/* ---- queues ---- */

static int record_open_xrcd(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd)
{
	const struct recorder *r = self;
	const int ret = r->inner->open_xrcd(r->self, init, ret_xrcd);
	struct vrb_record record = {.kind = VRB_RECORD_OPEN_XRCD, .xrcd = *init};

	if (ret != 0)
		return ret;
	record.object = *ret_xrcd;
	record_note(r, &record);
	return 0;
}

static int record_close_xrcd(void *self, uint64_t xrcd)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->close_xrcd(r->self, xrcd), VRB_RECORD_DESTROY, xrcd);
}

static int record_create_srq(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			     uint32_t *ret_number)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_srq(r->self, init, ret_srq, ret_number);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_SRQ, .srq = *init};

	if (ret != 0)
		return ret;
	record.object = *ret_srq;
	record.number = *ret_number;
	record_note(r, &record);
	return 0;
}

static int record_destroy_srq(void *self, uint64_t srq)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_srq(r->self, srq), VRB_RECORD_DESTROY, srq);
}

static int record_modify_srq(void *self, uint64_t srq, const struct hca_srq_attr *attr,
			     uint32_t mask)
{
	const struct recorder *r = self;
	const int ret = r->inner->modify_srq(r->self, srq, attr, mask);
	struct vrb_record record = {
		.kind = VRB_RECORD_MODIFY_SRQ, .object = srq, .srq_attr = *attr, .flags = mask};

	if (ret == 0)
		record_note(r, &record);
	return ret;
}

static int record_query_srq(void *self, uint64_t srq, struct hca_srq_attr *ret_attr)
{
	INNER(query_srq(r->self, srq, ret_attr));
}

static int record_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			    uint32_t *ret_qpn)
{
	const struct recorder *r = self;
	const int ret = r->inner->create_qp(r->self, init, ret_qp, ret_qpn);
	struct vrb_record record = {.kind = VRB_RECORD_CREATE_QP, .qp = *init};

	if (ret != 0)
		return ret;
	record.object = *ret_qp;
	record.number = *ret_qpn;
	record_note(r, &record);
	return 0;
}

static int record_open_qp(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp)
{
	const struct recorder *r = self;
	const int ret = r->inner->open_qp(r->self, open, ret_qp);
	struct vrb_record record = {.kind = VRB_RECORD_OPEN_QP, .number = open->qpn};

	if (ret != 0)
		return ret;
	record.object = *ret_qp;
	record.pd = open->xrcd;
	record_note(r, &record);
	return 0;
}

static int record_destroy_qp(void *self, uint64_t qp)
{
	const struct recorder *r = self;

	return note_done(r, r->inner->destroy_qp(r->self, qp), VRB_RECORD_DESTROY, qp);
}

static int record_modify_qp(void *self, uint64_t qp, const struct hca_qp_attr *attr, uint32_t mask,
			    const struct vrb_av *av, enum hca_qp_state cur_state)
{
	const struct recorder *r = self;
	const int ret = r->inner->modify_qp(r->self, qp, attr, mask, av, cur_state);
	struct vrb_record record = {.kind = VRB_RECORD_MODIFY_QP, .object = qp};

	if (ret != 0)
		return ret;
	record.modify.attr = *attr;
	record.modify.mask = mask;
	if (mask & HCA_QP_AV)
		record.modify.av = *av;
	if (mask & HCA_QP_CUR_STATE)
		record.modify.cur_state = cur_state;
	record_note(r, &record);
	return 0;
}

static int record_query_qp(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			   struct hca_qp_cap *ret_cap)
{
	INNER(query_qp(r->self, qp, ret_attr, ret_cap));
}

/* ---- requests ---- */

/* A list that is longer than any may be refuses its request, and is not read. */
static void keep_list(const struct recorder *r, struct vrb_record *record,
		      const struct hca_sge *sges, uint32_t count)
{
	const uint32_t kept = count <= r->sge_max && count <= VRB_RECORD_SGES ? count : 0;

	record->send.wr.sge_count = kept;
	if (kept > 0)
		memcpy(record->send.sges, sges, kept * sizeof(*sges));
}

static void keep_sends(const struct recorder *r, uint64_t qp, const struct hca_send_wr *wr,
		       uint32_t count)
{
	struct vrb_record record = {.kind = VRB_RECORD_SEND, .object = qp};

	vrb_record_begin(r->file);
	for (uint32_t i = 0; i < count; i++) {
		record.chained = i + 1 < count;
		record.send.wr = wr[i];
		record.send.has_path = wr[i].path != NULL;
		if (wr[i].path)
			memcpy(record.gid, wr[i].path->dst_ip, sizeof(record.gid));
		keep_list(r, &record, wr[i].sge, wr[i].sge_count);
		vrb_record_add(r->file, &record);
	}
	vrb_record_done(r->file);
}

static void keep_refusal(const struct recorder *r, uint64_t queue, uint32_t count, uint32_t done)
{
	struct vrb_record record = {
		.kind = VRB_RECORD_REFUSED, .object = queue, .number = done, .flags = count};

	if (done < count)
		record_note(r, &record);
}

static int record_post_send(void *self, uint64_t qp, uint32_t listed, const struct hca_send_wr *wr,
			    uint32_t count, uint32_t *ret_done)
{
	const struct recorder *r = self;
	int ret;

	keep_sends(r, qp, wr, count);
	ret = r->inner->post_send(r->self, qp, listed, wr, count, ret_done);
	keep_refusal(r, qp, count, *ret_done);
	return ret;
}

static int record_post_batch(void *self, uint64_t qp, const struct hca_send_wr *wr, uint32_t count)
{
	const struct recorder *r = self;
	int ret;

	keep_sends(r, qp, wr, count);
	ret = r->inner->post_batch(r->self, qp, wr, count);
	keep_refusal(r, qp, count, ret == 0 ? count : 0);
	return ret;
}

static void keep_receives(const struct recorder *r, enum vrb_record_kind kind, uint64_t queue,
			  const struct hca_recv_wr *wr, uint32_t count)
{
	struct vrb_record record = {.kind = kind, .object = queue};

	vrb_record_begin(r->file);
	for (uint32_t i = 0; i < count; i++) {
		record.chained = i + 1 < count;
		record.send.wr.wr_id = wr[i].wr_id;
		keep_list(r, &record, wr[i].sge, wr[i].sge_count);
		vrb_record_add(r->file, &record);
	}
	vrb_record_done(r->file);
}

static int record_post_recv(void *self, uint64_t qp, uint32_t listed, const struct hca_recv_wr *wr,
			    uint32_t count, uint32_t *ret_done)
{
	const struct recorder *r = self;
	int ret;

	keep_receives(r, VRB_RECORD_RECV, qp, wr, count);
	ret = r->inner->post_recv(r->self, qp, listed, wr, count, ret_done);
	keep_refusal(r, qp, count, *ret_done);
	return ret;
}

static int record_post_srq_recv(void *self, uint64_t srq, uint32_t listed,
				const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done)
{
	const struct recorder *r = self;
	int ret;

	keep_receives(r, VRB_RECORD_SRQ_RECV, srq, wr, count);
	ret = r->inner->post_srq_recv(r->self, srq, listed, wr, count, ret_done);
	keep_refusal(r, srq, count, *ret_done);
	return ret;
}

const struct vrb_backend vrb_record_ops = {
	.name = "record",
	.attach = record_attach,
	.detach = record_detach,
	.open = record_open,
	.close = record_close,
	.query = record_query,
	.query_clock = record_query_clock,
	.query_gid = record_query_gid,
	.create_pd = record_create_pd,
	.destroy_pd = record_destroy_pd,
	.create_mr = record_create_mr,
	.change_mr = record_change_mr,
	.destroy_mr = record_destroy_mr,
	.create_mw = record_create_mw,
	.destroy_mw = record_destroy_mw,
	.advise_mr = record_advise_mr,
	.create_dm = record_create_dm,
	.destroy_dm = record_destroy_dm,
	.write_dm = record_write_dm,
	.read_dm = record_read_dm,
	.resolve_ah = record_resolve_ah,
	.create_channel = record_create_channel,
	.destroy_channel = record_destroy_channel,
	.wait_channel = record_wait_channel,
	.charge_event = record_charge_event,
	.refill = record_refill,
	.relax = record_relax,
	.create_cq = record_create_cq,
	.destroy_cq = record_destroy_cq,
	.poll_cq = record_poll_cq,
	.poll_stamped = record_poll_stamped,
	.arm_cq = record_arm_cq,
	.resize_cq = record_resize_cq,
	.moderate_cq = record_moderate_cq,
	.open_xrcd = record_open_xrcd,
	.close_xrcd = record_close_xrcd,
	.create_srq = record_create_srq,
	.destroy_srq = record_destroy_srq,
	.modify_srq = record_modify_srq,
	.query_srq = record_query_srq,
	.post_srq_recv = record_post_srq_recv,
	.create_qp = record_create_qp,
	.open_qp = record_open_qp,
	.destroy_qp = record_destroy_qp,
	.modify_qp = record_modify_qp,
	.query_qp = record_query_qp,
	.post_send = record_post_send,
	.post_batch = record_post_batch,
	.post_recv = record_post_recv,
};

void *vrb_record_create(const struct vrb_backend *inner, void *self, const char *folder)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (r)
		r->folder = strdup(folder);
	if (!r || !r->folder) {
		free(r);
		return NULL;
	}
	r->inner = inner;
	r->self = self;
	return r;
}

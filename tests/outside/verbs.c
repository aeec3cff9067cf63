/* SPDX-License-Identifier: BSD-2-Clause */

/* Which verbs whoever runs this serves, asked by calling them: a line "verb NAME ANSWER" each,
 * where ANSWER is "served" or the errno, and "limit NAME VALUE". One rank, whose queue pairs are
 * connected to themselves. docs/verbs.md is made of it. */
#define _GNU_SOURCE /* strerrorname_np() */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <verbena/program.h>

enum { BYTES = 65536, ALL = 0x3f };

struct probe {
	const struct vb_prog *prog;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_xrcd *xrcd;
	union ibv_gid gid;
	char *memory;
};

static void say(const struct probe *probe, const char *kind, const char *name, const char *answer)
{
	char line[160];

	snprintf(line, sizeof(line), "%s %s %s", kind, name, answer);
	probe->prog->say(probe->prog, line);
}

static void verb(const struct probe *probe, const char *name, int error)
{
	say(probe, "verb", name, error ? strerrorname_np(error) : "served");
}

/* Of a call that gives a pointer, or a number that is negative where it fails. */
static bool gave(const struct probe *probe, const char *name, bool ok)
{
	verb(probe, name, ok ? 0 : errno ? errno : EINVAL);
	errno = 0;
	return ok;
}

static void limit(const struct probe *probe, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	say(probe, "limit", name, text);
}

/* ---- devices ---- */

static bool probe_device(struct probe *probe)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!gave(probe, "ibv_get_device_list", list && list[0]))
		return false;
	gave(probe, "ibv_get_device_name", ibv_get_device_name(list[0]) != NULL);
	gave(probe, "ibv_get_device_guid", ibv_get_device_guid(list[0]) != 0);
	say(probe, "verb", "ibv_get_device_index",
	    ibv_get_device_index(list[0]) < 0 ? "unknown" : "served");
	probe->context = ibv_open_device(list[0]);
	gave(probe, "ibv_open_device", probe->context != NULL);
	ibv_free_device_list(list);
	gave(probe, "ibv_free_device_list", true);
	return probe->context != NULL;
}

static void probe_limits(const struct probe *probe)
{
	struct ibv_device_attr_ex all;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	verb(probe, "ibv_query_device", ibv_query_device(probe->context, &attr));
	verb(probe, "ibv_query_device_ex", ibv_query_device_ex(probe->context, NULL, &all));
	verb(probe, "ibv_query_port", ibv_query_port(probe->context, 1, &port));
	limit(probe, "max_qp", attr.max_qp);
	limit(probe, "max_qp_wr", attr.max_qp_wr);
	limit(probe, "max_sge", attr.max_sge);
	limit(probe, "max_sge_rd", attr.max_sge_rd);
	limit(probe, "max_cq", attr.max_cq);
	limit(probe, "max_cqe", attr.max_cqe);
	limit(probe, "max_mr", attr.max_mr);
	limit(probe, "max_mw", attr.max_mw);
	limit(probe, "max_pd", attr.max_pd);
	limit(probe, "max_ah", attr.max_ah);
	limit(probe, "max_srq", attr.max_srq);
	limit(probe, "max_srq_wr", attr.max_srq_wr);
	limit(probe, "max_srq_sge", attr.max_srq_sge);
	limit(probe, "max_qp_rd_atom", attr.max_qp_rd_atom);
	limit(probe, "max_qp_init_rd_atom", attr.max_qp_init_rd_atom);
	limit(probe, "max_mcast_grp", attr.max_mcast_grp);
	limit(probe, "max_mr_size", attr.max_mr_size);
	limit(probe, "max_pkeys", attr.max_pkeys);
	limit(probe, "max_dm_size", all.max_dm_size);
	limit(probe, "max_msg_sz", port.max_msg_sz);
	limit(probe, "gid_tbl_len", port.gid_tbl_len);
	limit(probe, "max_mtu", 128u << port.max_mtu);
}

static void probe_port(struct probe *probe)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_gid_entry entries[16];
	struct ibv_context *other;
	__be16 pkey = 0;

	verb(probe, "ibv_query_gid", ibv_query_gid(probe->context, 1, 0, &probe->gid));
	verb(probe, "ibv_query_gid_ex", ibv_query_gid_ex(probe->context, 1, 0, entries, 0));
	gave(probe, "ibv_query_gid_table", ibv_query_gid_table(probe->context, entries, 16, 0) > 0);
	verb(probe, "ibv_query_pkey", ibv_query_pkey(probe->context, 1, 0, &pkey));
	gave(probe, "ibv_get_pkey_index", ibv_get_pkey_index(probe->context, 1, pkey) == 0);
	verb(probe, "ibv_query_rt_values_ex", ibv_query_rt_values_ex(probe->context, &values));
	verb(probe, "ibv_fork_init", ibv_fork_init());
	ibv_is_fork_initialized();
	gave(probe, "ibv_is_fork_initialized", true);
	other = ibv_import_device(dup(probe->context->cmd_fd));
	if (gave(probe, "ibv_import_device", other != NULL))
		ibv_close_device(other);
}

/* ---- memory ---- */

static void probe_regions(struct probe *probe)
{
	static const struct {
		const char *name;
		int flags;
	} kinds[] = {
		{"ibv_reg_mr: remote write, read",
		 ALL & ~IBV_ACCESS_MW_BIND & ~IBV_ACCESS_ZERO_BASED},
		{"ibv_reg_mr: IBV_ACCESS_MW_BIND", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND},
		{"ibv_reg_mr: IBV_ACCESS_ZERO_BASED", IBV_ACCESS_ZERO_BASED},
		{"ibv_reg_mr: IBV_ACCESS_ON_DEMAND", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND},
		{"ibv_reg_mr: IBV_ACCESS_HUGETLB", IBV_ACCESS_HUGETLB},
		{"ibv_reg_mr: IBV_ACCESS_RELAXED_ORDERING", IBV_ACCESS_RELAXED_ORDERING}};
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		mr = ibv_reg_mr(probe->pd, probe->memory, BYTES, kinds[i].flags);
		if (gave(probe, kinds[i].name, mr != NULL))
			ibv_dereg_mr(mr);
	}
	mr = ibv_reg_mr(probe->pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (gave(probe, "ibv_reg_mr: all memory, on demand", mr != NULL))
		ibv_dereg_mr(mr);
	mr = ibv_reg_mr_iova(probe->pd, probe->memory, BYTES, 4096, IBV_ACCESS_LOCAL_WRITE);
	if (gave(probe, "ibv_reg_mr_iova", mr != NULL))
		verb(probe, "ibv_dereg_mr", ibv_dereg_mr(mr));
	mr = ibv_alloc_null_mr(probe->pd);
	if (gave(probe, "ibv_alloc_null_mr", mr != NULL))
		ibv_dereg_mr(mr);
	/* What is no dma-buf is refused in any case: only EOPNOTSUPP says that there is no such
	 * call. */
	mr = ibv_reg_dmabuf_mr(probe->pd, 0, BYTES, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	verb(probe, "ibv_reg_dmabuf_mr", mr || errno != EOPNOTSUPP ? 0 : errno);
	mr = ibv_import_mr(probe->pd, probe->mr->handle);
	if (gave(probe, "ibv_import_mr", mr != NULL))
		ibv_unimport_mr(mr);
	pd = ibv_import_pd(probe->context, probe->pd->handle);
	if (gave(probe, "ibv_import_pd", pd != NULL))
		ibv_unimport_pd(pd);
	ibv_import_dm(probe->context, 0);
	gave(probe, "ibv_import_dm", errno == ENOENT);
	verb(probe, "ibv_rereg_mr",
	     ibv_rereg_mr(probe->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				  IBV_ACCESS_MW_BIND));
}

static void probe_memory(struct probe *probe)
{
	struct ibv_alloc_dm_attr dm_attr = {.length = 256};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_td *td = ibv_alloc_td(probe->context, &td_attr);
	struct ibv_parent_domain_init_attr parent = {.pd = probe->pd, .td = td};
	struct ibv_sge sge = {(uintptr_t)probe->memory, BYTES, 0};
	struct ibv_pd *domain;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	gave(probe, "ibv_alloc_td", td != NULL);
	domain = td ? ibv_alloc_parent_domain(probe->context, &parent) : NULL;
	if (gave(probe, "ibv_alloc_parent_domain", domain != NULL))
		ibv_dealloc_pd(domain);
	if (td)
		verb(probe, "ibv_dealloc_td", ibv_dealloc_td(td));
	mr = ibv_reg_mr(probe->pd, probe->memory, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	sge.lkey = mr ? mr->lkey : 0;
	verb(probe, "ibv_advise_mr",
	     ibv_advise_mr(probe->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1));
	if (mr)
		ibv_dereg_mr(mr);
	dm = ibv_alloc_dm(probe->context, &dm_attr);
	if (gave(probe, "ibv_alloc_dm", dm != NULL)) {
		verb(probe, "ibv_memcpy_to_dm", ibv_memcpy_to_dm(dm, 0, probe->memory, 64));
		verb(probe, "ibv_memcpy_from_dm", ibv_memcpy_from_dm(probe->memory, dm, 0, 64));
		mr = ibv_reg_dm_mr(probe->pd, dm, 0, 256,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
		if (gave(probe, "ibv_reg_dm_mr", mr != NULL))
			ibv_dereg_mr(mr);
		verb(probe, "ibv_free_dm", ibv_free_dm(dm));
	}
	mw = ibv_alloc_mw(probe->pd, IBV_MW_TYPE_1);
	if (gave(probe, "ibv_alloc_mw: type 1", mw != NULL))
		verb(probe, "ibv_dealloc_mw", ibv_dealloc_mw(mw));
	mw = ibv_alloc_mw(probe->pd, IBV_MW_TYPE_2);
	if (gave(probe, "ibv_alloc_mw: type 2", mw != NULL))
		ibv_dealloc_mw(mw);
}

/* ---- queues ---- */

static void probe_extended_cqs(struct probe *probe)
{
	static const struct {
		const char *name;
		uint64_t flags;
	} kinds[] = {
		{"ibv_create_cq_ex: standard fields", IBV_WC_STANDARD_FLAGS},
		{"ibv_create_cq_ex: completion timestamp", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
		{"ibv_create_cq_ex: wall clock", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK},
		{"ibv_create_cq_ex: customer VLAN", IBV_WC_EX_WITH_CVLAN},
		{"ibv_create_cq_ex: flow tag", IBV_WC_EX_WITH_FLOW_TAG},
		{"ibv_create_cq_ex: tag matching", IBV_WC_EX_WITH_TM_INFO}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct ibv_cq_init_attr_ex attr = {.cqe = 16, .wc_flags = kinds[i].flags};
		struct ibv_cq_ex *cq = ibv_create_cq_ex(probe->context, &attr);

		if (!gave(probe, kinds[i].name, cq != NULL))
			continue;
		if (i == 0) { /* ENOENT: it is empty */
			struct ibv_poll_cq_attr poll = {0};
			const int ret = ibv_start_poll(cq, &poll);

			verb(probe, "ibv_start_poll", ret == ENOENT ? 0 : ret);
		}
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
}

static void probe_cqs(struct probe *probe)
{
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					      .moderate = {.cq_count = 2, .cq_period = 4}};
	struct ibv_comp_channel *channel = ibv_create_comp_channel(probe->context);
	struct ibv_cq *cq = ibv_create_cq(probe->context, 16, NULL, channel, 0);

	gave(probe, "ibv_create_comp_channel", channel != NULL);
	gave(probe, "ibv_create_cq", cq != NULL);
	verb(probe, "ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
	verb(probe, "ibv_resize_cq", ibv_resize_cq(cq, 64));
	verb(probe, "ibv_modify_cq", ibv_modify_cq(cq, &moderate));
	verb(probe, "ibv_destroy_cq", ibv_destroy_cq(cq));
	verb(probe, "ibv_destroy_comp_channel", ibv_destroy_comp_channel(channel));
	probe_extended_cqs(probe);
}

static void probe_srqs(struct probe *probe)
{
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
					       .fd = -1,
					       .oflags = O_CREAT};
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq_init_attr_ex more = {
		.attr = attr.attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = probe->pd,
		.cq = probe->cq};
	struct ibv_srq_attr limits = {.srq_limit = 4};
	struct ibv_sge sge = {(uintptr_t)probe->memory, 64, probe->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_srq *srq = ibv_create_srq(probe->pd, &attr);
	uint32_t number;

	if (gave(probe, "ibv_create_srq", srq != NULL)) {
		verb(probe, "ibv_modify_srq", ibv_modify_srq(srq, &limits, IBV_SRQ_LIMIT));
		verb(probe, "ibv_query_srq", ibv_query_srq(srq, &limits));
		verb(probe, "ibv_post_srq_recv", ibv_post_srq_recv(srq, &wr, &bad));
		verb(probe, "ibv_destroy_srq", ibv_destroy_srq(srq));
	}
	probe->xrcd = ibv_open_xrcd(probe->context, &xrcd_attr);
	gave(probe, "ibv_open_xrcd", probe->xrcd != NULL);
	more.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	more.xrcd = probe->xrcd;
	srq = ibv_create_srq_ex(probe->context, &more);
	if (gave(probe, "ibv_create_srq_ex: XRC", srq != NULL)) {
		verb(probe, "ibv_get_srq_num", ibv_get_srq_num(srq, &number));
		ibv_destroy_srq(srq);
	}
	more.srq_type = IBV_SRQT_TM;
	more.comp_mask =
		(more.comp_mask & ~(uint32_t)IBV_SRQ_INIT_ATTR_XRCD) | IBV_SRQ_INIT_ATTR_TM;
	more.tm_cap = (struct ibv_tm_cap){.max_num_tags = 4, .max_ops = 4};
	srq = ibv_create_srq_ex(probe->context, &more);
	if (gave(probe, "ibv_create_srq_ex: tag matching", srq != NULL))
		ibv_destroy_srq(srq);
}

/* ---- queue pairs ---- */

static struct ibv_qp *make_qp(const struct probe *probe, enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = type,
					   .send_cq = probe->cq,
					   .recv_cq = probe->cq,
					   .cap = {16, 16, 2, 2, 64},
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = probe->pd,
					   .send_ops_flags = send_ops};

	if (type == IBV_QPT_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){
			.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = probe->xrcd};
	if (type == IBV_QPT_XRC_SEND)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0, init.recv_cq = NULL;
	if (send_ops)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	return ibv_create_qp_ex(probe->context, &init);
}

static void probe_kinds(struct probe *probe)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
		uint64_t send_ops;
	} kinds[] = {{"ibv_create_qp: RC", IBV_QPT_RC, 0},
		     {"ibv_create_qp: UC", IBV_QPT_UC, 0},
		     {"ibv_create_qp: UD", IBV_QPT_UD, 0},
		     {"ibv_create_qp_ex: XRC_SEND", IBV_QPT_XRC_SEND, 0},
		     {"ibv_create_qp_ex: XRC_RECV", IBV_QPT_XRC_RECV, 0},
		     {"ibv_create_qp: RAW_PACKET", IBV_QPT_RAW_PACKET, 0},
		     {"ibv_create_qp: DRIVER", IBV_QPT_DRIVER, 0},
		     {"ibv_wr_rdma_write", IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE},
		     {"ibv_wr_rdma_write_imm", IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM},
		     {"ibv_wr_send", IBV_QPT_RC, IBV_QP_EX_WITH_SEND},
		     {"ibv_wr_send_imm", IBV_QPT_RC, IBV_QP_EX_WITH_SEND_WITH_IMM},
		     {"ibv_wr_send_inv", IBV_QPT_RC, IBV_QP_EX_WITH_SEND_WITH_INV},
		     {"ibv_wr_rdma_read", IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_READ},
		     {"ibv_wr_atomic_cmp_swp", IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP},
		     {"ibv_wr_atomic_fetch_add", IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD},
		     {"ibv_wr_local_inv", IBV_QPT_RC, IBV_QP_EX_WITH_LOCAL_INV},
		     {"ibv_wr_bind_mw", IBV_QPT_RC, IBV_QP_EX_WITH_BIND_MW},
		     {"ibv_wr_send_tso", IBV_QPT_UD, IBV_QP_EX_WITH_TSO},
		     {"ibv_wr_atomic_write", IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct ibv_qp *qp = make_qp(probe, kinds[i].type, kinds[i].send_ops);

		if (gave(probe, kinds[i].name, qp != NULL))
			ibv_destroy_qp(qp);
	}
}

/* Connected to itself; false: not. */
static bool to_rts(struct probe *probe, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags =
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
					   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND};
	int ret = ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = probe->gid, .hop_limit = 64}},
	};
	ret = ret ? ret
		  : ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1};
	ret = ret ? ret
		  : ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					  IBV_QP_MAX_QP_RD_ATOMIC);
	verb(probe, "ibv_modify_qp: to RTS", ret);
	return ret == 0;
}

/* The next completion of a request of a send queue. */
static enum ibv_wc_status wait_for_send(const struct probe *probe)
{
	struct ibv_wc wc;

	do
		while (ibv_poll_cq(probe->cq, 1, &wc) == 0)
			;
	while (wc.wr_id != 1);
	return wc.status;
}

static void probe_requests(struct probe *probe, struct ibv_qp *qp)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
		uint32_t bytes;
	} kinds[] = {{"ibv_post_send: SEND", IBV_WR_SEND, 64},
		     {"ibv_post_send: SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, 64},
		     {"ibv_post_send: RDMA_WRITE", IBV_WR_RDMA_WRITE, 64},
		     {"ibv_post_send: RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, 64},
		     {"ibv_post_send: RDMA_READ", IBV_WR_RDMA_READ, 64},
		     {"ibv_post_send: ATOMIC_CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, 8},
		     {"ibv_post_send: ATOMIC_FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, 8},
		     {"ibv_post_send: ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE, 8},
		     {"ibv_post_send: TSO", IBV_WR_TSO, 64},
		     {"ibv_post_send: DRIVER1", IBV_WR_DRIVER1, 64}};
	struct ibv_sge sge = {(uintptr_t)probe->memory + 4096, 64, probe->mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr *bad;

	verb(probe, "ibv_post_recv", ibv_post_recv(qp, &recv, &bad_recv));
	for (int i = 1; i < 4; i++)
		ibv_post_recv(qp, &recv, &bad_recv);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const bool is_atomic = kinds[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
				       kinds[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		struct ibv_sge from = {(uintptr_t)probe->memory, kinds[i].bytes, probe->mr->lkey};
		struct ibv_send_wr wr = {
			.wr_id = 1,
			.sg_list = &from,
			.num_sge = 1,
			.opcode = kinds[i].opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {(uintptr_t)probe->memory + 8192, probe->mr->rkey}};
		int ret;

		if (is_atomic) {
			wr.wr.atomic.remote_addr = (uintptr_t)probe->memory + 8192;
			wr.wr.atomic.rkey = probe->mr->rkey;
		}
		ret = ibv_post_send(qp, &wr, &bad);
		if (ret == 0 && wait_for_send(probe) != IBV_WC_SUCCESS)
			ret = EIO;
		verb(probe, kinds[i].name, ret);
	}
	verb(probe, "ibv_poll_cq", 0);
}

static int do_request(const struct probe *probe, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int ret;

	wr->wr_id = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	ret = ibv_post_send(qp, wr, &bad);
	return ret ? ret : wait_for_send(probe) == IBV_WC_SUCCESS ? 0 : EIO;
}

static void probe_windows(struct probe *probe, struct ibv_qp *qp)
{
	struct ibv_mw_bind_info info = {probe->mr, (uintptr_t)probe->memory, 4096,
					IBV_ACCESS_REMOTE_WRITE};
	struct ibv_mw_bind bind = {.wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
	struct ibv_mw *first = ibv_alloc_mw(probe->pd, IBV_MW_TYPE_1);
	struct ibv_mw *second = ibv_alloc_mw(probe->pd, IBV_MW_TYPE_2);
	struct ibv_sge sge = {(uintptr_t)probe->memory, 64, probe->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .bind_mw = {second, 0, info}};
	int ret = first ? ibv_bind_mw(qp, first, &bind) : EINVAL;

	if (ret == 0 && wait_for_send(probe) != IBV_WC_SUCCESS)
		ret = EIO;
	verb(probe, "ibv_bind_mw", ret);
	if (!second)
		return;
	wr.bind_mw.rkey = ibv_inc_rkey(second->rkey);
	verb(probe, "ibv_post_send: BIND_MW", do_request(probe, qp, &wr));
	second->rkey = wr.bind_mw.rkey;
	wr = (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_INV,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .invalidate_rkey = second->rkey};
	verb(probe, "ibv_post_send: SEND_WITH_INV", do_request(probe, qp, &wr));
	wr = (struct ibv_send_wr){.opcode = IBV_WR_BIND_MW, .bind_mw = {second, 0, info}};
	wr.bind_mw.rkey = ibv_inc_rkey(second->rkey);
	ret = do_request(probe, qp, &wr);
	second->rkey = wr.bind_mw.rkey;
	wr = (struct ibv_send_wr){.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = second->rkey};
	verb(probe, "ibv_post_send: LOCAL_INV", ret ? ret : do_request(probe, qp, &wr));
	ibv_dealloc_mw(second);
	if (first)
		ibv_dealloc_mw(first);
}

static void probe_events(struct probe *probe, struct ibv_qp *qp)
{
	struct ibv_sge sge = {(uintptr_t)probe->memory, 64, probe->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.rdma = {(uintptr_t)probe->memory + 8192, probe->mr->rkey}};
	struct ibv_cq *cq;
	void *context;
	int ret = ibv_req_notify_cq(probe->cq, 0);

	ret = ret ? ret : do_request(probe, qp, &wr);
	gave(probe, "ibv_get_cq_event",
	     ret == 0 && ibv_get_cq_event(probe->channel, &cq, &context) == 0);
	ibv_ack_cq_events(probe->cq, 1);
	gave(probe, "ibv_ack_cq_events", true);
}

static void probe_open(struct probe *probe)
{
	struct ibv_qp *qp = make_qp(probe, IBV_QPT_XRC_RECV, 0), *other;
	struct ibv_qp_open_attr attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE,
					.qp_num = qp ? qp->qp_num : 0,
					.xrcd = probe->xrcd,
					.qp_type = IBV_QPT_XRC_RECV};

	other = qp ? ibv_open_qp(probe->context, &attr) : NULL;
	if (gave(probe, "ibv_open_qp", other != NULL))
		ibv_destroy_qp(other);
	if (qp)
		ibv_destroy_qp(qp);
}

static void probe_ways(struct probe *probe, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1000000};
	struct ibv_ece ece = {.vendor_id = 0};
	struct ibv_qp_init_attr init;
	union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 1}};
	struct ibv_ah_attr ah_attr = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = probe->gid, .hop_limit = 64}};
	struct ibv_ah *ah = ibv_create_ah(probe->pd, &ah_attr);
	struct ibv_qp *datagrams = make_qp(probe, IBV_QPT_UD, 0);

	if (gave(probe, "ibv_create_ah", ah != NULL))
		verb(probe, "ibv_destroy_ah", ibv_destroy_ah(ah));
	verb(probe, "ibv_query_qp", ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
	limit(probe, "max_inline_data of 64 asked for", init.cap.max_inline_data);
	verb(probe, "ibv_modify_qp_rate_limit", ibv_modify_qp_rate_limit(qp, &rate));
	verb(probe, "ibv_query_ece", ibv_query_ece(qp, &ece));
	verb(probe, "ibv_set_ece", ibv_set_ece(qp, &(struct ibv_ece){.vendor_id = 1}));
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_SQD};
	verb(probe, "ibv_modify_qp: SQD", ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0);
	gave(probe, "ibv_query_qp_data_in_order", true);
	verb(probe, "ibv_attach_mcast",
	     datagrams ? ibv_attach_mcast(datagrams, &group, 0) : EINVAL);
	if (datagrams)
		verb(probe, "ibv_destroy_qp", ibv_destroy_qp(datagrams));
}

static void probe_rest(struct probe *probe, struct ibv_qp *qp)
{
	struct ibv_flow_attr flow = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1};
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = probe->pd, .cq = probe->cq};
	struct ibv_rwq_ind_table_init_attr table = {.log_ind_tbl_size = 0};
	struct ibv_counters_init_attr counters = {0};
	struct ibv_flow_action_esp_attr esp = {0};

	gave(probe, "ibv_create_flow", ibv_create_flow(qp, &flow) != NULL);
	gave(probe, "ibv_create_flow_action_esp",
	     ibv_create_flow_action_esp(probe->context, &esp) != NULL);
	gave(probe, "ibv_create_wq", ibv_create_wq(probe->context, &wq_attr) != NULL);
	gave(probe, "ibv_create_rwq_ind_table",
	     ibv_create_rwq_ind_table(probe->context, &table) != NULL);
	gave(probe, "ibv_create_counters", ibv_create_counters(probe->context, &counters) != NULL);
}

int prog_main(const struct vb_prog *prog)
{
	struct probe probe = {.prog = prog, .memory = aligned_alloc(4096, BYTES)};
	struct ibv_qp *qp;

	if (prog->size != 1 || !probe.memory || !probe_device(&probe))
		return -1;
	memset(probe.memory, 0, BYTES);
	probe_limits(&probe);
	probe_port(&probe);
	probe.pd = ibv_alloc_pd(probe.context);
	gave(&probe, "ibv_alloc_pd", probe.pd != NULL);
	probe.channel = ibv_create_comp_channel(probe.context);
	probe.cq = ibv_create_cq(probe.context, 256, NULL, probe.channel, 0);
	probe.mr = ibv_reg_mr(probe.pd, probe.memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!probe.cq || !probe.mr)
		return -1;
	probe_regions(&probe);
	probe_memory(&probe);
	probe_cqs(&probe);
	probe_srqs(&probe);
	probe_kinds(&probe);
	qp = make_qp(&probe, IBV_QPT_RC, 0);
	if (!qp || !to_rts(&probe, qp))
		return -1;
	probe_requests(&probe, qp);
	probe_windows(&probe, qp);
	probe_events(&probe, qp);
	probe_open(&probe);
	probe_ways(&probe, qp);
	probe_rest(&probe, qp);
	ibv_destroy_qp(qp);
	if (probe.xrcd)
		verb(&probe, "ibv_close_xrcd", ibv_close_xrcd(probe.xrcd));
	ibv_dereg_mr(probe.mr);
	ibv_destroy_cq(probe.cq);
	ibv_destroy_comp_channel(probe.channel);
	verb(&probe, "ibv_dealloc_pd", ibv_dealloc_pd(probe.pd));
	verb(&probe, "ibv_close_device", ibv_close_device(probe.context));
	free(probe.memory);
	return 0;
}

VB_MAIN(prog_main)

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/script/script.h"
#include "util/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_MAX = 256 << 20 };

struct hca_device *dev;
struct hca_device_params params;
struct hca_pd *pds[2];
struct hca_cq *cq;
uint32_t cq_depth = 64;
bool cq_polled = true;
struct named_mr mrs[OBJECTS_MAX];
struct named_qp qps[OBJECTS_MAX];
struct named_srq srqs[OBJECTS_MAX];
int mr_count, qp_count, srq_count;
struct seen wcs[EVENTS_MAX], events[EVENTS_MAX], places[EVENTS_MAX];
int wc_count, event_count, place_count;
uint32_t priorities = 0xff;
ps_t now;

const struct name_value statuses[] = {
	{"success", HCA_WC_SUCCESS},
	{"loc_len", HCA_WC_LOC_LEN_ERR},
	{"loc_qp_op", HCA_WC_LOC_QP_OP_ERR},
	{"loc_prot", HCA_WC_LOC_PROT_ERR},
	{"flush", HCA_WC_WR_FLUSH_ERR},
	{"mw_bind", HCA_WC_MW_BIND_ERR},
	{"bad_resp", HCA_WC_BAD_RESP_ERR},
	{"loc_access", HCA_WC_LOC_ACCESS_ERR},
	{"rem_inv_req", HCA_WC_REM_INV_REQ_ERR},
	{"rem_access", HCA_WC_REM_ACCESS_ERR},
	{"rem_op", HCA_WC_REM_OP_ERR},
	{"retry_exc", HCA_WC_RETRY_EXC_ERR},
	{"rnr_exc", HCA_WC_RNR_RETRY_EXC_ERR},
	{"fatal", HCA_WC_FATAL_ERR},
	{NULL, 0},
};
const struct name_value wc_opcodes[] = {
	{"send", HCA_WC_SEND},
	{"write", HCA_WC_RDMA_WRITE},
	{"read", HCA_WC_RDMA_READ},
	{"cmp_swap", HCA_WC_COMP_SWAP},
	{"fetch_add", HCA_WC_FETCH_ADD},
	{"local_inv", HCA_WC_LOCAL_INV},
	{"bind_mw", HCA_WC_BIND_MW},
	{"flush", HCA_WC_FLUSH},
	{"atomic_write", HCA_WC_ATOMIC_WRITE},
	{"recv", HCA_WC_RECV},
	{"recv_imm", HCA_WC_RECV_RDMA_WITH_IMM},
	{NULL, 0},
};
const struct name_value wr_opcodes[] = {
	{"write", HCA_WR_RDMA_WRITE},
	{"write_imm", HCA_WR_RDMA_WRITE_WITH_IMM},
	{"send", HCA_WR_SEND},
	{"send_imm", HCA_WR_SEND_WITH_IMM},
	{"read", HCA_WR_RDMA_READ},
	{"cmp_swap", HCA_WR_ATOMIC_CMP_AND_SWP},
	{"fetch_add", HCA_WR_ATOMIC_FETCH_AND_ADD},
	{"local_inv", HCA_WR_LOCAL_INV},
	{"send_inv", HCA_WR_SEND_WITH_INV},
	{"bind_mw", HCA_WR_BIND_MW},
	{"flush", HCA_WR_FLUSH},
	{"atomic_write", HCA_WR_ATOMIC_WRITE},
	{"none", 99},
	{NULL, 0},
};
const struct name_value states[] = {
	{"reset", HCA_QPS_RESET}, {"init", HCA_QPS_INIT},
	{"rtr", HCA_QPS_RTR},	  {"rts", HCA_QPS_RTS},
	{"sqd", HCA_QPS_SQD},	  {"sqe", HCA_QPS_SQE},
	{"err", HCA_QPS_ERR},	  {NULL, 0},
};
static const struct name_value types[] = {{"uc", HCA_QPT_UC},
					  {"ud", HCA_QPT_UD},
					  {"xrc_send", HCA_QPT_XRC_SEND},
					  {"xrc_recv", HCA_QPT_XRC_RECV},
					  {NULL, 0}};
static struct hca_xrcd *domains[2];
static const struct name_value retransmits[] = {
	{"go_back_0", HCA_GO_BACK_0}, {"selective", HCA_SELECTIVE}, {NULL, 0}};
const struct name_value errors[] = {
	{"0", 0},	   {"EINVAL", -EINVAL}, {"ENOMEM", -ENOMEM}, {"EEXIST", -EEXIST},
	{"EBUSY", -EBUSY}, {NULL, 0},
};
const struct name_value async_events[] = {
	{"cq_err", 0},	     {"qp_fatal", 1},	{"qp_req_err", 2}, {"qp_access_err", 3},
	{"comm_est", 4},     {"sq_drained", 5}, {"srq_err", 14},   {"srq_limit", 15},
	{"qp_last_wqe", 16}, {NULL, 0},
};

/* The observer. */

static void see(struct seen *list, int *count, const char *text)
{
	if (*count == EVENTS_MAX) {
		fprintf(stderr, "too many events: %s\n", text);
		exit(1);
	}
	snprintf(list[(*count)++].text, TEXT_MAX, "%s", text);
}

static const char *qp_name(uint32_t qpn)
{
	for (int i = 0; i < qp_count; i++)
		if (qps[i].qp && hca_qp_qpn(qps[i].qp) == qpn)
			return qps[i].name;
	return "?";
}

/* Only what IBTA defines for the status. */
void render_wc(const struct hca_wc *wc, const char *name, char *text)
{
	int len = snprintf(text, TEXT_MAX, "%s id=%llu %s", name, (unsigned long long)wc->wr_id,
			   text_of(wc->status, statuses));

	if (wc->status != HCA_WC_SUCCESS)
		return;
	len += snprintf(text + len, TEXT_MAX - (size_t)len, " %s len=%u%s%s imm=0x%x",
			text_of(wc->opcode, wc_opcodes), wc->byte_len,
			wc->flags & HCA_WC_WITH_IMM ? " with_imm" : "",
			wc->flags & HCA_WC_WITH_INV ? " with_inv" : "", wc->imm);
	if (wc->flags & HCA_WC_GRH)
		snprintf(text + len, TEXT_MAX - (size_t)len, " src=0x%x", wc->src_qpn);
}

static void on_wc(void *world, struct hca_cq *of, const struct hca_wc *wc, ps_t at)
{
	char text[TEXT_MAX];

	(void)world;
	(void)of;
	CHECK(at == now);
	render_wc(wc, qp_name(wc->qpn), text);
	see(wcs, &wc_count, text);
}

static void on_cq_event(void *world, void *owner, ps_t at)
{
	(void)world;
	(void)owner;
	CHECK(at == now);
	see(events, &event_count, "cq_event");
}

static void on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		     bool is_word, ps_t at)
{
	char text[TEXT_MAX];

	(void)world, (void)is_word;
	CHECK(at == now);
	for (int i = 0; i < mr_count; i++)
		if (mrs[i].mr == mr)
			snprintf(text, sizeof(text), "%.31s+%llu:%u", mrs[i].name,
				 (unsigned long long)offset, length);
	see(places, &place_count, text);
}

static void on_async(void *world, void *owner, int event, ps_t at)
{
	(void)world;
	(void)owner;
	CHECK(at == now);
	see(events, &event_count, text_of(event, async_events));
}

const struct hca_observer observer = {on_wc, on_cq_event, on_place, on_async};

void forget(struct seen *list, int *count)
{
	memmove(list, list + 1, (size_t)-- * count * sizeof(*list));
}

/* Names. */

struct named_mr *find_mr(const struct line *line, const char *text, size_t len)
{
	for (int i = 0; i < mr_count; i++)
		if (strlen(mrs[i].name) == len && strncmp(mrs[i].name, text, len) == 0)
			return &mrs[i];
	line_bad(line, text, "the name of a region");
}

struct named_qp *find_qp(const struct line *line, const char *text)
{
	for (int i = 0; i < qp_count; i++)
		if (qps[i].qp && strcmp(qps[i].name, text) == 0)
			return &qps[i];
	line_bad(line, text, "the name of a QP");
}

struct named_srq *find_srq(const char *text)
{
	for (int i = 0; i < srq_count; i++)
		if (strcmp(srqs[i].name, text) == 0)
			return &srqs[i];
	return NULL;
}

/* NAME+OFFSET; the region, and the offset. */
struct named_mr *place_of(const struct line *line, const char *text, uint64_t *ret_offset)
{
	size_t len = strcspn(text, "+:");
	char number[32] = "0";

	if (text[len] == '+')
		snprintf(number, sizeof(number), "%.*s", (int)strcspn(text + len + 1, ":"),
			 text + len + 1);
	*ret_offset = text_number(line, number);
	return find_mr(line, text, len);
}

uint64_t address(const struct line *line, const char *text)
{
	uint64_t offset;
	struct named_mr *named;

	if (!text)
		return 0;
	if (text[0] >= '0' && text[0] <= '9')
		return text_number(line, text);
	named = place_of(line, text, &offset);
	return named->iova + offset;
}

uint8_t *host_of(const struct line *line, const struct named_mr *named, uint64_t offset,
		 uint64_t length)
{
	if (!named->host || length > named->length || offset > named->length - length)
		line_bad(line, named->name, "bytes that lie in a region of memory");
	return named->host + offset;
}

uint32_t key_of(const struct line *line, const char *text)
{
	if (!text)
		return 0;
	if (text[0] >= '0' && text[0] <= '9')
		return (uint32_t)text_number(line, text);
	return find_mr(line, text, strlen(text))->key;
}

uint32_t access_of(const struct line *line, const char *text)
{
	uint32_t access = 0;

	for (; *text; text++)
		switch (*text) {
		case 'l':
			access |= HCA_ACCESS_LOCAL_WRITE;
			break;
		case 'w':
			access |= HCA_ACCESS_REMOTE_WRITE;
			break;
		case 'r':
			access |= HCA_ACCESS_REMOTE_READ;
			break;
		case 'a':
			access |= HCA_ACCESS_REMOTE_ATOMIC;
			break;
		case 'b':
			access |= HCA_ACCESS_MW_BIND;
			break;
		case 'g':
			access |= HCA_ACCESS_FLUSH_GLOBAL;
			break;
		case 'p':
			access |= HCA_ACCESS_FLUSH_PERSISTENT;
			break;
		case '-':
			break;
		default:
			line_bad(line, text, "access of l, w, r, a, b, g, p, -");
		}
	return access;
}

void expect_error(struct line *line, int error)
{
	const char *text = line_get(line, "error");

	line_end(line);
	if (error != text_name(line, text ? text : "0", errors, "0 or a known errno"))
		line_differs(line, text_of(error, errors), text ? text : "0");
}

/* Setting up. */

static const struct cc_ops *cc_named(const struct line *line, const char *name)
{
	const struct cc_ops *const all[] = {&cc_none,	  &cc_dcqcn,  &cc_dcqcn_hpcc,
					    &cc_dcqcn_nv, &cc_timely, &cc_timely_patched,
					    &cc_swift,	  &cc_dctcp};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	line_bad(line, name, "the name of a congestion control");
}

void do_device(struct line *line)
{
	struct hca_profile *p = &params.profile;
	const char *text = line_get(line, "cc");

	if (dev)
		line_bad(line, "device", "it before everything else");
	p->psn_window = (uint32_t)line_number(line, "window", p->psn_window);
	p->ack_every = (uint32_t)line_number(line, "ack_every", p->ack_every);
	p->ack_on_data_priority = !line_get(line, "ack_priority");
	p->ack_priority = (uint8_t)line_number(line, "ack_priority", 0);
	p->cnp_priority = (uint8_t)line_number(line, "cnp_priority", 0);
	p->line_rate_bps = line_number(line, "line_rate", p->line_rate_bps);
	p->rd_atomic_max = (uint32_t)line_number(line, "rd_atomic_max", p->rd_atomic_max);
	cq_depth = (uint32_t)line_number(line, "cq_depth", cq_depth);
	cq_polled = !line_flag(line, "unpolled");
	if (text)
		p->cc = cc_named(line, text);
	p->cc_params = p->cc == &cc_dcqcn_hpcc ? cc_dcqcn_hpcc_params(p->line_rate_bps)
					       : cc_dcqcn_params(p->line_rate_bps);
	p->cc_params.mtu_bytes = 256;
	p->cc_params.timely = cc_timely_defaults(p->cc == &cc_timely_patched);
	p->cc_params.swift = cc_swift_defaults(10 * PS_US);
	p->cc_params.dctcp = cc_dctcp_defaults(p->line_rate_bps);
	p->cc_params.nv = cc_nv_defaults();
	p->framing.data[0] = (uint16_t)line_number(line, "around_data", 0);
	p->framing.ack[0] = (uint16_t)line_number(line, "around_ack", 0);
	p->cnp_keeps_marks = line_flag(line, "keep_marks");
	p->cnp_on_gap = line_flag(line, "cnp_on_gap");
	p->mw_is_2a = line_flag(line, "mw_2a");
	p->statuses = line_flag(line, "rxe") ? HCA_STATUSES_RXE : HCA_STATUSES_HARDWARE;
	text = line_get(line, "retransmit");
	if (text)
		p->retransmit = (enum hca_retransmit)text_name(line, text, retransmits,
							       "go_back_0, selective");
	text = line_get(line, "cnp_interval");
	p->cnp_enabled = text != NULL;
	if (text)
		p->cnp_interval = text_time(line, text);
	line_end(line);
}

/* One more of what there are @count of, on a device. */
static void room_for(const struct line *line, int count)
{
	if (count == OBJECTS_MAX)
		line_bad(line, line->words[0], "fewer objects of that kind");
	if (dev)
		return;
	dev = hca_device_create(&params);
	CHECK(dev != NULL);
	CHECK(hca_pd_create(dev, &pds[0]) == 0);
	CHECK(hca_pd_create(dev, &pds[1]) == 0);
	if (hca_cq_create(dev, cq_depth, NULL, &cq) != 0)
		line_bad(line, "cq_depth", "one that the device has");
}

/* Byte i of a region is, at first, a letter that depends on its name and on i. */
uint8_t first_byte(const struct named_mr *named, uint64_t i)
{
	return (uint8_t)('!' + (i * 31 + i / 94 + (uint8_t)named->name[0]) % 94);
}

void do_mr(struct line *line)
{
	struct named_mr *named = &mrs[mr_count];
	struct hca_mr_params p = {.ops = &hca_mem_host};
	int error;

	room_for(line, mr_count);
	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	p.iova = line_number(line, "va", 0);
	p.length = line_number(line, "len", 0);
	named->iova = p.iova;
	named->length = p.length;
	p.access = access_of(line, line_get(line, "access") ? line_get(line, "access") : "lwra");
	p.is_fast = line_flag(line, "fast");
	if (line_get(line, "stream")) {
		p.ops = &hca_mem_synthetic;
		p.stream = line_number(line, "stream", 0);
	} else {
		named->host = p.length <= MEMORY_MAX ? malloc(p.length + 8) : NULL;
		if (!named->host)
			line_bad(line, named->name, "at most 256 MiB, or stream=N");
		p.address = (uintptr_t)named->host;
	}
	for (uint64_t i = 0; named->host && i < p.length; i++)
		named->host[i] = first_byte(named, i);
	error = hca_mr_create(dev, pds[line_number_to(line, "pd", 0, 1)], &p, &named->mr);
	if (!error)
		named->key = named->mr->rkey;
	else
		free(named->host);
	mr_count += !error;
	expect_error(line, error);
}

uint32_t mask_to(enum hca_qp_type type, enum hca_qp_state state)
{
	static const uint32_t masks[][HCA_QPS_RTS + 1] = {
		[HCA_QPT_RC] = {0, TO_INIT, TO_RTR, TO_RTS},
		[HCA_QPT_UC] = {0, TO_INIT, UC_TO_RTR, UNRELIABLE_TO_RTS},
		[HCA_QPT_UD] = {0, UD_TO_INIT, HCA_QP_STATE, UNRELIABLE_TO_RTS},
		[HCA_QPT_XRC_SEND] = {0, TO_INIT, UC_TO_RTR, TO_RTS},
		[HCA_QPT_XRC_RECV] = {0, TO_INIT, TO_RTR, UNRELIABLE_TO_RTS | HCA_QP_TIMEOUT},
	};

	return state > HCA_QPS_RTS || masks[type][state] == 0 ? HCA_QP_STATE : masks[type][state];
}

static void raise_qp(const struct line *line, struct named_qp *named, enum hca_qp_state state)
{
	for (enum hca_qp_state s = HCA_QPS_INIT; s <= state; s++) {
		named->attr.state = s;
		if (hca_qp_modify(dev, named->qp, &named->attr, mask_to(named->type, s), now) != 0)
			line_bad(line, named->name, "attributes that a QP may have");
	}
}

/* xrc=N; NULL: not said. */
static struct hca_xrcd *domain_of(struct line *line)
{
	const uint64_t number = line_number(line, "xrc", 2);
	const struct hca_xrcd_init init = {.is_shared = false};

	if (number > 1)
		return NULL;
	if (!domains[number])
		CHECK(hca_xrcd_open(dev, &init, &domains[number]) == 0);
	return domains[number];
}

void do_mw(struct line *line)
{
	struct named_mr *named = &mrs[mr_count];
	int error;

	room_for(line, mr_count);
	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	error = hca_mw_create(dev, pds[line_number_to(line, "pd", 0, 1)],
			      (enum hca_mw_type)line_number(line, "type", 1), &named->mw);
	if (!error)
		named->key = hca_mw_rkey(named->mw);
	mr_count += !error;
	expect_error(line, error);
}

void do_srq(struct line *line)
{
	struct named_srq *named = &srqs[srq_count];
	struct hca_srq_init init = {.owner = named};
	int error;

	room_for(line, srq_count);
	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	init.pd = pds[line_number_to(line, "pd", 0, 1)];
	init.depth = (uint32_t)line_number(line, "depth", 4);
	init.sge_max = (uint32_t)line_number(line, "sges", 2);
	init.xrcd = domain_of(line);
	init.cq = init.xrcd ? cq : NULL;
	if (line_get(line, "cq")) /* another one, of that depth */
		if (hca_cq_create(dev, (uint32_t)line_number(line, "cq", 1), NULL, &init.cq) != 0)
			line_bad(line, line_get(line, "cq"), "a depth of a CQ");
	error = hca_srq_create(dev, &init, &named->srq);
	if (!error)
		named->number = hca_srq_number(named->srq);
	srq_count += !error;
	expect_error(line, error);
}

void do_qp(struct line *line)
{
	struct named_qp *named = &qps[qp_count];
	const char *state;
	int error;
	struct hca_qp_init init = {.type = HCA_QPT_RC};

	room_for(line, qp_count);
	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	init.pd = pds[line_number_to(line, "pd", 0, 1)];
	init.send_cq = init.recv_cq = cq;
	init.qpn = (uint32_t)line_number(line, "qpn", 0x11 + (uint32_t)qp_count);
	init.signal_all = line_flag(line, "signal_all");
	if (line_get(line, "type"))
		init.type =
			(enum hca_qp_type)text_name(line, line_get(line, "type"), types, "uc, ud");
	named->type = init.type;
	init.cap = (struct hca_qp_cap){.send_depth = (uint32_t)line_number(line, "sq", 16),
				       .recv_depth = (uint32_t)line_number(line, "rq", 16),
				       .send_sge_max = 4,
				       .recv_sge_max = 4,
				       .inline_max = 64};
	named->attr = (struct hca_qp_attr){
		.access = access_of(line,
				    line_get(line, "access") ? line_get(line, "access") : "wra"),
		.mtu = (uint32_t)line_number(line, "mtu", 256),
		.dest_qpn = (uint32_t)line_number(line, "dest", 0x22 + (uint32_t)qp_count),
		.sq_psn = (uint32_t)line_number(line, "sq_psn", 100),
		.rq_psn = (uint32_t)line_number(line, "rq_psn", 200),
		.timeout = (uint8_t)line_number(line, "timeout", 14),
		.retry_cnt = (uint8_t)line_number(line, "retry", 7),
		.rnr_retry = (uint8_t)line_number(line, "rnr_retry", 7),
		.min_rnr_timer = (uint8_t)line_number(line, "rnr_timer", 12),
		.max_rd_atomic = (uint8_t)line_number(line, "rd", 4),
		.max_dest_rd_atomic = (uint8_t)line_number(line, "dest_rd", 4),
		.port = 1,
		.qkey = (uint32_t)line_number(line, "qkey", 0x1ee7),
		.path = {.priority = (uint8_t)line_number(line, "priority", 0)},
	};
	init.xrcd = domain_of(line);
	if (init.type == HCA_QPT_XRC_SEND) {
		init.half = HCA_REQUESTER;
		init.cap.recv_depth = init.cap.recv_sge_max = 0;
		init.recv_cq = NULL;
	} else if (init.type == HCA_QPT_XRC_RECV) {
		init.cap = (struct hca_qp_cap){.send_depth = 0};
		init.pd = NULL;
		init.send_cq = init.recv_cq = NULL;
	}
	if (line_get(line, "srq")) {
		if (!find_srq(line_get(line, "srq")))
			line_bad(line, line_get(line, "srq"), "the name of an SRQ");
		init.srq = find_srq(line_get(line, "srq"))->srq;
	}
	state = line_get(line, "state");
	error = hca_qp_create(dev, &init, &named->qp);
	expect_error(line, error);
	if (error)
		return;
	qp_count++;
	raise_qp(line, named,
		 state ? (enum hca_qp_state)text_name(line, state, states, "a QP state")
		       : HCA_QPS_RTS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays one packet script against one adapter: what comes in at which time, and exactly what goes
 * out. tests/script/README.md tells the language. */
#include "tools/script/script.h"
#include "transport/wire/frame.h"
#include "util/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work requests. */

static uint32_t parse_sges(struct line *line, bool is_inline, struct hca_sge *sge)
{
	const char *text = line_get(line, "sge");
	uint32_t count = 0;
	char *copy, *save = NULL;

	if (!text)
		return 0;
	copy = strdup(text);
	for (char *one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		uint64_t offset;
		struct named_mr *named = place_of(line, one, &offset);
		const char *length = strchr(one, ':');

		if (!length || count == 8)
			line_bad(line, one, "REGION+OFFSET:LENGTH, at most 8 of them");
		sge[count++] = (struct hca_sge){
			.addr = is_inline ? (uintptr_t)host_of(line, named, offset,
							       text_number(line, length + 1))
					  : named->iova + offset,
			.length = (uint32_t)text_number(line, length + 1),
			.lkey = named->key,
		};
	}
	free(copy);
	return count;
}

/* mw=WINDOW tag=N of=REGION+OFFSET:LENGTH rights=wra: the window's key is the new one from now on.
 */
static void parse_bind(struct line *line, struct hca_send_wr *wr)
{
	const char *name = line_get(line, "mw"), *of = line_get(line, "of");
	struct named_mr *window = find_mr(line, name, strlen(name)), *region;
	const char *rights = line_get(line, "rights");
	uint64_t offset;

	wr->imm = window->key;
	wr->rkey = (uint32_t)line_number(line, "key",
					 (window->key & 0xffffff00) | line_number(line, "tag", 0));
	window->key = wr->rkey;
	if (!of)
		return;
	if (!strchr(of, ':'))
		line_bad(line, of, "REGION+OFFSET:LENGTH");
	region = place_of(line, of, &offset);
	wr->remote_addr = region->iova + offset;
	wr->compare_add = text_number(line, strchr(of, ':') + 1);
	wr->swap = (uint64_t)access_of(line, rights ? rights : "wra") << 32 | region->key;
}

static void do_post(struct line *line)
{
	struct named_qp *named = find_qp(line, line_word(line, "a QP"));
	struct wire_path path = {.ttl = 64};
	struct hca_sge sge[8];
	struct hca_send_wr wr = {
		.opcode = (enum hca_wr_opcode)text_name(line, line_word(line, "an operation"),
							wr_opcodes, "an operation"),
		.sge = sge,
	};

	wr.wr_id = line_number(line, "id", 0);
	wr.flags |= line_flag(line, "fence") ? HCA_SEND_FENCE : 0;
	wr.flags |= line_flag(line, "silent") ? 0 : HCA_SEND_SIGNALED;
	wr.flags |= line_flag(line, "solicited") ? HCA_SEND_SOLICITED : 0;
	wr.flags |= line_flag(line, "inline") ? HCA_SEND_INLINE : 0;
	wr.sge_count = parse_sges(line, wr.flags & HCA_SEND_INLINE, sge);
	if (line_get(line, "lkey"))
		sge[0].lkey = (uint32_t)line_number(line, "lkey", 0);
	wr.imm = line_get(line, "inv") ? key_of(line, line_get(line, "inv"))
				       : htonl((uint32_t)line_number(line, "imm", 0));
	wr.remote_addr = line_number(line, "va", 0);
	wr.rkey = (uint32_t)line_number(line, "rkey", 0);
	wr.compare_add =
		line_number(line, "add", line_number(line, "cmp", line_number(line, "bytes", 0)));
	wr.swap = line_number(line, "swap", line_number(line, "feth", 0));
	if (line_get(line, "mw"))
		parse_bind(line, &wr);
	wr.path = named->type == HCA_QPT_UD ? &path : NULL;
	wr.dest_qpn = (uint32_t)line_number(line, "to", 0);
	wr.qkey = (uint32_t)line_number(line, "qkey", 0);
	wr.srqn = srqn_of(line);
	path.priority = (uint8_t)line_number(line, "priority", 0);
	expect_error(line, hca_qp_post_send(dev, named->qp, &wr, now));
}

static void do_recv(struct line *line)
{
	const char *name = line_word(line, "a QP or an SRQ");
	const struct named_srq *srq = find_srq(name);
	struct hca_sge sge[8];
	struct hca_recv_wr wr = {.wr_id = line_number(line, "id", 0), .sge = sge};

	wr.sge_count = parse_sges(line, false, sge);
	if (line_get(line, "lkey"))
		sge[0].lkey = (uint32_t)line_number(line, "lkey", 0);
	if (srq)
		expect_error(line, hca_srq_post_recv(dev, srq->srq, &wr));
	else
		expect_error(line, hca_qp_post_recv(dev, find_qp(line, name)->qp, &wr, now));
}

static const struct named_srq *need_srq(struct line *line)
{
	const char *name = line_word(line, "an SRQ");
	const struct named_srq *named = find_srq(name);

	if (!named)
		line_bad(line, name, "the name of an SRQ");
	return named;
}

/* limit=N depth=N */
static void do_srq_modify(struct line *line)
{
	const struct named_srq *named = need_srq(line);
	struct hca_srq_attr attr = {0};
	uint32_t mask = 0;

	mask |= line_get(line, "limit") ? HCA_SRQ_LIMIT : 0;
	mask |= line_get(line, "depth") ? HCA_SRQ_MAX_WR : 0;
	attr.limit = (uint32_t)line_number(line, "limit", 0);
	attr.depth = (uint32_t)line_number(line, "depth", 0);
	expect_error(line, hca_srq_modify(dev, named->srq, &attr,
					  (uint32_t)line_number(line, "mask", mask)));
}

/* depth=N sges=N limit=N */
static void do_srq_query(struct line *line)
{
	const struct named_srq *named = need_srq(line);
	struct hca_srq_attr attr;
	char found[64], expected[64];

	hca_srq_query(named->srq, &attr);
	snprintf(found, sizeof(found), "depth=%u sges=%u limit=%u", attr.depth, attr.sge_max,
		 attr.limit);
	snprintf(expected, sizeof(expected), "depth=%llu sges=%llu limit=%llu",
		 (unsigned long long)line_number(line, "depth", 4),
		 (unsigned long long)line_number(line, "sges", 2),
		 (unsigned long long)line_number(line, "limit", 0));
	line_end(line);
	if (strcmp(found, expected) != 0)
		line_differs(line, found, expected);
}

static void do_srq_destroy(struct line *line)
{
	const struct named_srq *named = need_srq(line);

	expect_error(line, hca_srq_destroy(dev, named->srq));
}

/* Packets. */

static uint32_t first_qpn(void)
{
	return qp_count && qps[0].qp ? hca_qp_qpn(qps[0].qp) : 0;
}

static void do_in(struct line *line)
{
	struct script_pkt p;
	struct hca_rx rx = {0};
	uint8_t frame[WIRE_FRAME_MAX];

	script_parse_pkt(line, &p, first_qpn());
	if (!raw_change(line, &p.pkt, frame, sizeof(frame))) {
		line_end(line);
		return;
	}
	line_end(line);
	rx.ecn = p.ecn;
	hca_input(dev, &p.pkt, &rx, now);
}

static bool take_out(struct script_pkt *p)
{
	struct hca_tx tx = {0};

	*p = (struct script_pkt){.pkt.payload = p->bytes};
	if (!hca_output(dev, priorities, &p->pkt, &tx, now))
		return false;
	p->ecn = tx.ecn;
	p->priority = tx.priority;
	return true;
}

static void do_out(struct line *line)
{
	struct script_pkt want, got;
	char found[TEXT_MAX] = "nothing to send", expected[TEXT_MAX] = "nothing to send";
	bool none = line_flag(line, "none"), wire = line_flag(line, "wire");

	if (!none) {
		script_parse_pkt(line, &want, qps[0].attr.dest_qpn);
		script_render_pkt(&want, expected);
	}
	line_end(line);
	if (take_out(&got))
		script_render_pkt(&got, found);
	if (strcmp(found, expected) != 0)
		line_differs(line, found, expected);
	if (!none && wire)
		raw_check(line, &got.pkt);
	if (!none && want.has_bytes && memcmp(want.bytes, got.bytes, want.pkt.length) != 0) {
		snprintf(found, sizeof(found), "payload that begins %.16s", (char *)got.bytes);
		snprintf(expected, sizeof(expected), "payload that begins %.16s",
			 (char *)want.bytes);
		line_differs(line, found, expected);
	}
}

/* What has happened. */

static void expect_seen(const struct line *line, struct seen *list, int *count,
			const char *expected)
{
	if (*count == 0)
		line_differs(line, "nothing", expected);
	if (strcmp(list[0].text, expected) != 0)
		line_differs(line, list[0].text, expected);
	forget(list, count);
}

static void do_wc(struct line *line)
{
	struct hca_wc wc, polled;
	char text[TEXT_MAX];
	const char *name = script_parse_wc(line, &wc);

	render_wc(&wc, name, text);
	expect_seen(line, wcs, &wc_count, text);
	if (!cq_polled)
		return;
	if (hca_cq_poll(cq, 1, &polled) != 1 || polled.wr_id != wc.wr_id)
		line_differs(line, "another completion in the queue", text);
}

static void do_event(struct line *line)
{
	const char *name = line_word(line, "an event");

	line_end(line);
	expect_seen(line, events, &event_count, name);
}

static void do_place(struct line *line)
{
	const char *name = line_word(line, "REGION+OFFSET:LENGTH, or none");

	line_end(line);
	if (strcmp(name, "none") != 0)
		expect_seen(line, places, &place_count, name);
	else if (place_count)
		line_differs(line, places[0].text, "nothing placed");
}

static void do_counter(struct line *line)
{
	const struct hca_counters *c = hca_device_counters(dev);
#define COUNTER(name)                                                                              \
	{                                                                                          \
#name, c->name                                                                     \
	}
	const struct name_value names[] = {COUNTER(tx_packets),
					   COUNTER(tx_bytes),
					   COUNTER(rx_packets),
					   COUNTER(rx_bytes),
					   COUNTER(rx_write_requests),
					   COUNTER(rx_read_requests),
					   COUNTER(rx_atomic_requests),
					   COUNTER(out_of_buffer),
					   COUNTER(out_of_sequence),
					   COUNTER(duplicate_request),
					   COUNTER(packet_seq_err),
					   COUNTER(implied_nak_seq_err),
					   COUNTER(rnr_nak_retry_err),
					   COUNTER(local_ack_timeout_err),
					   COUNTER(req_transport_retries_exceeded),
					   COUNTER(req_rnr_retries_exceeded),
					   COUNTER(req_remote_access_errors),
					   COUNTER(req_remote_invalid_request),
					   COUNTER(req_cqe_error),
					   COUNTER(resp_cqe_error),
					   COUNTER(resp_local_length_error),
					   COUNTER(np_ecn_marked_roce_packets),
					   COUNTER(np_cnp_sent),
					   COUNTER(rp_cnp_handled),
					   COUNTER(rp_cnp_ignored),
					   COUNTER(packets_retransmitted),
					   COUNTER(rx_unknown_qp),
					   COUNTER(rx_wrong_state),
					   COUNTER(rx_dropped),
					   COUNTER(resp_remote_access_errors),
					   COUNTER(qkey_violations),
					   {NULL, 0}};
	const char *name = line_word(line, "a counter");
	uint64_t want = text_number(line, line_word(line, "a number"));
	uint64_t have = (uint64_t)text_name(line, name, names, "a counter");
	char found[32], expected[32];

	line_end(line);
	snprintf(found, sizeof(found), "%llu", (unsigned long long)have);
	snprintf(expected, sizeof(expected), "%llu", (unsigned long long)want);
	if (have != want)
		line_differs(line, found, expected);
}

static void do_next(struct line *line)
{
	const char *text = line_word(line, "a time, never, or now");
	ps_t next = hca_next_at(dev, priorities);
	char found[32];

	line_end(line);
	snprintf(found, sizeof(found),
		 next == PS_NEVER ? "never"
		 : next <= now	  ? "now"
				  : "%llups",
		 (unsigned long long)next);
	if (strcmp(text, "now") == 0 ? next > now : next != text_time(line, text))
		line_differs(line, found, text);
}

static void do_modify(struct line *line)
{
	struct named_qp *named = find_qp(line, line_word(line, "a QP"));
	uint32_t mask = line_flag(line, "bare") ? HCA_QP_STATE : 0;

	named->attr.state =
		(enum hca_qp_state)text_name(line, line_word(line, "a state"), states, "a state");
	named->attr.sq_psn = (uint32_t)line_number(line, "sq_psn", named->attr.sq_psn);
	named->attr.rq_psn = (uint32_t)line_number(line, "rq_psn", named->attr.rq_psn);
	mask = mask ? mask : mask_to(named->type, named->attr.state);
	named->attr.en_sqd_async_notify = line_flag(line, "notify");
	mask |= named->attr.en_sqd_async_notify ? HCA_QP_EN_SQD_ASYNC_NOTIFY : 0;
	expect_error(line, hca_qp_modify(dev, named->qp, &named->attr, mask, now));
}

static int destroy_region(struct named_mr *named)
{
	const int error = hca_mr_destroy(dev, named->mr);

	if (!error)
		named->mr = NULL;
	return error;
}

static void do_destroy(struct line *line)
{
	const char *name = line_word(line, "a region or a QP");

	for (int i = 0; i < qp_count; i++)
		if (strcmp(qps[i].name, name) == 0) {
			line_end(line);
			hca_qp_destroy(dev, qps[i].qp);
			qps[i].qp = NULL;
			return;
		}
	if (find_mr(line, name, strlen(name))->mw) {
		line_end(line);
		hca_mw_destroy(dev, find_mr(line, name, strlen(name))->mw);
		return;
	}
	if (!find_mr(line, name, strlen(name))->mr)
		line_bad(line, name, "a region that is there");
	expect_error(line, destroy_region(find_mr(line, name, strlen(name))));
}

/* Memory that the program has given back under a region that still names it. */

static bool no_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes, uint32_t length)
{
	(void)mr, (void)offset, (void)ret_bytes, (void)length;
	return false;
}

static bool no_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	(void)mr, (void)offset, (void)bytes, (void)length;
	return false;
}

static bool no_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
		      uint64_t compare, uint64_t *ret_original)
{
	(void)mr, (void)offset, (void)is_swap, (void)swap_add, (void)compare, (void)ret_original;
	return false;
}

static void do_unmap(struct line *line)
{
	static const struct hca_mem_ops none = {
		.name = "none", .read = no_read, .write = no_write, .atomic = no_atomic};
	const char *name = line_word(line, "a region");

	line_end(line);
	if (!find_mr(line, name, strlen(name))->mr)
		line_bad(line, name, "a region that is there");
	find_mr(line, name, strlen(name))->mr->ops = &none;
}

static void do_arm(struct line *line)
{
	hca_cq_arm(cq, line_flag(line, "solicited") ? HCA_CQ_ARM_SOLICITED : HCA_CQ_ARM_ANY);
	line_end(line);
}

/* Time. */

static void check_quiet(const struct line *line)
{
	struct script_pkt p;
	char text[TEXT_MAX], at[TEXT_MAX + 64];

	if (take_out(&p)) {
		script_render_pkt(&p, text);
		snprintf(at, sizeof(at), "at %llups out %s", (unsigned long long)now, text);
		line_differs(line, at, "no packet that the script does not name");
	}
	if (wc_count)
		line_differs(line, wcs[0].text, "no completion that the script does not name");
	if (event_count)
		line_differs(line, events[0].text, "no event that the script does not name");
	place_count = 0;
}

/* The device is asked at every instant at which it wants to be. */
static void go_to(const struct line *line, ps_t at)
{
	ps_t next;

	if (at < now)
		line_bad(line, "a time in the past", "times that grow");
	check_quiet(line);
	while ((next = hca_next_at(dev, priorities)) < at) {
		if (next <= now)
			line_differs(line, "a device that asks to be asked again and again",
				     "a later time");
		now = next;
		check_quiet(line);
	}
	now = at;
}

static void do_at(struct line *line)
{
	const char *what;
	ps_t at = text_time(line, line_word(line, "a time"));

	if (!dev || at == PS_NEVER)
		line_bad(line, line->words[0], "a QP before it, and a time that comes");
	if (at != now)
		go_to(line, at);
	what = line_word(line, "what happens");
	if (strcmp(what, "in") == 0)
		do_in(line);
	else if (strcmp(what, "out") == 0)
		do_out(line);
	else if (strcmp(what, "post") == 0)
		do_post(line);
	else if (strcmp(what, "recv") == 0)
		do_recv(line);
	else if (strcmp(what, "wc") == 0)
		do_wc(line);
	else if (strcmp(what, "event") == 0)
		do_event(line);
	else if (strcmp(what, "place") == 0)
		do_place(line);
	else if (strcmp(what, "mem") == 0)
		script_mem(line, false);
	else if (strcmp(what, "set") == 0)
		script_mem(line, true);
	else if (strcmp(what, "counter") == 0)
		do_counter(line);
	else if (strcmp(what, "next") == 0)
		do_next(line);
	else if (strcmp(what, "modify") == 0)
		do_modify(line);
	else if (strcmp(what, "destroy") == 0)
		do_destroy(line);
	else if (strcmp(what, "unmap") == 0)
		do_unmap(line);
	else if (strcmp(what, "srq_modify") == 0)
		do_srq_modify(line);
	else if (strcmp(what, "srq_query") == 0)
		do_srq_query(line);
	else if (strcmp(what, "srq_destroy") == 0)
		do_srq_destroy(line);
	else if (strcmp(what, "arm") == 0)
		do_arm(line);
	else if (strcmp(what, "priorities") == 0)
		priorities = (uint32_t)text_number(line, line_word(line, "a mask"));
	else
		line_bad(line, what, "something that a script can do");
	line_end(line);
}

static void run_line(struct line *line)
{
	const char *what;

	if (line->count == 0)
		return;
	what = line_word(line, "a command");
	if (strcmp(what, "clause") == 0)
		return;
	if (strcmp(what, "device") == 0)
		do_device(line);
	else if (strcmp(what, "mr") == 0)
		do_mr(line);
	else if (strcmp(what, "qp") == 0)
		do_qp(line);
	else if (strcmp(what, "srq") == 0)
		do_srq(line);
	else if (strcmp(what, "mw") == 0)
		do_mw(line);
	else if (strcmp(what, "at") == 0)
		do_at(line);
	else
		line_bad(line, what, "clause, device, mr, mw, qp, srq or at");
}

static void play_file(FILE *file, struct line *line, volatile int *ret_line)
{
	char text[TEXT_MAX];

	while (fgets(text, sizeof(text), file)) {
		*ret_line = ++line->number;
		if (strlen(text) == sizeof(text) - 1)
			line_bad(line, "a long line", "fewer than 512 bytes");
		line_split(line, text);
		run_line(line);
	}
	if (!dev)
		line_bad(line, "a script without a QP", "some");
	check_quiet(line);
}

void script_play(const char *path, volatile int *ret_line)
{
	struct line line = {.file = path};
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(SCRIPT_BAD);
	}
	params = (struct hca_device_params){
		.key = {1, 2},
		.observer = &observer,
		.profile = {.line_rate_bps = 100000000000,
			    .mtu_max = 4096,
			    .rto_low = 100 * PS_US,
			    .rto_high = 320 * PS_US,
			    .psn_window = 128,
			    .ack_every = 64,
			    .ack_on_data_priority = true,
			    .cc = &cc_none,
			    .wire_overhead = 66,
			    .qp_max = 64,
			    .cq_max = 4,
			    .mr_max = 64,
			    .pd_max = 4,
			    .srq_max = 4,
			    .wr_max = 64,
			    .sge_max = 4,
			    .cqe_max = 1024,
			    .inline_max = 64,
			    .rd_atomic_max = 16},
	};
	play_file(file, &line, ret_line);
	fclose(file);
	for (int i = 0; i < mr_count; i++)
		free(mrs[i].host);
	hca_device_destroy(dev);
}

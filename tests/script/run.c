/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one packet script against one adapter: what comes in at which time, and exactly what goes
 * out. README.md beside this file tells the language. */
#include "tests/script/script.h"
#include "util/check.h"

#include <arpa/inet.h>
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
			.addr = is_inline ? (uintptr_t)(named->host + offset)
					  : named->mr->iova + offset,
			.length = (uint32_t)text_number(line, length + 1),
			.lkey = named->key,
		};
	}
	free(copy);
	return count;
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
	wr.compare_add = line_number(line, "add", line_number(line, "cmp", 0));
	wr.swap = line_number(line, "swap", 0);
	wr.path = named->type == HCA_QPT_UD ? &path : NULL;
	wr.dest_qpn = (uint32_t)line_number(line, "to", 0);
	wr.qkey = (uint32_t)line_number(line, "qkey", 0);
	path.priority = (uint8_t)line_number(line, "priority", 0);
	expect_error(line, hca_qp_post_send(dev, named->qp, &wr, now));
}

static void do_recv(struct line *line)
{
	struct named_qp *named = find_qp(line, line_word(line, "a QP"));
	struct hca_sge sge[8];
	struct hca_recv_wr wr = {.wr_id = line_number(line, "id", 0), .sge = sge};

	wr.sge_count = parse_sges(line, false, sge);
	if (line_get(line, "lkey"))
		sge[0].lkey = (uint32_t)line_number(line, "lkey", 0);
	expect_error(line, hca_qp_post_recv(dev, named->qp, &wr, now));
}

/* Packets. */

struct script_pkt {
	struct wire_pkt pkt;
	uint8_t ecn, priority;
	uint8_t bytes[WIRE_MTU_MAX];
	bool has_bytes;
};

static uint8_t opcode_named(const struct line *line, const char *name)
{
	for (int i = 0; i < 256; i++) {
		const struct wire_op *op = wire_op_find((uint8_t)i);

		if (op && (strcmp(op->name, name) == 0 ||
			   (strncmp(op->name, "RC_", 3) == 0 && strcmp(op->name + 3, name) == 0)))
			return (uint8_t)i;
	}
	return (uint8_t)text_number(line, name);
}

/* data=c: that letter all over; data=REGION+OFFSET: the bytes there now; pattern=STREAM+OFFSET */
static void parse_payload(struct line *line, struct script_pkt *p)
{
	const char *text = line_get(line, "data");
	uint64_t offset;

	p->pkt.payload = p->bytes;
	if (text && strlen(text) == 1) {
		memset(p->bytes, text[0], sizeof(p->bytes));
	} else if (text) {
		struct named_mr *named = place_of(line, text, &offset);

		named->mr->ops->read(named->mr, offset, p->bytes, p->pkt.length);
	}
	p->has_bytes = text != NULL;
	text = line_get(line, "pattern");
	if (!text)
		return;
	p->pkt.synthetic = true;
	offset = text_number(line, strchr(text, '+') ? strchr(text, '+') + 1 : "none");
	p->pkt.pattern = wire_pattern(strtoull(text, NULL, 0), offset);
}

static void parse_pkt(struct line *line, struct script_pkt *p, uint32_t dest_qpn)
{
	struct wire_pkt *pkt = &p->pkt;

	*p = (struct script_pkt){0};
	pkt->opcode = opcode_named(line, line_word(line, "an opcode"));
	pkt->dest_qpn = (uint32_t)line_number(line, "qp", dest_qpn);
	pkt->psn = (uint32_t)line_number(line, "psn", 0);
	pkt->length = (uint16_t)line_number(line, "len", 0);
	pkt->ack_req = line_flag(line, "ackreq");
	pkt->solicited = line_flag(line, "solicited");
	pkt->becn = line_flag(line, "becn");
	pkt->va = line_get(line, "orig") ? line_number(line, "orig", 0)
					 : address(line, line_get(line, "va"));
	pkt->rkey = key_of(line, line_get(line, "rkey"));
	pkt->dma_length = (uint32_t)line_number(line, "dma", 0);
	if (line_get(line, "syn"))
		pkt->word = wire_aeth((uint8_t)line_number(line, "syn", 0),
				      (uint32_t)line_number(line, "msn", 0));
	else
		pkt->word = line_get(line, "inv") ? key_of(line, line_get(line, "inv"))
						  : (uint32_t)line_number(line, "imm", 0);
	if (line_get(line, "swap") || line_get(line, "add") || line_get(line, "pkey")) {
		pkt->has_rare = true;
		pkt->rare.swap_add = line_number(line, "swap", line_number(line, "add", 0));
		pkt->rare.compare = line_number(line, "cmp", 0);
		pkt->rare.pkey = (uint16_t)line_number(line, "pkey", WIRE_PKEY_DEFAULT);
	}
	if (line_get(line, "qkey")) {
		pkt->has_rare = true;
		pkt->rare.qkey = (uint32_t)line_number(line, "qkey", 0);
		pkt->rare.src_qpn = (uint32_t)line_number(line, "src", 0);
		pkt->rare.pkey = (uint16_t)line_number(line, "pkey", WIRE_PKEY_DEFAULT);
	}
	p->ecn = line_flag(line, "ce") ? WIRE_CE : line_flag(line, "ect") ? WIRE_ECT0 : 0;
	p->priority = (uint8_t)line_number(line, "priority", 0);
	parse_payload(line, p);
}

static void render_pkt(const struct script_pkt *p, char *text)
{
	const struct wire_pkt *pkt = &p->pkt;
	const struct wire_op *op = wire_op_find(pkt->opcode);
	int len = snprintf(text, TEXT_MAX,
			   "%s qp=0x%x psn=0x%x len=%u va=0x%llx rkey=0x%x dma=%u word=0x%x",
			   op ? op->name : "?", pkt->dest_qpn, pkt->psn, pkt->length,
			   (unsigned long long)pkt->va, pkt->rkey, pkt->dma_length, pkt->word);

	if (op && op->deth)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " qkey=0x%x src=0x%x",
				pkt->rare.qkey, pkt->rare.src_qpn);
	else if (pkt->has_rare)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " swap_add=%llu cmp=%llu",
				(unsigned long long)pkt->rare.swap_add,
				(unsigned long long)pkt->rare.compare);
	if (pkt->synthetic)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " pattern=%llx",
				(unsigned long long)pkt->pattern);
	snprintf(text + len, TEXT_MAX - (size_t)len, "%s%s%s%s priority=%u",
		 pkt->ack_req ? " ackreq" : "", pkt->solicited ? " solicited" : "",
		 pkt->becn ? " becn" : "", p->ecn == WIRE_ECT0 ? " ect" : "", p->priority);
}

static void do_in(struct line *line)
{
	struct script_pkt p;
	struct hca_rx rx = {0};

	parse_pkt(line, &p, qp_count ? hca_qp_qpn(qps[0].qp) : 0);
	line_end(line);
	rx.ecn = p.ecn;
	hca_input(dev, &p.pkt, &rx, now);
}

static bool take(struct script_pkt *p)
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
	bool none = line_flag(line, "none");

	if (!none) {
		parse_pkt(line, &want, qps[0].attr.dest_qpn);
		render_pkt(&want, expected);
	}
	line_end(line);
	if (take(&got))
		render_pkt(&got, found);
	if (strcmp(found, expected) != 0)
		line_bad(line, found, expected);
	if (!none && want.has_bytes && memcmp(want.bytes, got.bytes, want.pkt.length) != 0) {
		snprintf(found, sizeof(found), "payload that begins %.16s", (char *)got.bytes);
		snprintf(expected, sizeof(expected), "payload that begins %.16s",
			 (char *)want.bytes);
		line_bad(line, found, expected);
	}
}

/* What has happened. */

static void expect_seen(const struct line *line, struct seen *list, int *count,
			const char *expected)
{
	if (*count == 0)
		line_bad(line, "nothing", expected);
	if (strcmp(list[0].text, expected) != 0)
		line_bad(line, list[0].text, expected);
	forget(list, count);
}

static void do_wc(struct line *line)
{
	struct hca_wc wc = {0}, polled;
	char text[TEXT_MAX];
	const char *name = line_word(line, "a QP");

	find_qp(line, name);
	wc.wr_id = line_number(line, "id", 0);
	line_word(line, "id=N");
	wc.status = (enum hca_wc_status)text_name(line, line_word(line, "a status"), statuses,
						  "a status");
	if (wc.status == HCA_WC_SUCCESS) {
		wc.opcode = (enum hca_wc_opcode)text_name(line, line_word(line, "an operation"),
							  wc_opcodes, "an operation");
		wc.byte_len = (uint32_t)line_number(line, "len", 0);
		if (line_get(line, "imm")) {
			wc.flags = HCA_WC_WITH_IMM;
			wc.imm = htonl((uint32_t)line_number(line, "imm", 0));
		} else if (line_get(line, "inv")) {
			wc.flags = HCA_WC_WITH_INV;
			wc.imm = key_of(line, line_get(line, "inv"));
		}
		if (line_get(line, "src")) { /* of a datagram */
			wc.flags |= HCA_WC_GRH;
			wc.src_qpn = (uint32_t)line_number(line, "src", 0);
		}
	}
	line_end(line);
	render_wc(&wc, name, text);
	expect_seen(line, wcs, &wc_count, text);
	if (!cq_polled)
		return;
	if (hca_cq_poll(cq, 1, &polled) != 1 || polled.wr_id != wc.wr_id)
		line_bad(line, "another completion in the queue", text);
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
		line_bad(line, places[0].text, "nothing placed");
}

/* mem REGION+OFFSET:LENGTH data=c | data=REGION+OFFSET | same | u64=N */
static void do_mem(struct line *line, bool is_set)
{
	const char *where = line_word(line, "REGION+OFFSET:LENGTH");
	const char *length = strchr(where, ':');
	uint64_t offset;
	struct named_mr *named = place_of(line, where, &offset);
	struct script_pkt p = {.pkt.length = 8};
	uint64_t value = line_number(line, "u64", 0);
	char found[TEXT_MAX];

	if (length)
		p.pkt.length = (uint16_t)text_number(line, length + 1);
	memcpy(p.bytes, &value, sizeof(value));
	for (uint64_t i = 0; line_flag(line, "same") && i < p.pkt.length; i++)
		p.bytes[i] = first_byte(named, offset + i);
	if (line_get(line, "data"))
		parse_payload(line, &p);
	if (line_get(line, "mismatch")) {
		value = line_number(line, "mismatch", 0);
		snprintf(found, sizeof(found), "%llu bytes do not match",
			 (unsigned long long)named->mr->mismatch_bytes);
		line_end(line);
		if (named->mr->mismatch_bytes != value)
			line_bad(line, found, "as many as the script says");
		return;
	}
	line_end(line);
	if (is_set) {
		memcpy(named->host + offset, p.bytes, p.pkt.length);
	} else if (memcmp(named->host + offset, p.bytes, p.pkt.length) != 0) {
		snprintf(found, sizeof(found), "bytes that begin %.16s",
			 (char *)named->host + offset);
		line_bad(line, found, "the bytes of the script");
	}
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
		line_bad(line, found, expected);
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
		line_bad(line, found, text);
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

static void do_destroy(struct line *line)
{
	const char *name = line_word(line, "a region");
	struct named_mr *named = find_mr(line, name, strlen(name));

	line_end(line);
	CHECK(hca_mr_destroy(dev, named->mr) == 0);
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
	static const struct hca_mem_ops none = {"none", no_read, no_write, no_atomic};
	const char *name = line_word(line, "a region");

	line_end(line);
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

	if (take(&p)) {
		render_pkt(&p, text);
		snprintf(at, sizeof(at), "at %llups out %s", (unsigned long long)now, text);
		line_bad(line, at, "no packet that the script does not name");
	}
	if (wc_count)
		line_bad(line, wcs[0].text, "no completion that the script does not name");
	if (event_count)
		line_bad(line, events[0].text, "no event that the script does not name");
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
			line_bad(line, "a device that asks to be asked again and again",
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
		do_mem(line, false);
	else if (strcmp(what, "set") == 0)
		do_mem(line, true);
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
	if (strcmp(what, "device") == 0)
		do_device(line);
	else if (strcmp(what, "mr") == 0)
		do_mr(line);
	else if (strcmp(what, "qp") == 0)
		do_qp(line);
	else if (strcmp(what, "at") == 0)
		do_at(line);
	else
		line_bad(line, what, "device, mr, qp or at");
}

int main(int argc, char **argv)
{
	struct line line = {.file = argc == 2 ? argv[1] : "usage"};
	char text[TEXT_MAX];
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!file)
		line_bad(&line, "no script", "run FILE.pkt");
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
			    .wr_max = 64,
			    .sge_max = 4,
			    .cqe_max = 1024,
			    .inline_max = 64,
			    .rd_atomic_max = 16},
	};
	while (fgets(text, sizeof(text), file)) {
		line.number++;
		line_split(&line, text);
		run_line(&line);
	}
	fclose(file);
	if (!dev)
		line_bad(&line, "a script without a QP", "some");
	check_quiet(&line);
	for (int i = 0; i < mr_count; i++)
		free(mrs[i].host);
	hca_device_destroy(dev);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Plays packet scripts (tests/script/README.md) against the kernel's rxe, in the guest:
 *	script_rxe INTERFACE FILE...
 * The requests of a script are posted to rxe by libibverbs, its packets come and go by INTERFACE,
 *which is on the same wire as rxe's. Prints a line for each clause: SCRIPT WHICH VERDICT, where
 *WHICH counts from 1, and VERDICT is "same", or "line N: found ..., expected ...". A script with
 *words that rxe has no counterpart of gives "not played: WORD". Not compared are what is placed
 *when, counters, events, marks and priorities: rxe tells none of these. Times are not rxe's either:
 *what is expected may come within a second, and what should not come is waited for a moment. */
#include "tools/script/script.h"
#include "transport/wire/arp.h"
#include "transport/wire/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 1500,
	SILENCE_MS = 40,
	LANDING_US = 10000,
	SCRIPT_LIMIT_S = 60,
	CLAUSES_MAX = 64,
	DEPTH = 256
};

static const uint8_t ip_of_rxe[16] = {[10] = 0xff, 0xff, 10, 7, 0, 1};
static const uint8_t ip_of_peer[16] = {[10] = 0xff, 0xff, 10, 7, 0, 2};
static const uint8_t mac_of_rxe[6] = {0x52, 0x54, 0, 0, 0, 1},
		     mac_of_peer[6] = {0x52, 0x54, 0, 0, 0, 3};

static int wire_fd;
static struct ibv_context *context;
static struct ibv_pd *domains[2];
static struct ibv_cq *queue;
static struct ibv_mr *regions[OBJECTS_MAX];
static struct ibv_qp *pairs[OBJECTS_MAX];
static uint32_t scripted_qpns[OBJECTS_MAX];
static struct ibv_ah *handle;
static int gid_index;

/* The clauses that share the lines at hand, and what came of them. */
static struct {
	int first, count, checks;
	char verdict[TEXT_MAX * 2];
} group = {.first = 1};
static const char *script_name;
static jmp_buf at_difference;

static int64_t now_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* ---- the wire ---- */

static void send_frame(const void *frame, size_t bytes)
{
	if (send(wire_fd, frame, bytes, 0) < 0)
		perror("send");
}

/* The kernel asks who 10.7.0.2 is while a call of libibverbs waits for that: a process of its own
 * answers, until it is ended. */
static pid_t answer_neighbours(void)
{
	uint8_t frame[2048], room[WIRE_NEIGH_MAX];
	struct wire_neigh asked, answer;
	const pid_t pid = fork();
	ssize_t bytes;

	if (pid != 0)
		return pid;
	while ((bytes = recv(wire_fd, frame, sizeof(frame), 0)) > 0) {
		if (!wire_neigh_parse(&asked, frame, (size_t)bytes) || asked.reply ||
		    memcmp(asked.peer_ip, ip_of_peer, 16) != 0)
			continue;
		wire_neigh_answer(&asked, mac_of_peer, &answer);
		send_frame(room, wire_neigh_emit(&answer, room, sizeof(room)));
	}
	_exit(1);
}

static int open_wire(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	address.sll_ifindex = (int)if_nametoindex(interface);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		perror(interface);
		exit(3);
	}
	return fd;
}

static uint32_t scripted_qpn(uint32_t qpn)
{
	for (int i = 0; i < qp_count; i++)
		if (pairs[i] && pairs[i]->qp_num == qpn)
			return scripted_qpns[i];
	return qpn;
}

/* The next packet of rxe's; false: none within that time. */
static bool next_packet(struct script_pkt *p, int ms)
{
	static uint8_t frame[WIRE_FRAME_MAX + 64];
	const int64_t end = now_ms() + ms;
	struct wire_path path;

	for (;;) {
		const int64_t left = end - now_ms();
		struct pollfd ready = {.fd = wire_fd, .events = POLLIN};
		ssize_t bytes;

		if (poll(&ready, 1, left > 0 ? (int)left : 0) <= 0)
			return false;
		bytes = recv(wire_fd, frame, sizeof(frame), 0);
		if (bytes <= 0 || memcmp(frame + 6, mac_of_rxe, 6) != 0)
			continue;
		*p = (struct script_pkt){.has_bytes = true};
		if (wire_frame_parse(&path, &p->pkt, frame, (size_t)bytes) != WIRE_OK)
			continue;
		if (p->pkt.payload)
			memcpy(p->bytes, p->pkt.payload, p->pkt.length);
		p->pkt.payload = p->bytes;
		p->pkt.becn = p->pkt.fecn = false;
		p->pkt.rare.src_qpn = scripted_qpn(p->pkt.rare.src_qpn);
		return true;
	}
}

static void rxe_in(struct line *line)
{
	struct wire_path path = {.udp_sport = 49152, .ttl = 64};
	uint8_t frame[WIRE_FRAME_MAX];
	struct script_pkt p;
	const char *refused;
	size_t bytes;

	script_parse_pkt(line, &p, qp_count ? scripted_qpns[0] : 0);
	for (int i = 0; i < qp_count; i++)
		if (pairs[i] && scripted_qpns[i] == p.pkt.dest_qpn) {
			p.pkt.dest_qpn = pairs[i]->qp_num;
			break;
		}
	memcpy(path.src_ip, ip_of_peer, 16);
	memcpy(path.dst_ip, ip_of_rxe, 16);
	memcpy(path.src_mac, mac_of_peer, 6);
	memcpy(path.dst_mac, mac_of_rxe, 6);
	bytes = raw_frame(line, &path, &p.pkt, frame, sizeof(frame), &refused);
	line_end(line);
	if (!wire_op_find(p.pkt.opcode) || p.pkt.psn > 0xffffff || p.pkt.length > WIRE_MTU_MAX ||
	    (p.pkt.length > 0 && !wire_op_find(p.pkt.opcode)->payload))
		return; /* no frame has these */
	if (wire_op_find(p.pkt.opcode)->deth || wire_op_find(p.pkt.opcode)->atomiceth)
		p.pkt.has_rare = true;
	send_frame(frame, bytes ? bytes : wire_frame_emit(&path, &p.pkt, frame, sizeof(frame)));
}

static void rxe_out(struct line *line)
{
	char found[TEXT_MAX] = "nothing", expected[TEXT_MAX] = "nothing";
	bool none = line_flag(line, "none");
	struct script_pkt want, got;

	(void)line_flag(line, "wire");
	if (none && strstr(line->words[1], "999"))
		return; /* just before the time of something */
	if (!none) {
		script_parse_pkt(line, &want, qps[0].attr.dest_qpn);
		want.ecn = want.priority = 0;
		want.pkt.becn = false;
		script_render_pkt(&want, expected);
	}
	group.checks++;
	if (next_packet(&got, none ? SILENCE_MS : PATIENCE_MS))
		script_render_pkt(&got, found);
	if (strcmp(found, expected) != 0)
		line_differs(line, found, expected);
	if (!none && want.has_bytes && memcmp(want.bytes, got.bytes, want.pkt.length) != 0)
		line_differs(line, "another payload", "that of the script");
}

/* ---- libibverbs ---- */

static bool next_wc(struct hca_wc *ret_wc, const char **ret_name, int ms)
{
	const int64_t end = now_ms() + ms;
	struct ibv_wc wc;
	int done;

	while ((done = ibv_poll_cq(queue, 1, &wc)) == 0 && now_ms() < end)
		usleep(500);
	if (done <= 0)
		return false;
	*ret_wc = (struct hca_wc){
		.wr_id = wc.wr_id,
		.status = (enum hca_wc_status)wc.status,
		.opcode = (enum hca_wc_opcode)wc.opcode,
		.byte_len = wc.opcode & IBV_WC_RECV || wc.opcode == IBV_WC_RDMA_READ ||
					    wc.opcode == IBV_WC_COMP_SWAP ||
					    wc.opcode == IBV_WC_FETCH_ADD
				    ? wc.byte_len
				    : 0,
	};
	if (wc.status == IBV_WC_SUCCESS &&
	    wc.opcode & IBV_WC_RECV) { /* rxe says it of sends, too */
		ret_wc->flags = (wc.wc_flags & IBV_WC_WITH_IMM ? HCA_WC_WITH_IMM : 0) |
				(wc.wc_flags & IBV_WC_WITH_INV ? HCA_WC_WITH_INV : 0);
		ret_wc->imm = ret_wc->flags ? wc.imm_data : 0;
	}
	*ret_name = "?";
	for (int i = 0; i < qp_count; i++)
		if (pairs[i] && pairs[i]->qp_num == wc.qp_num) {
			*ret_name = qps[i].name;
			if (qps[i].type == HCA_QPT_UD && wc.opcode & IBV_WC_RECV) {
				ret_wc->flags |= HCA_WC_GRH;
				ret_wc->src_qpn = wc.src_qp;
			}
		}
	return true;
}

static void rxe_wc(struct line *line)
{
	char found[TEXT_MAX] = "nothing", expected[TEXT_MAX];
	struct hca_wc want, got;
	const char *name = script_parse_wc(line, &want);

	render_wc(&want, name, expected);
	group.checks++;
	if (next_wc(&got, &name, PATIENCE_MS))
		render_wc(&got, name, found);
	if (strcmp(found, expected) != 0)
		line_differs(line, found, expected);
}

static int access_flags(uint32_t access)
{
	return (access & HCA_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & HCA_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & HCA_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & HCA_ACCESS_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void compare_error(struct line *line, int error)
{
	group.checks++;
	expect_error(line, -error);
}

static void rxe_mr(struct line *line)
{
	struct named_mr *named = &mrs[mr_count];
	uint32_t access;

	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	named->iova = line_number(line, "va", 0);
	named->length = line_number(line, "len", 0);
	access = access_of(line, line_get(line, "access") ? line_get(line, "access") : "lwra");
	named->host = aligned_alloc(4096, (named->length + 8191) & ~(uint64_t)4095);
	for (uint64_t i = 0; i < named->length; i++)
		named->host[i] = first_byte(named, i);
	regions[mr_count] = ibv_reg_mr_iova(domains[line_number_to(line, "pd", 0, 1)], named->host,
					    named->length, named->iova, access_flags(access));
	if (regions[mr_count])
		named->key = regions[mr_count]->rkey;
	mr_count += regions[mr_count] != NULL;
	compare_error(line, mr_count > 0 && regions[mr_count - 1] && named == &mrs[mr_count - 1]
				    ? 0
				    : errno);
}

static int move_qp(int i, enum hca_qp_state state, bool is_bare)
{
	const struct hca_qp_attr *a = &qps[i].attr;
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)state,
		.port_num = 1,
		.qp_access_flags = (unsigned int)access_flags(a->access),
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = a->dest_qpn,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.max_rd_atomic = a->max_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer,
		.timeout = a->timeout ? 19 : 0, /* 2 s: the guest is slow */
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.qkey = a->qkey,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = (uint8_t)gid_index, .hop_limit = 64}}};

	memcpy(attr.ah_attr.grh.dgid.raw, ip_of_peer, 16);
	return ibv_modify_qp(pairs[i], &attr,
			     (int)(is_bare ? HCA_QP_STATE : mask_to(qps[i].type, state)));
}

static void rxe_qp(struct line *line)
{
	struct named_qp *named = &qps[qp_count];
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = queue,
		.recv_cq = queue,
		.cap = {.max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64}};
	const char *type, *state;
	enum hca_qp_state last;

	snprintf(named->name, sizeof(named->name), "%s", line_word(line, "a name"));
	type = line_get(line, "type");
	named->type = !type ? HCA_QPT_RC : strcmp(type, "uc") == 0 ? HCA_QPT_UC : HCA_QPT_UD;
	init.qp_type = (enum ibv_qp_type)named->type;
	init.qp_type = !type ? IBV_QPT_RC : named->type == HCA_QPT_UC ? IBV_QPT_UC : IBV_QPT_UD;
	init.cap.max_send_wr = (uint32_t)line_number(line, "sq", 16);
	init.cap.max_recv_wr = (uint32_t)line_number(line, "rq", 16);
	init.sq_sig_all = line_flag(line, "signal_all");
	scripted_qpns[qp_count] = (uint32_t)line_number(line, "qpn", 0x11 + (uint32_t)qp_count);
	named->attr = (struct hca_qp_attr){
		.access = access_of(line,
				    line_get(line, "access") ? line_get(line, "access") : "wra"),
		.dest_qpn = (uint32_t)line_number(line, "dest", 0x22 + (uint32_t)qp_count),
		.sq_psn = (uint32_t)line_number(line, "sq_psn", 100),
		.rq_psn = (uint32_t)line_number(line, "rq_psn", 200),
		.timeout = (uint8_t)line_number(line, "timeout", 14),
		.retry_cnt = (uint8_t)line_number(line, "retry", 7),
		.rnr_retry = (uint8_t)line_number(line, "rnr_retry", 7),
		.min_rnr_timer = (uint8_t)line_number(line, "rnr_timer", 12),
		.max_rd_atomic = (uint8_t)line_number(line, "rd", 4),
		.max_dest_rd_atomic = (uint8_t)line_number(line, "dest_rd", 4),
		.qkey = (uint32_t)line_number(line, "qkey", 0x1ee7)};
	state = line_get(line, "state");
	last = state ? (enum hca_qp_state)text_name(line, state, states, "a QP state")
		     : HCA_QPS_RTS;
	pairs[qp_count] = ibv_create_qp(domains[line_number_to(line, "pd", 0, 1)], &init);
	if (!pairs[qp_count])
		line_bad(line, named->name, "a queue pair that rxe makes");
	named->qp = (struct hca_qp *)
		pairs[qp_count]; /* for find_qp(), which asks whether it is there */
	line_end(line);
	qp_count++;
	for (enum hca_qp_state s = HCA_QPS_INIT; s <= last; s++)
		if (move_qp(qp_count - 1, s, false) != 0)
			line_bad(line, named->name, "a queue pair that rxe raises");
}

static int index_of(struct line *line, const char *name)
{
	return (int)(find_qp(line, name) - qps);
}

static int sges_of(struct line *line, struct ibv_sge *sge, bool is_inline)
{
	const char *text = line_get(line, "sge");
	int count = 0;
	char *copy, *save = NULL;

	if (!text)
		return 0;
	copy = strdup(text);
	for (char *one = strtok_r(copy, ",", &save); one && count < 8;
	     one = strtok_r(NULL, ",", &save)) {
		uint64_t offset;
		struct named_mr *named = place_of(line, one, &offset);

		sge[count++] = (struct ibv_sge){
			.addr = is_inline ? (uintptr_t)named->host + offset : named->iova + offset,
			.length = (uint32_t)text_number(line, strchr(one, ':') + 1),
			.lkey = named->key & 0xffffffff};
		sge[count - 1].lkey =
			regions[named - mrs] ? regions[named - mrs]->lkey : named->key;
	}
	free(copy);
	return count;
}

static void rxe_post(struct line *line)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[HCA_WR_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
		[HCA_WR_RDMA_WRITE_WITH_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[HCA_WR_SEND] = IBV_WR_SEND,
		[HCA_WR_SEND_WITH_IMM] = IBV_WR_SEND_WITH_IMM,
		[HCA_WR_RDMA_READ] = IBV_WR_RDMA_READ,
		[HCA_WR_ATOMIC_CMP_AND_SWP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[HCA_WR_ATOMIC_FETCH_AND_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[HCA_WR_LOCAL_INV] = IBV_WR_LOCAL_INV,
		[HCA_WR_SEND_WITH_INV] = IBV_WR_SEND_WITH_INV};
	const int i = index_of(line, line_word(line, "a QP"));
	const long opcode =
		text_name(line, line_word(line, "an operation"), wr_opcodes, "an operation");
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = {.sg_list = sge}, *bad;

	wr.opcode = opcode < (long)(sizeof(opcodes) / sizeof(opcodes[0])) ? opcodes[opcode]
									  : (enum ibv_wr_opcode)99;
	wr.wr_id = line_number(line, "id", 0);
	wr.send_flags = (line_flag(line, "fence") ? IBV_SEND_FENCE : 0) |
			(line_flag(line, "silent") ? 0 : IBV_SEND_SIGNALED) |
			(line_flag(line, "solicited") ? IBV_SEND_SOLICITED : 0);
	wr.send_flags |= line_flag(line, "inline") ? IBV_SEND_INLINE : 0;
	wr.num_sge = sges_of(line, sge, wr.send_flags & IBV_SEND_INLINE);
	if (line_get(line, "lkey"))
		sge[0].lkey = (uint32_t)line_number(line, "lkey", 0);
	if (line_get(line, "inv"))
		wr.invalidate_rkey = key_of(line, line_get(line, "inv"));
	else
		wr.imm_data = htonl((uint32_t)line_number(line, "imm", 0));
	if (qps[i].type == HCA_QPT_UD) {
		wr.wr.ud.ah = handle;
		wr.wr.ud.remote_qpn = (uint32_t)line_number(line, "to", 0);
		wr.wr.ud.remote_qkey = (uint32_t)line_number(line, "qkey", 0);
		(void)line_number(line, "priority", 0);
		(void)line_number(line, "va", 0), (void)line_number(line, "rkey", 0);
	} else if (opcode == HCA_WR_ATOMIC_CMP_AND_SWP || opcode == HCA_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = line_number(line, "va", 0);
		wr.wr.atomic.rkey = (uint32_t)line_number(line, "rkey", 0);
		wr.wr.atomic.compare_add = line_number(line, "add", line_number(line, "cmp", 0));
		wr.wr.atomic.swap = line_number(line, "swap", 0);
	} else {
		wr.wr.rdma.remote_addr = line_number(line, "va", 0);
		wr.wr.rdma.rkey = (uint32_t)line_number(line, "rkey", 0);
		(void)line_number(line, "add", 0);
	}
	compare_error(line, ibv_post_send(pairs[i], &wr, &bad));
}

static void rxe_recv(struct line *line)
{
	const int i = index_of(line, line_word(line, "a QP"));
	struct ibv_sge sge[8];
	struct ibv_recv_wr wr = {.wr_id = line_number(line, "id", 0), .sg_list = sge}, *bad;

	wr.num_sge = sges_of(line, sge, false);
	if (line_get(line, "lkey"))
		sge[0].lkey = (uint32_t)line_number(line, "lkey", 0);
	compare_error(line, ibv_post_recv(pairs[i], &wr, &bad));
}

static void rxe_modify(struct line *line)
{
	const int i = index_of(line, line_word(line, "a QP"));
	const bool is_bare = line_flag(line, "bare");
	const enum hca_qp_state state =
		(enum hca_qp_state)text_name(line, line_word(line, "a state"), states, "a state");

	(void)line_flag(line, "notify");
	qps[i].attr.sq_psn = (uint32_t)line_number(line, "sq_psn", qps[i].attr.sq_psn);
	qps[i].attr.rq_psn = (uint32_t)line_number(line, "rq_psn", qps[i].attr.rq_psn);
	compare_error(line, move_qp(i, state, is_bare));
}

static void rxe_destroy(struct line *line)
{
	const char *name = line_word(line, "a region or a QP");

	for (int i = 0; i < qp_count; i++)
		if (strcmp(qps[i].name, name) == 0) {
			compare_error(line, ibv_destroy_qp(pairs[i]));
			pairs[i] = NULL;
			return;
		}
	for (int i = 0; i < mr_count; i++)
		if (strcmp(mrs[i].name, name) == 0) {
			compare_error(line, ibv_dereg_mr(regions[i]));
			regions[i] = NULL;
		}
}

/* ---- scripts ---- */

/* What nobody has named, once all has come that may. */
static void settle(void)
{
	char text[TEXT_MAX];
	struct script_pkt p;
	struct hca_wc wc;
	const char *name;

	while (next_packet(&p, SILENCE_MS)) {
		script_render_pkt(&p, text);
		if (group.verdict[0] == '\0')
			snprintf(group.verdict, sizeof(group.verdict), "besides: %s", text);
	}
	while (next_wc(&wc, &name, 5)) {
		render_wc(&wc, name, text);
		if (group.verdict[0] == '\0')
			snprintf(group.verdict, sizeof(group.verdict), "besides: %s", text);
	}
}

static void end_group(void)
{
	settle();
	for (int i = 0; i < group.count; i++)
		printf("%s %d %s\n", script_name, group.first + i,
		       group.verdict[0] ? group.verdict : "same");
	group.first += group.count;
	group.count = group.checks = 0;
	group.verdict[0] = '\0';
}

static void on_difference(const struct line *line, const char *found, const char *expected)
{
	if (group.verdict[0] == '\0')
		snprintf(group.verdict, sizeof(group.verdict), "line %d: found %s, expected %s",
			 line->number, found, expected);
	longjmp(at_difference, 1);
}

static void rxe_at(struct line *line)
{
	static const struct {
		const char *word;
		void (*play)(struct line *line);
	} words[] = {{"in", rxe_in},	      {"out", rxe_out},	  {"wc", rxe_wc},
		     {"post", rxe_post},      {"recv", rxe_recv}, {"modify", rxe_modify},
		     {"destroy", rxe_destroy}};
	const char *what;

	static bool is_under_way;

	(void)text_time(line, line_word(line, "a time"));
	what = line_word(line, "what happens");
	if (is_under_way && strcmp(what, "in") != 0)
		usleep(LANDING_US); /* what was sent before this is there */
	is_under_way = strcmp(what, "in") == 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(what, words[i].word) == 0) {
			/* What is only looked at is not, where something was otherwise already. */
			if (group.verdict[0] == '\0' || i == 0 || i > 2)
				words[i].play(line);
			return;
		}
	if (strcmp(what, "mem") == 0 && group.verdict[0] == '\0') {
		group.checks++;
		script_mem(line, false);
	} else if (strcmp(what, "set") == 0) {
		script_mem(line, true);
	}
}

static void play_line(struct line *line)
{
	const char *what;
	static bool was_clause;

	if (line->count == 0)
		return;
	what = line_word(line, "a command");
	if (strcmp(what, "clause") == 0) {
		if (!was_clause)
			end_group();
		was_clause = true;
		group.count++;
		return;
	}
	was_clause = false;
	if (setjmp(at_difference) != 0)
		return;
	if (strcmp(what, "mr") == 0)
		rxe_mr(line);
	else if (strcmp(what, "qp") == 0)
		rxe_qp(line);
	else
		rxe_at(line);
}

static bool set_up(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};
	union ibv_gid gid;

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!context)
		return false;
	for (gid_index = 0; ibv_query_gid(context, 1, gid_index, &gid) == 0; gid_index++)
		if (memcmp(gid.raw, ip_of_rxe, 16) == 0)
			break;
	domains[0] = ibv_alloc_pd(context);
	domains[1] = ibv_alloc_pd(context);
	queue = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	memcpy(ah.grh.dgid.raw, ip_of_peer, 16);
	ah.grh.sgid_index = (uint8_t)gid_index;
	handle = domains[0] ? ibv_create_ah(domains[0], &ah) : NULL;
	return queue && domains[1] && handle;
}

static void play(FILE *file, const char *path)
{
	struct line line = {.file = path};
	char text[TEXT_MAX];

	line_on_difference = on_difference;
	if (!set_up()) {
		perror("rxe");
		exit(3);
	}
	while (fgets(text, sizeof(text), file)) {
		line.number++;
		line_split(&line, text);
		play_line(&line);
	}
	end_group();
}

/* A word that has no counterpart here; NULL: none. */
static const char *not_for_rxe(FILE *file)
{
	static const char *const words[] = {
		"device ",    "srq",   "mw ",	   " stream=", " fast",	      " xrc",
		"priorities", "unmap", " arm",	   "bind_mw",  " timeout=1",  " ce",
		"type=xrc",   " sqd",  "pkey=0x7", "10999ns",  "atomic_write"};
	char text[TEXT_MAX];

	while (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "#\n")] = '\0';
		if (strncmp(text, "clause", 6) == 0)
			continue;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strstr(text, words[i]) &&
			    (words[i][0] == ' ' || strncmp(text, words[i], 2) == 0 || i > 5))
				return words[i];
	}
	rewind(file);
	return NULL;
}

static void play_apart(const char *path)
{
	FILE *file = fopen(path, "r");
	static char name[64];
	const char *word, *slash = strrchr(path, '/');
	int status;
	pid_t pid;

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
	script_name = name;
	word = file ? not_for_rxe(file) : "no file";
	if (word) {
		printf("%s 0 not played:%s%s\n", name, word[0] == ' ' ? "" : " ", word);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(SCRIPT_LIMIT_S);
		play(file, path);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	fclose(file);
	if (status != 0)
		printf("%s 0 ended with status %#x\n", name, (unsigned int)status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pid_t neighbours;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	wire_fd = open_wire(argv[1]);
	neighbours = answer_neighbours();
	wire_fd = open_wire(argv[1]); /* of its own: each gets all frames */
	for (int i = 2; i < argc; i++)
		play_apart(argv[i]);
	kill(neighbours, SIGKILL);
	return 0;
}

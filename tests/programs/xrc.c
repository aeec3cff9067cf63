/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 has two shared receive queues in a domain of XRC, as two processes of one machine would,
 * and one queue pair a peer; every rank from 1 on sends through one of its own to the first and to
 * the second in turn, writes with an immediate for the second, and reads rank 0's memory back. Each
 * shared queue has its own completions, and gets what names it and nothing else. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

enum { QUEUES = 2, COUNT = 6, PLACE = 3000, READ_BYTES = 5000, WRITTEN = 99 };

/* Message k goes to queue k % 2. */
static const uint32_t lengths[COUNT] = {1, 3000, 0, 1024, 2500, 7};

struct domain {
	struct prog_ctx ctx;
	struct prog_qp *qps;
	int qp_count;
	uint8_t *bytes; /* READ_BYTES to be read, a word a rank, and the places of each queue */
	size_t length;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srqs[QUEUES];
	struct ibv_cq *cqs[QUEUES];
	uint32_t numbers[QUEUES];
};

static int failed(const struct domain *domain, const char *what, int error)
{
	prog_say(domain->ctx.prog, "rank %d: %s: %d", domain->ctx.prog->rank, what, error);
	return -1;
}

/* Receives of a queue: those of COUNT / 2 messages of each peer, and in the second one of a WRITE.
 */
static uint32_t places(const struct domain *domain)
{
	return (uint32_t)(domain->ctx.prog->size - 1) * (COUNT / 2 + 1);
}

static uint8_t *place(const struct domain *domain, int queue, uint64_t index)
{
	return domain->bytes + READ_BYTES + (size_t)domain->ctx.prog->size * sizeof(uint64_t) +
	       ((size_t)queue * places(domain) + index) * PLACE;
}

static int open_queue(struct domain *domain, int queue)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = places(domain), .max_sge = 1},
					    .comp_mask =
						    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						    IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = domain->ctx.pd,
					    .xrcd = domain->xrcd};

	domain->cqs[queue] = ibv_create_cq(domain->ctx.context, (int)places(domain), NULL, NULL, 0);
	if (!domain->cqs[queue])
		return failed(domain, "ibv_create_cq", errno);
	init.cq = domain->cqs[queue];
	domain->srqs[queue] = ibv_create_srq_ex(domain->ctx.context, &init);
	if (!domain->srqs[queue])
		return failed(domain, "ibv_create_srq_ex", errno);
	if (ibv_get_srq_num(domain->srqs[queue], &domain->numbers[queue]) != 0)
		return failed(domain, "ibv_get_srq_num", errno);
	for (uint32_t i = 0; i < places(domain); i++) {
		struct ibv_sge sge = {.addr = (uintptr_t)place(domain, queue, i),
				      .length = PLACE,
				      .lkey = domain->ctx.mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

		if (ibv_post_srq_recv(domain->srqs[queue], &wr, &bad) != 0)
			return failed(domain, "ibv_post_srq_recv", errno);
	}
	return 0;
}

static int open_domain(struct domain *domain)
{
	const struct vb_prog *prog = domain->ctx.prog;
	struct ibv_xrcd_init_attr init = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	domain->xrcd = ibv_open_xrcd(domain->ctx.context, &init);
	if (!domain->xrcd)
		return failed(domain, "ibv_open_xrcd", errno);
	prog_fill(domain->bytes, READ_BYTES, 1000);
	for (int queue = 0; queue < QUEUES; queue++)
		if (open_queue(domain, queue) != 0)
			return -1;
	return prog->put(prog, "queues", domain->numbers, sizeof(domain->numbers));
}

/* Which receive it took is another one each time; whose it is and which, its immediate says. */
static int receive(struct domain *domain, int queue)
{
	const struct vb_prog *prog = domain->ctx.prog;
	struct prog_ctx ctx = domain->ctx;
	struct ibv_wc wc;
	const uint8_t *bytes;
	uint32_t index;
	int i = 0;

	ctx.cq = domain->cqs[queue];
	if (prog_poll(&ctx, &wc) != 0)
		return -1;
	while (i < domain->qp_count && domain->qps[i].qp->qp_num != wc.qp_num)
		i++;
	index = ntohl(wc.imm_data) % 100;
	if (i == domain->qp_count || wc.wr_id >= places(domain) ||
	    ntohl(wc.imm_data) / 100 != (uint32_t)domain->qps[i].peer)
		return failed(domain, "not what was sent", (int)ntohl(wc.imm_data));
	if (index == WRITTEN ? queue != 1 || wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM
			     : index >= COUNT || queue != (int)index % QUEUES ||
				       wc.byte_len != lengths[index])
		return failed(domain, "not this queue's", (int)index);
	bytes = index == WRITTEN ? domain->bytes + READ_BYTES +
					   (size_t)domain->qps[i].peer * sizeof(uint64_t)
				 : place(domain, queue, wc.wr_id);
	wc.wr_id = ntohl(wc.imm_data);
	prog->report(prog, domain->qps[i].peer, 0, &wc, bytes);
	return prog_check(prog, "message", bytes, wc.byte_len, wc.wr_id);
}

static int receive_all(struct domain *domain)
{
	for (int queue = 0; queue < QUEUES; queue++)
		for (int i = 0; i < domain->qp_count * (COUNT / 2 + queue); i++)
			if (receive(domain, queue) != 0)
				return -1;
	return 0;
}

static int post_messages(struct domain *domain, struct prog_pending *pending)
{
	const uint32_t rank = (uint32_t)domain->ctx.prog->rank;
	uint8_t *bytes = domain->bytes;

	for (uint32_t k = 0; k < COUNT; k++) {
		prog_fill(bytes, lengths[k], rank * 100 + k);
		if (prog_post_send(domain->qps,
				   (struct prog_send){.wr_id = k,
						      .opcode = IBV_WR_SEND_WITH_IMM,
						      .bytes = bytes,
						      .length = lengths[k],
						      .imm = rank * 100 + k,
						      .srqn = domain->numbers[k % QUEUES]}) != 0)
			return -1;
		bytes += lengths[k];
		pending->sends++;
	}
	prog_fill(bytes, sizeof(uint64_t), rank * 100 + WRITTEN);
	pending->sends++;
	return prog_post_send(
		domain->qps,
		(struct prog_send){.wr_id = WRITTEN,
				   .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				   .bytes = bytes,
				   .length = sizeof(uint64_t),
				   .remote_offset = READ_BYTES + rank * sizeof(uint64_t),
				   .imm = rank * 100 + WRITTEN,
				   .srqn = domain->numbers[1]});
}

static int send_all(struct domain *domain)
{
	const struct vb_prog *prog = domain->ctx.prog;
	uint8_t *home = domain->bytes + domain->length - READ_BYTES;
	struct prog_pending pending = {0};

	if (prog->get(prog, "queues", domain->numbers, sizeof(domain->numbers)) != 0)
		return -1;
	if (post_messages(domain, &pending) != 0 ||
	    prog_post_send(domain->qps, (struct prog_send){.wr_id = 50,
							   .opcode = IBV_WR_RDMA_READ,
							   .bytes = home,
							   .length = READ_BYTES,
							   .srqn = domain->numbers[0]}) != 0)
		return -1;
	pending.sends++;
	if (prog_drain(domain->qps, NULL, &pending) != 0)
		return -1;
	return prog_check(prog, "what was read", home, READ_BYTES, 1000);
}

static int leave(struct domain *domain)
{
	if (!domain->xrcd)
		return prog_close(&domain->ctx, domain->qps, domain->qp_count);
	if (prog_idle(domain->ctx.prog) != 0)
		return -1;
	for (int i = 0; i < domain->qp_count; i++)
		if (ibv_destroy_qp(domain->qps[i].qp) != 0)
			return failed(domain, "ibv_destroy_qp", errno);
	if (ibv_close_xrcd(domain->xrcd) != EBUSY)
		return failed(domain, "ibv_close_xrcd with queues in it", 0);
	for (int queue = 0; queue < QUEUES; queue++)
		if (ibv_destroy_srq(domain->srqs[queue]) != 0 ||
		    ibv_destroy_cq(domain->cqs[queue]) != 0)
			return failed(domain, "destroying a queue", errno);
	if (ibv_close_xrcd(domain->xrcd) != 0)
		return failed(domain, "ibv_close_xrcd", errno);
	return prog_destroy(&domain->ctx, NULL, 0);
}

static int run(const struct vb_prog *prog, struct domain *domain)
{
	if (prog_open(&domain->ctx, prog, 16, domain->bytes, domain->length) != 0)
		return -1;
	if (prog->rank == 0 && open_domain(domain) != 0)
		return -1;
	for (int i = 0; i < domain->qp_count; i++)
		if (prog_qp_open(&domain->qps[i], &domain->ctx,
				 (struct prog_qp_params){.peer = prog->rank == 0 ? i + 1 : 0,
							 .send_depth = 8,
							 .type = prog->rank == 0 ? IBV_QPT_XRC_RECV
										 : IBV_QPT_XRC_SEND,
							 .xrcd = domain->xrcd}) != 0)
			return -1;
	if (prog_connect(domain->qps, domain->qp_count) != 0)
		return -1;
	if (prog->rank == 0 ? receive_all(domain) != 0 : send_all(domain) != 0)
		return -1;
	return leave(domain);
}

int prog_main(const struct vb_prog *prog)
{
	struct domain domain = {.qp_count = prog->rank == 0 ? prog->size - 1 : 1};
	int ret = -1;

	if (prog->size < 2)
		return prog_idle(prog);
	domain.length = (size_t)READ_BYTES + (size_t)prog->size * sizeof(uint64_t) +
			(size_t)QUEUES * (COUNT / 2 + 1) * PLACE * (size_t)prog->size;
	domain.bytes = calloc(1, domain.length);
	domain.qps = calloc((size_t)domain.qp_count, sizeof(*domain.qps));
	if (domain.bytes && domain.qps)
		ret = run(prog, &domain);
	free(domain.bytes);
	free(domain.qps);
	return ret;
}

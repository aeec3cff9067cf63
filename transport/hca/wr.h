/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_WR_H
#define HCA_WR_H

/* Work requests and completions. The values of these enumerations are those of libibverbs
 * (checked in transport/verbs/convert.c), so that nothing is converted on the data path. */
#include "transport/wire/path.h"

/* enum ibv_wr_opcode */
enum hca_wr_opcode {
	HCA_WR_RDMA_WRITE = 0,
	HCA_WR_RDMA_WRITE_WITH_IMM = 1,
	HCA_WR_SEND = 2,
	HCA_WR_SEND_WITH_IMM = 3,
	HCA_WR_RDMA_READ = 4,
	HCA_WR_ATOMIC_CMP_AND_SWP = 5,
	HCA_WR_ATOMIC_FETCH_AND_ADD = 6,
	HCA_WR_LOCAL_INV = 7,
	HCA_WR_BIND_MW = 8,
	HCA_WR_SEND_WITH_INV = 9,
	HCA_WR_FLUSH = 14,
	HCA_WR_ATOMIC_WRITE = 15,
};

/* enum ibv_send_flags */
enum hca_send_flags {
	HCA_SEND_FENCE = 1,
	HCA_SEND_SIGNALED = 2,
	HCA_SEND_SOLICITED = 4,
	HCA_SEND_INLINE = 8,
};

/* enum ibv_wc_status */
enum hca_wc_status {
	HCA_WC_SUCCESS = 0,
	HCA_WC_LOC_LEN_ERR = 1,
	HCA_WC_LOC_QP_OP_ERR = 2,
	HCA_WC_LOC_PROT_ERR = 4,
	HCA_WC_WR_FLUSH_ERR = 5,
	HCA_WC_MW_BIND_ERR = 6,
	HCA_WC_BAD_RESP_ERR = 7,
	HCA_WC_LOC_ACCESS_ERR = 8,
	HCA_WC_REM_INV_REQ_ERR = 9,
	HCA_WC_REM_ACCESS_ERR = 10,
	HCA_WC_REM_OP_ERR = 11,
	HCA_WC_RETRY_EXC_ERR = 12,
	HCA_WC_RNR_RETRY_EXC_ERR = 13,
	HCA_WC_REM_ABORT_ERR = 16,
	HCA_WC_FATAL_ERR = 19,
};

/* enum ibv_wc_opcode */
enum hca_wc_opcode {
	HCA_WC_SEND = 0,
	HCA_WC_RDMA_WRITE = 1,
	HCA_WC_RDMA_READ = 2,
	HCA_WC_COMP_SWAP = 3,
	HCA_WC_FETCH_ADD = 4,
	HCA_WC_BIND_MW = 5,
	HCA_WC_LOCAL_INV = 6,
	HCA_WC_FLUSH = 8,
	HCA_WC_ATOMIC_WRITE = 9,
	HCA_WC_RECV = 128,
	HCA_WC_RECV_RDMA_WITH_IMM = 129,
};

/* With the last, the datagram came in IPv4; it stays inside, and vrb_wc() says it in a way of its
 * own. */
enum hca_wc_flags {
	HCA_WC_GRH = 1,
	HCA_WC_WITH_IMM = 2,
	HCA_WC_WITH_INV = 8,
	HCA_WC_IPV4 = 1 << 16,
};

struct hca_sge { /* the layout of struct ibv_sge */
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct hca_send_wr {
	uint64_t wr_id;
	enum hca_wr_opcode opcode;
	uint32_t flags; /* enum hca_send_flags */
	const struct hca_sge *sge;
	uint32_t sge_count;
	uint32_t imm; /* immediate in network order, as given; or rkey to invalidate */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add, swap; /* atomics, as struct ibv_send_wr */
	/* UD: of the address handle, for this call; and whom it is for. A Q_Key with the highest
	 * bit set stands for that of the sending queue pair (IBTA 10.2.5). */
	const struct wire_path *path;
	uint32_t dest_qpn, qkey;
	uint32_t srqn; /* XRC: of the other end's shared receive queue */
	/* BIND_MW has no list; @imm is the window's rkey as it is, @rkey as it shall be; it shows
	 * @compare_add bytes from @remote_addr on, of the region whose lkey are the low 32 bits of
	 * @swap, with the rights in the high 32 bits.
	 *
	 * ATOMIC_WRITE has a list of 8 bytes, or none, and the bytes are those of @compare_add.
	 * FLUSH has no list: @compare_add bytes from @remote_addr on, and @swap is its header
	 * (WIRE_FETH_...): which places the bytes shall have reached, and whether it is about those
	 * bytes or all of the region. */
};

struct hca_recv_wr {
	uint64_t wr_id;
	const struct hca_sge *sge;
	uint32_t sge_count;
};

struct hca_wc {
	uint64_t wr_id;
	enum hca_wc_status status;
	enum hca_wc_opcode opcode; /* undefined where status is an error, as IBTA has it */
	/* Of a send queue: how many of its requests had ended with this one, since its reset; 0: of
	 * a receive queue. */
	uint32_t ended;
	uint32_t byte_len; /* receives, READs, atomics */
	uint32_t imm;	   /* network order, or the rkey that was invalidated */
	uint32_t qpn, src_qpn;
	uint32_t flags; /* enum hca_wc_flags */
	/* The device's time at which the adapter wrote it; its own to fill. Signed where time began
	 * anew since (hca_device_move_epoch()). */
	uint64_t at;
};

#endif

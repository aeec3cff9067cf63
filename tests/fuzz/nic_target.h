/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_NIC_TARGET_H
#define TESTS_FUZZ_NIC_TARGET_H

/* The NIC that tests/fuzz/fuzz_nic_peer.c attacks: queue pairs of each kind that the hostile peer
 * is the other end of, one that is another's, and memory with all rights that a region may have or
 * lack, of which it is known what may change. */
#include "transport/nic/internal.h"
#include "transport/nic/shm_door.h"
#include "transport/wire/psn.h"

/* Queue pairs: RC, RC with a shared receive queue, UC, UD; and an RC one whose peer another is. */
enum { QP_RC, QP_SHARES, QP_UC, QP_UD, QP_OTHERS, PEER_QPS };
enum target_area {
	AREA_PRIVATE, /* no region */
	AREA_SOURCE,  /* no right at all: what is sent */
	AREA_READABLE,
	AREA_WRITABLE,
	AREA_ATOMIC,
	AREA_LANDS,  /* LOCAL_WRITE: receives and results, pieces with gaps */
	AREA_GONE,   /* all rights, but it was deregistered */
	AREA_DOMAIN, /* all rights, but in another protection domain */
	TARGET_AREAS
};
enum {
	TARGET_MARGIN = 512, /* of an area before and behind its region */
	TARGET_MIDDLE = 2048,
	TARGET_AREA = TARGET_MIDDLE + 2 * TARGET_MARGIN,
	TARGET_MTU = 256,
	TARGET_RQ_PSN = 0xfffff0,
	TARGET_SQ_PSN = 0xfffff8,
	TARGET_QKEY = 0x11111111,
	TARGET_WRS = 1024,
	TARGET_SECRET_BYTES = 8,
};
extern const char target_secret[TARGET_SECRET_BYTES + 1];

struct target {
	struct nic *nic;
	struct hca_device *hca;
	struct hca_pd *pds[2];
	struct hca_cq *cq, *others_cq;
	struct hca_srq *srq;
	struct hca_mr *mrs[TARGET_AREAS];
	uint32_t rkeys[TARGET_AREAS];
	struct hca_qp *qps[PEER_QPS];
	struct wire_path path; /* to the peer */
	uint8_t *memory, *before;
	uint8_t done[TARGET_WRS]; /* by wr_id */
	uint32_t posted, landings;
};

/* Host @k of this process: 0 the target, 1 the hostile one, 2 the honest one, 3 nobody. */
void target_ip(unsigned k, uint8_t ret_ip[16]);
/* All connected queue pairs but the last are with @peer_qpn at host 1. */
void target_open(struct target *t, uint32_t peer_qpn);
void target_close(struct target *t); /* and judges */
uint32_t target_qpn(const struct target *t, uint32_t qp);
/* Of a byte in an area's region. */
uint64_t target_va(const struct target *t, uint32_t area, uint32_t offset);

/* @pieces: of TARGET_MIDDLE bytes each, where it sends. */
void target_post(struct target *t, uint32_t qp, enum hca_wr_opcode opcode, uint32_t pieces,
		 uint32_t peer_qpn);
void target_post_recv(struct target *t, uint32_t qp);
void target_poll(struct target *t);

/* A NIC of its own comes by a ring, sends a message and gets its acknowledgement. */
void target_serve_another(struct target *t);

#endif

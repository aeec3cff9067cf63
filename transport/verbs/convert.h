/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_CONVERT_H
#define VERBS_CONVERT_H

/* Between what libibverbs promises its callers and what the rest of this code base returns. The
 * three errno rules of verbs stand here and nowhere else. */
#include "transport/verbs/backend.h"

/* @ret is 0 or -EXXX in all of these. */
int vrb_positive(int ret);  /* modify, destroy, post, query: 0 or EXXX; sets errno too */
int vrb_minus_one(int ret); /* query_gid, query_pkey, get_..._event: 0, or -1 with errno */
void *vrb_null(int ret);    /* constructors: NULL with errno */

/* 0: not an MTU. */
uint32_t vrb_mtu_bytes(enum ibv_mtu mtu);
enum ibv_mtu vrb_mtu_enum(uint32_t bytes);

/* -EINVAL: a flag that this adapter does not know and may not ignore. */
int vrb_access(unsigned int flags, uint32_t *ret_access);

/* -EINVAL: no GRH (on Ethernet it is mandatory), a port other than 1. */
int vrb_av_init(struct vrb_av *av, const struct ibv_ah_attr *attr);

/* -EINVAL: an opcode or a flag that the adapter does not have. */
/* Of a frame, which says itself where it goes. */
extern const struct wire_path vrb_no_way;
int vrb_send_wr(struct hca_send_wr *hca, const struct ibv_send_wr *wr, enum ibv_qp_type type);
/* What BIND_MW is about; a region that is none names none, and nothing can be shown of it. */
void vrb_bind_wr(struct hca_send_wr *hca, const struct ibv_mw *mw, uint32_t rkey,
		 const struct ibv_mw_bind_info *info);
int vrb_recv_wr(struct hca_recv_wr *hca, const struct ibv_recv_wr *wr);
void vrb_wc(struct ibv_wc *wc, const struct hca_wc *hca);

#endif

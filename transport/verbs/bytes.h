/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_BYTES_H
#define VERBS_BYTES_H

/* A backend in front of another one: every call becomes flat bytes (transport/verbs/cursor.h), is
 * parsed anew as by a stranger, made, and its answer comes back the same way. Whoever uses it sees
 * no difference (tests/programs/sim.sh: the same digest), so nothing crosses the seam that bytes
 * cannot carry. Events are bytes already (transport/verbs/ring.h), as is what a channel's
 * descriptor tells; the descriptor itself goes as its number.
 *
 * A request is the number of the call (32 bits) and what it takes, an answer what it returned (32
 * bits) and, where it has filled something, that. A request that is too short, too long, or none
 * is refused: -EPROTO. */
#include "transport/verbs/backend.h"
#include "transport/verbs/cursor.h"

extern const struct vrb_backend vrb_bytes;

/* @inner, handed @self, gets the calls; detach() detaches it. NULL: no memory. */
void *vrb_bytes_create(const struct vrb_backend *inner, void *self);

/* How many bytes an INLINE request with the list @sge has behind that: what is refused anyway, as
 * too long or because nothing of that kind is INLINE, has none, and its memory is not read. */
uint32_t vrb_bytes_inline(const struct hca_send_wr *wr, const struct hca_sge *sge, uint32_t count,
			  uint32_t inline_max);

/* The values that cross, field by field. */
void vrb_pass_info(struct vrb_cursor *c, struct vrb_info *info);
void vrb_pass_limits(struct vrb_cursor *c, struct vrb_limits *limits);
void vrb_pass_av(struct vrb_cursor *c, struct vrb_av *av);
void vrb_pass_path(struct vrb_cursor *c, struct wire_path *path);
void vrb_pass_mr_init(struct vrb_cursor *c, struct vrb_mr_init *init);
void vrb_pass_mr_info(struct vrb_cursor *c, struct vrb_mr_info *info);
void vrb_pass_cq_init(struct vrb_cursor *c, struct vrb_cq_init *init);
void vrb_pass_xrcd_init(struct vrb_cursor *c, struct hca_xrcd_init *init);
void vrb_pass_qp_open(struct vrb_cursor *c, struct vrb_qp_open *open);
void vrb_pass_srq_init(struct vrb_cursor *c, struct vrb_srq_init *init);
void vrb_pass_srq_attr(struct vrb_cursor *c, struct hca_srq_attr *attr);
void vrb_pass_qp_init(struct vrb_cursor *c, struct vrb_qp_init *init);
void vrb_pass_qp_cap(struct vrb_cursor *c, struct hca_qp_cap *cap);
void vrb_pass_qp_attr(struct vrb_cursor *c, struct hca_qp_attr *attr); /* without the path */
void vrb_pass_sge(struct vrb_cursor *c, struct hca_sge *sge);
/* Without what sge and path lead to; path: whether there is one. */
void vrb_pass_send_wr(struct vrb_cursor *c, struct hca_send_wr *wr, bool *has_path);
void vrb_pass_recv_wr(struct vrb_cursor *c, struct hca_recv_wr *wr);
void vrb_pass_wc(struct vrb_cursor *c, struct ibv_wc *wc);
void vrb_pass_stamped(struct vrb_cursor *c, struct vrb_stamped *stamped);

#endif

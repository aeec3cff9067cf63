/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_MW_H
#define HCA_MW_H

/* Memory windows (IBTA 10.6.7.2): an rkey for a part of a region, with rights of its own, given and
 * taken by work requests. HCA_WR_BIND_MW makes a window show some of a region of the same
 * protection domain that was registered with HCA_ACCESS_MW_BIND; a region with a window cannot be
 * destroyed.
 *
 *	type 1	may be bound again, which ends what it showed before, and with a length of 0 to
 *		nothing. Any queue pair of its protection domain may be asked for it.
 *	type 2	belongs to the queue pair that has bound it: only requests to that one reach it. It
 *		is bound when it is not yet, never to nothing, and ends by LOCAL_INV, SEND with
 *		Invalidate, or with its queue pair. A device has type 2A, where the number of the
 *		queue pair says it all, or 2B, where its protection domain has to be the window's,
 *		too (mw_is_2a of its profile). To be bound, both need one protection domain.
 *
 * The low 8 bits of the new rkey are the consumer's, all others those of the window. Rights
 * are those of requests from outside: HCA_ACCESS_LOCAL_WRITE may be asked for and gives nothing.
 * What cannot be bound fails with HCA_WC_MW_BIND_ERR. */
#include <stdint.h>

struct hca_device;
struct hca_mw;
struct hca_pd;

enum hca_mw_type { HCA_MW_TYPE_1 = 1, HCA_MW_TYPE_2 = 2 }; /* enum ibv_mw_type */

/* -ENOMEM: no memory, or as many as the device has regions; -EINVAL: another type. */
int hca_mw_create(struct hca_device *dev, struct hca_pd *pd, enum hca_mw_type type,
		  struct hca_mw **ret_mw);
void hca_mw_destroy(struct hca_device *dev, struct hca_mw *mw); /* what it showed is not any more */
uint32_t hca_mw_rkey(const struct hca_mw *mw); /* the last it was bound with; at first a name */

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/link/ecn.h"

#include "util/check.h"

/* draw / 2^32 < pmax * (q - kmin) / (kmax - kmin), without a division. */
static bool ecn_mark(const struct sim_mark *mark, uint32_t queue_bytes, uint32_t draw)
{
	const struct ecn *ecn = (const struct ecn *)(const void *)mark;

	if (queue_bytes <= ecn->kmin_bytes)
		return false;
	if (queue_bytes > ecn->kmax_bytes)
		return true;
	return (u128)draw * (ecn->kmax_bytes - ecn->kmin_bytes) <
	       (u128)ecn->pmax_q32 * (queue_bytes - ecn->kmin_bytes);
}

struct ecn ecn_make(uint32_t kmin_bytes, uint32_t kmax_bytes, uint32_t pmax_num, uint32_t pmax_den)
{
	_Static_assert(offsetof(struct ecn, mark) == 0, "ecn_mark() relies on it");
	CHECK(kmin_bytes <= kmax_bytes);
	CHECK(pmax_num <= pmax_den);
	CHECK(pmax_den > 0);
	return (struct ecn){
		.mark = {.mark = ecn_mark, .quiet_bytes = kmin_bytes},
		.kmin_bytes = kmin_bytes,
		.kmax_bytes = kmax_bytes,
		.pmax_q32 = ((uint64_t)pmax_num << 32) / pmax_den,
	};
}

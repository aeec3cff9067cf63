/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/arrivals.h"

#include "util/exponential.h"
#include "util/rand.h"

enum purpose { GAP = 0x676170, SIZE = 0x73697a65, TO = 0x746f };

/* A stream for each purpose in which flow @n has its own place, with room for draws that are thrown
 * away. */
static struct util_rand arrivals_stream(const struct arrivals *arrivals,
					const struct arrivals_host *host, enum purpose purpose)
{
	return (struct util_rand){.seed = arrivals->seed,
				  .entity = host->id,
				  .purpose = arrivals->class_id ^ purpose,
				  .counter = host->count << 16};
}

/* Mean size * 8 / (load * rate): the mean comes in 1 / (2 * 10^9). */
ps_t arrivals_gap(const struct arrivals *arrivals, uint64_t rate_bps)
{
	const u128 most = (u128)1 << 60;
	const u128 line = cdf_mean_scaled(&arrivals->sizes) * (8 * PS_S / 2 / CDF_WHOLE) / rate_bps;
	const u128 gap = (line < most ? line : most) * arrivals->load_den / arrivals->load_num;

	return gap == 0 ? 1 : (ps_t)(gap < most ? gap : most);
}

bool arrivals_next(const struct arrivals *arrivals, struct arrivals_host *host, uint32_t others,
		   struct arrivals_flow *ret_flow)
{
	struct util_rand gap = arrivals_stream(arrivals, host, GAP),
			 size = arrivals_stream(arrivals, host, SIZE);
	struct util_rand to = arrivals_stream(arrivals, host, TO);
	const u128 wait = (u128)host->gap * util_exponential(util_rand_next(&gap)) >> 32;

	if (wait >= arrivals->until - host->at)
		return false;
	host->at += (ps_t)wait;
	host->count++;
	*ret_flow = (struct arrivals_flow){
		.start_at = host->at,
		.bytes = cdf_sample(&arrivals->sizes, util_rand_next(&size)),
		.to = (uint32_t)util_rand_below(&to, others),
	};
	return true;
}

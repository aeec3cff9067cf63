/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/cdf.h"

#include <string.h>

/* Web search (Alizadeh et al., DCTCP, SIGCOMM 2010), as Li et al., HPCC, SIGCOMM 2019 have it.
 * Mean 1.711 MB. */
static const struct cdf_point websearch[] = {
	{0, 0},
	{10000, 150000000},
	{20000, 200000000},
	{30000, 300000000},
	{50000, 400000000},
	{80000, 530000000},
	{200000, 600000000},
	{1000000, 700000000},
	{2000000, 800000000},
	{5000000, 900000000},
	{10000000, 970000000},
	{30000000, 1000000000},
};

/* Facebook Hadoop (Roy et al., SIGCOMM 2015), as in HPCC. Mean 120.4 KB. */
static const struct cdf_point fb_hadoop[] = {
	{0, 0},
	{100, 10000000},
	{200, 20000000},
	{300, 50000000},
	{350, 150000000},
	{400, 200000000},
	{500, 300000000},
	{600, 400000000},
	{700, 500000000},
	{1000, 600000000},
	{2000, 670000000},
	{7000, 700000000},
	{30000, 720000000},
	{50000, 820000000},
	{80000, 870000000},
	{120000, 900000000},
	{300000, 950000000},
	{1000000, 975000000},
	{2000000, 990000000},
	{10000000, 1000000000},
};

/* Alibaba storage, HPCC 2019. Mean 40.9 KB. */
static const struct cdf_point alistorage2019[] = {
	{0, 0},
	{4000, 229300000},
	{8000, 692100000},
	{16000, 806100000},
	{32000, 904700000},
	{64000, 935300000},
	{128000, 967700000},
	{256000, 975300000},
	{2000000, 1000000000},
};

/* Alibaba block storage (Miao et al., Solar, SIGCOMM 2022). Mean 39.4 KB. */
static const struct cdf_point solar2022[] = {
	{0, 0},
	{4095, 10000},
	{4096, 300000000},
	{16383, 350000000},
	{16384, 500000000},
	{65535, 600000000},
	{65536, 950000000},
	{262144, 1000000000},
};

/* RPCs of a Google data centre (Montazeri et al., Homa, SIGCOMM 2018), 40 of its 120 points:
 * shares within 0.2 %, mean 2.98 KB. */
static const struct cdf_point google_rpc[] = {
	{0, 0},
	{36, 108913000},
	{77, 220705000},
	{110, 318856000},
	{158, 406446000},
	{268, 523994000},
	{313, 602272000},
	{402, 706643000},
	{573, 801695000},
	{717, 829652000},
	{896, 852017000},
	{1271, 880957000},
	{1755, 901252000},
	{2286, 914298000},
	{3171, 927344000},
	{5521, 950105000},
	{7054, 959574000},
	{10663, 973756000},
	{14292, 981711000},
	{16699, 984909000},
	{25170, 988679000},
	{35606, 990857000},
	{47600, 992180000},
	{80798, 994719000},
	{95133, 995666000},
	{119156, 996742000},
	{140605, 997308000},
	{184125, 997892000},
	{222540, 998217000},
	{292759, 998672000},
	{362969, 999034000},
	{463677, 999362000},
	{529425, 999503000},
	{662487, 999607000},
	{922664, 999723000},
	{1240351, 999798000},
	{1960314, 999879000},
	{4883570, 999962000},
	{10668901, 999992000},
	{15158197, 1000000000},
};

#define NAMED(name)                                                                                \
	{                                                                                          \
#name,                                                                             \
		{                                                                                  \
			name, sizeof(name) / sizeof(name[0])                                       \
		}                                                                                  \
	}
static const struct {
	const char *name;
	struct cdf cdf;
} named[] = {
	NAMED(websearch), NAMED(fb_hadoop),  NAMED(alistorage2019),
	NAMED(solar2022), NAMED(google_rpc),
};

const char *cdf_name(uint32_t i)
{
	return i < sizeof(named) / sizeof(named[0]) ? named[i].name : NULL;
}

bool cdf_named(const char *name, struct cdf *ret_cdf)
{
	for (uint32_t i = 0; cdf_name(i); i++)
		if (strcmp(named[i].name, name) == 0) {
			*ret_cdf = named[i].cdf;
			return true;
		}
	return false;
}

uint64_t cdf_sample(const struct cdf *cdf, uint64_t draw)
{
	const uint64_t at = (uint64_t)((u128)draw * CDF_WHOLE >> 32); /* a share in Q30.32 */
	uint32_t low = 0, high = cdf->count - 1;
	uint64_t bytes;

	while (high - low > 1) { /* share of low <= at < share of high */
		const uint32_t middle = low + (high - low) / 2;

		if ((uint64_t)cdf->points[middle].share << 32 <= at)
			low = middle;
		else
			high = middle;
	}
	const struct cdf_point *a = &cdf->points[low], *b = &cdf->points[high];
	const uint64_t step = (uint64_t)(b->share - a->share) << 32;

	bytes = a->bytes +
		(uint64_t)((u128)(b->bytes - a->bytes) * (at - ((uint64_t)a->share << 32)) / step);
	return bytes > 0 ? bytes : 1;
}

u128 cdf_mean_scaled(const struct cdf *cdf)
{
	u128 sum = 0;

	for (uint32_t i = 1; i < cdf->count; i++) {
		const struct cdf_point *a = &cdf->points[i - 1], *b = &cdf->points[i];

		sum += (u128)(b->share - a->share) * (a->bytes + b->bytes);
	}
	return sum;
}

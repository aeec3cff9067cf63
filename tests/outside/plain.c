/* SPDX-License-Identifier: BSD-2-Clause */

/* A plain main(): rank after rank adds to what the one before it had, and sleeps a while. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verbena/verbena.h>

int main(int argc, char **argv)
{
	const int rank = vb_rank(), size = vb_size(), step = argc > 1 ? atoi(argv[1]) : 1;
	const uint64_t begin = vb_now_ps();
	char key[32];
	int sum = 0;

	if (vb_version() < VB_VERSION || argv[argc] != NULL)
		return 2;
	vb_sleep_ns(1000000);
	if (vb_now_ps() - begin < 1000000000)
		return 3;
	snprintf(key, sizeof(key), "sum %d", rank - 1);
	if (rank > 0 && vb_get(key, &sum, sizeof(sum)) != sizeof(sum))
		return 4;
	sum += step;
	snprintf(key, sizeof(key), "sum %d", rank);
	if (vb_put(key, &sum, sizeof(sum)) != 0)
		return 5;
	if (rank == size - 1)
		printf("%s: %d\n", strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0],
		       sum);
	return 0;
}

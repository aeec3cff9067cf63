/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums and collections of growing size among all ranks, every element checked; and a line from rank
 * 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100000 };

static int wrong_elements(int rank, int size, int count, int *mine, int *got)
{
	int wrong = 0;

	for (int i = 0; i < count; i++)
		mine[i] = i * (rank + 1);
	MPI_Allreduce(mine, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		wrong += got[i] != i * size * (size + 1) / 2;
	MPI_Allgather(mine, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size * count; i++)
		wrong += got[i] != i % count * (i / count + 1);
	return wrong;
}

int main(int argc, char **argv)
{
	int rank, size, wrong = 0, all = 0;
	int *mine, *got;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mine = malloc(MOST * sizeof(*mine));
	got = malloc((size_t)size * MOST * sizeof(*got));
	if (!mine || !got)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int count = 1; count <= MOST; count *= 10)
		wrong += wrong_elements(rank, size, count, mine, got);
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d wrong\n", size, all);
	free(mine);
	free(got);
	MPI_Finalize();
	return all != 0;
}

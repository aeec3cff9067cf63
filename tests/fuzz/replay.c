/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for libFuzzer's main: gives the target every file of the folders named as arguments,
 * and every prefix of it; of a long one some. -N: of each file so many prefixes at most, for a
 * target that takes its time. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 512, PREFIXES = 100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From memory of exactly that size, so that a sanitizer sees what is read behind it. */
static void give(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* How much longer each prefix is than the one before. */
static size_t prefix_step(size_t size, size_t most)
{
	if (most > 0)
		return size / most + 1;
	return size > LONG ? size / PREFIXES : 1;
}

static int replay(const char *path, size_t most)
{
	static uint8_t data[1 << 16];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f) {
		perror(path);
		return -1;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t part = 0; part < size; part += prefix_step(size, most))
		give(data, part);
	give(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	const size_t most = argc > 1 && argv[1][0] == '-' ? (size_t)atoi(argv[1] + 1) : 0;
	int count = 0;

	for (int i = most > 0 ? 2 : 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *entry;
		char path[4096];

		if (!dir) {
			perror(argv[i]);
			return 1;
		}
		while ((entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (replay(path, most) != 0)
				return 1;
			count++;
		}
		closedir(dir);
	}
	printf("%d files\n", count);
	return count > 0 ? 0 : 1;
}

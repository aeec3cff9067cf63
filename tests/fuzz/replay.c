/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for libFuzzer's main: gives the target every file of the folders named as arguments,
 * and every prefix of it; of a long one some. */
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

static int replay(const char *path)
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
	for (size_t part = 0; part<size; part += size> LONG ? size / PREFIXES : 1)
		give(data, part);
	give(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
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
			if (replay(path) != 0)
				return 1;
			count++;
		}
		closedir(dir);
	}
	printf("%d files\n", count);
	return count > 0 ? 0 : 1;
}

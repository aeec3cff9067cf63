/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs the program it is linked with as N threads over the toy world:
 *	host_toy_PROGRAM [--size N] [--drop-every K] [ARG=VALUE ...]
 * Prints the reports, sorted. The first rank that fails ends the process. */
#include "include/verbena/program.h"
#include "tests/programs/report.h"
#include "tests/programs/toy.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 1024 };

struct entry {
	char key[64];
	void *bytes;
	size_t length;
};

struct host {
	struct toy toy;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry rendezvous[ENTRIES];
	size_t entry_count;
	struct report_list reports;
};

static struct host *host_of(const struct vb_prog *prog)
{
	return prog->host;
}

static struct entry *find(struct host *host, const char *key)
{
	for (size_t i = 0; i < host->entry_count; i++)
		if (strcmp(host->rendezvous[i].key, key) == 0)
			return &host->rendezvous[i];
	return NULL;
}

static int host_put(const struct vb_prog *prog, const char *key, const void *bytes, size_t length)
{
	struct host *host = host_of(prog);
	int ret = 0;

	pthread_mutex_lock(&host->lock);
	if (find(host, key) || strlen(key) >= sizeof(host->rendezvous->key)) {
		ret = -EEXIST;
	} else if (host->entry_count == ENTRIES) {
		ret = -ENOMEM;
	} else {
		struct entry *entry = &host->rendezvous[host->entry_count++];

		*entry = (struct entry){.bytes = malloc(length + 1), .length = length};
		strcpy(entry->key, key);
		if (length != 0)
			memcpy(entry->bytes, bytes, length);
	}
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
	return ret;
}

static int host_get(const struct vb_prog *prog, const char *key, void *ret_bytes, size_t length)
{
	struct host *host = host_of(prog);
	struct entry *entry;
	int ret = 0;

	pthread_mutex_lock(&host->lock);
	while (!(entry = find(host, key)))
		pthread_cond_wait(&host->changed, &host->lock);
	if (entry->length != length)
		ret = -EMSGSIZE;
	else if (length != 0)
		memcpy(ret_bytes, entry->bytes, length);
	pthread_mutex_unlock(&host->lock);
	return ret;
}

static void host_sleep_ns(const struct vb_prog *prog, uint64_t ns)
{
	struct host *host = host_of(prog);

	pthread_mutex_lock(&host->toy.lock);
	for (ps_t end = host->toy.now + ns * PS_NS; host->toy.now < end;)
		if (!toy_pump(&host->toy) && !toy_skip(&host->toy))
			host->toy.now = end;
	pthread_mutex_unlock(&host->toy.lock);
}

static void host_report(const struct vb_prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
			const void *bytes)
{
	struct host *host = host_of(prog);

	pthread_mutex_lock(&host->lock);
	if (report_add(&host->reports, prog->rank, peer, nth_qp, wc, bytes) != 0)
		abort();
	pthread_mutex_unlock(&host->lock);
}

static void host_say(const struct vb_prog *prog, const char *line)
{
	fprintf(stderr, "%d: %s\n", prog->rank, line);
}

static void *run_rank(void *arg)
{
	const struct vb_prog *prog = arg;
	int ret;

	toy_show(&host_of(prog)->toy, (uint32_t)prog->rank);
	ret = prog_main(prog);
	if (ret != 0) {
		fprintf(stderr, "rank %d failed: %d\n", prog->rank, ret);
		exit(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"size", required_argument, NULL, 's'},
						{"drop-every", required_argument, NULL, 'd'},
						{0}};
	struct host *host = calloc(1, sizeof(*host));
	struct vb_prog progs[TOY_MAX];
	pthread_t threads[TOY_MAX];
	uint32_t drop_every = 0;
	int size = 2, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			size = atoi(optarg);
		else if (option == 'd')
			drop_every = (uint32_t)atoi(optarg);
		else
			return 2;
	}
	if (!host || size < 1 || size > TOY_MAX)
		return 2;
	toy_init(&host->toy, (uint32_t)size);
	host->toy.drop_every = drop_every;
	pthread_mutex_init(&host->lock, NULL);
	pthread_cond_init(&host->changed, NULL);
	for (int r = 0; r < size; r++) {
		progs[r] = (struct vb_prog){.rank = r,
					    .size = size,
					    .arg_count = argc - optind,
					    .args = (const char *const *)argv + optind,
					    .host = host,
					    .put = host_put,
					    .get = host_get,
					    .sleep_ns = host_sleep_ns,
					    .report = host_report,
					    .say = host_say};
		if (pthread_create(&threads[r], NULL, run_rank, &progs[r]) != 0)
			return 1;
	}
	for (int r = 0; r < size; r++)
		pthread_join(threads[r], NULL);
	fprintf(stderr, "%llu packets, %llu ns\n", (unsigned long long)host->toy.packets,
		(unsigned long long)(host->toy.now / PS_NS));
	report_sort(&host->reports);
	report_print(&host->reports, stdout);
	report_free(&host->reports);
	for (size_t i = 0; i < host->entry_count; i++)
		free(host->rendezvous[i].bytes);
	toy_fini(&host->toy);
	free(host);
	return 0;
}

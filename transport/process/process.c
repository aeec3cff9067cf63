/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/process/process.h"

#include "include/verbena/verbena.h"
#include "transport/process/board.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 60, SPINS = 1000, NAP_NS = 20000 };

static struct process {
	struct process_settings settings;
	pthread_mutex_t lock; /* of the connection: one request at a time */
	pthread_t server;
	pid_t pid;
	int board, listener, served; /* connection and socket, -1: none; how serving ended */
	bool begun, ended;
	uint64_t start_ns;
	char where[64];
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .board = -1, .listener = -1};

/* ---- settings ---- */

/* False: no number from @min on. */
static bool read_number(const char *text, int min, int *ret_number)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end || errno || number < min || number > 1000000)
		return false;
	*ret_number = (int)number;
	return true;
}

static bool number_from_env(const char *name, int min, int *number)
{
	const char *text = getenv(name);

	if (!text || read_number(text, min, number))
		return true;
	fprintf(stderr, "verbena: %s: found \"%s\", expected a number from %d\n", name, text, min);
	return false;
}

bool process_settings_from_env(struct process_settings *ret_settings)
{
	*ret_settings = (struct process_settings){.size = 1, .wait_s = WAIT_S};
	ret_settings->board = getenv("VERBENA_BOARD");
	return number_from_env("VERBENA_RANK", 0, &ret_settings->rank) &&
	       number_from_env("VERBENA_SIZE", 1, &ret_settings->size) &&
	       number_from_env("VERBENA_WAIT", 1, &ret_settings->wait_s);
}

bool process_settings_are_good(const struct process_settings *settings)
{
	if (settings->size > BOARD_RANKS_MAX)
		fprintf(stderr, "verbena: found %d ranks, expected at most %d\n", settings->size,
			BOARD_RANKS_MAX);
	else if (settings->rank >= settings->size)
		fprintf(stderr, "verbena: found rank %d of %d, expected one from 0 to %d\n",
			settings->rank, settings->size, settings->size - 1);
	else if (settings->size > 1 && !settings->board)
		fputs("verbena: found no place to meet, expected --board or VERBENA_BOARD, "
		      "ADDR:PORT\n",
		      stderr);
	else
		return true;
	return false;
}

/* ---- the board ---- */

static void *process_serve(void *arg)
{
	struct process *p = arg;

	p->served = board_serve(p->listener, p->settings.size, p->settings.wait_s);
	return NULL;
}

/* Signals are for the program's threads: not for ours. */
static bool start_server(struct process *p)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&p->server, NULL, process_serve, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

/* Where the board is kept by somebody else, that is somebody else's. 0 or -errno. */
static int keep_board(struct process *p, const char *where)
{
	uint16_t port;
	const char *colon = strrchr(where, ':');

	p->listener = board_listen(where, &port);
	if (p->listener == -EADDRINUSE || p->listener == -EADDRNOTAVAIL) {
		p->listener = -1;
		return 0;
	}
	if (p->listener < 0)
		return p->listener;
	snprintf(p->where, sizeof(p->where), "%.*s:%u", (int)(colon - where), where, port);
	if (start_server(p))
		return 0;
	close(p->listener);
	p->listener = -1;
	return -EAGAIN;
}

static bool open_board(struct process *p)
{
	const char *where = p->settings.board ? p->settings.board : "127.0.0.1:0";
	int ret = 0;

	snprintf(p->where, sizeof(p->where), "%s", where);
	if (p->settings.rank == 0)
		ret = keep_board(p, where);
	if (ret == 0) {
		ret = board_connect(p->where, p->settings.wait_s);
		p->board = ret < 0 ? -1 : ret;
		ret = ret < 0 ? ret : board_hello(p->board, p->settings.rank);
	}
	if (ret < 0)
		fprintf(stderr, "verbena: the rendezvous at %s: %s\n", where,
			ret == -EINVAL ? "expected ADDR:PORT, an IPv4 address" : strerror(-ret));
	return ret >= 0;
}

bool process_begin(const struct process_settings *settings)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	process.start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	process.settings = *settings;
	process.pid = getpid();
	process.begun = true;
	return open_board(&process);
}

bool process_end(bool well)
{
	struct process *p = &process;
	bool ok = true;

	/* A child of the program is no rank. */
	if (!p->begun || p->ended || p->pid != getpid())
		return true;
	p->ended = true;
	/* A rank that fails goes without a word, which ends the others' waiting. */
	if (p->board >= 0 && well)
		ok = board_end(p->board) == 0;
	if (p->board >= 0)
		close(p->board);
	p->board = -1;
	if (p->listener < 0)
		return ok;
	pthread_join(p->server, NULL);
	close(p->listener);
	p->listener = -1;
	if (p->served < 0 && well)
		fprintf(stderr, "verbena: the rendezvous at %s: %s\n", p->where,
			p->served == -ECONNRESET ? "a rank has failed" : "not all ranks have come");
	return ok && p->served == 0;
}

/* ---- at the first call ---- */

/* Whoever calls exit(0) in a program's main() has done all that it should. */
static void on_process_exit(int status, void *arg)
{
	(void)arg;
	if (!process_end(status == 0) && status == 0)
		_exit(1);
}

static void begin_from_env(void)
{
	struct process_settings settings;

	if (process.begun)
		return;
	if (!process_settings_from_env(&settings) || !process_settings_are_good(&settings) ||
	    !process_begin(&settings))
		exit(2);
	on_exit(on_process_exit, NULL);
}

static struct process *begun(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin_from_env);
	return &process;
}

/* ---- the calls ---- */

int vb_version(void)
{
	return VB_VERSION;
}

int vb_rank(void)
{
	return begun()->settings.rank;
}

int vb_size(void)
{
	return begun()->settings.size;
}

uint64_t vb_now_ps(void)
{
	const struct process *p = begun();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - p->start_ns) * 1000u;
}

void vb_sleep_ns(uint64_t ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

int vb_put(const char *key, const void *bytes, size_t length)
{
	struct process *p = begun();
	int ret;

	pthread_mutex_lock(&p->lock);
	ret = board_put(p->board, key, bytes, length);
	pthread_mutex_unlock(&p->lock);
	return ret == -EEXIST ? 0 : ret;
}

int64_t vb_get(const char *key, void *ret_bytes, size_t room)
{
	struct process *p = begun();
	int64_t ret;

	pthread_mutex_lock(&p->lock);
	ret = board_fetch(p->board, key, ret_bytes, room);
	pthread_mutex_unlock(&p->lock);
	return ret;
}

/* The adapter's own thread places bytes. */
void vb_wait_mem(const void *address, const void *seen, size_t length)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	for (uint32_t i = 0; memcmp(address, seen, length) == 0; i++) {
		if (i < SPINS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
		__sync_synchronize();
	}
}

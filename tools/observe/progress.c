/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/progress.h"

#include "tools/result/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOWS_A_LOOK = 256 };

static volatile sig_atomic_t signal_seen;

static void observe_progress_on_signal(int number)
{
	signal_seen = number;
}

int progress_signal(void)
{
	return signal_seen;
}

double progress_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void observe_progress_show(struct progress *progress, const struct fabric *fabric,
				  double now)
{
	const uint64_t hops = sim_packet_hops(fabric->sim);
	const ps_t time = sim_now(fabric->sim);
	char text[OUTPUT_TEXT_MAX];

	fprintf(stderr, "\r\033[K%s", output_time(time, text));
	if (progress->until != PS_NEVER && progress->until > 0)
		fprintf(stderr, "  %.0f %%", 100.0 * (double)time / (double)progress->until);
	fprintf(stderr, "  %.2f M hops/s",
		(double)(hops - progress->last_hops) / (now - progress->last) / 1e6);
	fflush(stderr);
	progress->last = now;
	progress->last_hops = hops;
	progress->visible = true;
}

static int observe_progress_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct progress *progress = container_of(watcher, struct progress, watcher);
	double now;

	if (signal_seen)
		sim_stop(fabric->sim);
	if (!progress->shown || ++progress->windows % WINDOWS_A_LOOK != 0)
		return 0;
	now = progress_clock();
	if (now - progress->last >= 0.2)
		observe_progress_show(progress, fabric, now);
	return 0;
}

/* The first signal ends the run at the next window; the second does what it always did. A file that
 * may not grow is an error of the write. */
static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = observe_progress_on_signal,
					 .sa_flags = (int)SA_RESETHAND | SA_RESTART};

	struct sigaction before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, &action, &before) == 0 && before.sa_handler == SIG_IGN)
		sigaction(SIGHUP, &before, NULL); /* nohup */
	signal(SIGXFSZ, SIG_IGN);
}

void progress_start(struct progress *progress, struct fabric *fabric, ps_t until, bool quiet)
{
	const double now = progress_clock();
	const char *terminal = getenv("TERM");

	*progress = (struct progress){.watcher = {.between = observe_progress_between},
				      .shown = !quiet && isatty(STDERR_FILENO) && terminal &&
					       strcmp(terminal, "dumb") != 0,
				      .until = until,
				      .began = now,
				      .last = now};
	catch_signals();
	fabric_watch(fabric, &progress->watcher);
}

void progress_end(struct progress *progress)
{
	if (progress->visible)
		fputs("\r\033[K", stderr);
	progress->visible = false;
}

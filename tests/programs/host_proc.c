/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs the program it is linked with as one rank, in a process of its own:
 *	--rank R --size N --rendezvous ADDR:PORT [--serve] [--wait SECONDS] [-- ARG=VALUE ...]
 * --serve keeps the rendezvous here as well, and without --rank nothing else; its port goes to
 * --port-file FILE (for port 0). The reports of this rank go to stdout, sorted. Linked with
 * Verbena's verbs and NIC, or with rdma-core: knows neither. */
#include "include/verbena/program.h"
#include "tests/programs/report.h"
#include "transport/process/board.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct host {
	int rendezvous;
	struct report_list reports;
};

static struct host *host_of(const struct vb_prog *prog)
{
	return prog->host;
}

static int host_put(const struct vb_prog *prog, const char *key, const void *bytes, size_t length)
{
	return board_put(host_of(prog)->rendezvous, key, bytes, length);
}

static int host_get(const struct vb_prog *prog, const char *key, void *ret_bytes, size_t length)
{
	return board_get(host_of(prog)->rendezvous, key, ret_bytes, length);
}

static void host_sleep_ns(const struct vb_prog *prog, uint64_t ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	(void)prog;
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void host_report(const struct vb_prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
			const void *bytes)
{
	if (report_add(&host_of(prog)->reports, prog->rank, peer, nth_qp, wc, bytes) != 0)
		abort();
}

static void host_say(const struct vb_prog *prog, const char *line)
{
	fprintf(stderr, "%d: %s\n", prog->rank, line);
}

struct options {
	int rank, size, wait_s;
	const char *rendezvous, *port_file;
	int serve;
};

static int serve(const struct options *options, int listener, uint16_t port)
{
	FILE *file;
	int ret;

	if (options->port_file) {
		file = fopen(options->port_file, "w");
		if (!file || fprintf(file, "%u\n", port) < 0 || fclose(file) != 0) {
			perror(options->port_file);
			return 1;
		}
	}
	ret = board_serve(listener, options->size, 0);
	if (ret < 0)
		fprintf(stderr, "board: %s\n", strerror(-ret));
	return ret < 0;
}

/* Whoever waits for long is told for whom. */
static int connect_board(const struct options *options, const char *where)
{
	const int first = options->wait_s < 2 ? options->wait_s : 2;
	const int fd = board_connect(where, first);

	if (fd >= 0 || options->wait_s <= first)
		return fd;
	fprintf(stderr,
		"rank %d: no board answers at %s (that of the rank with --serve); waiting %d s\n",
		options->rank, where, options->wait_s - first);
	return board_connect(where, options->wait_s - first);
}

static int run(const struct options *options, const char *where, int arg_count, char **args)
{
	struct host host = {.rendezvous = connect_board(options, where)};
	const struct vb_prog prog = {.rank = options->rank,
				     .size = options->size,
				     .arg_count = arg_count,
				     .args = (const char *const *)args,
				     .host = &host,
				     .put = host_put,
				     .get = host_get,
				     .sleep_ns = host_sleep_ns,
				     .report = host_report,
				     .say = host_say};
	int ret;

	if (host.rendezvous < 0) {
		fprintf(stderr, "board at %s: %s\n", where, strerror(-host.rendezvous));
		return 1;
	}
	ret = board_hello(host.rendezvous, options->rank);
	ret = ret ? ret : prog_main(&prog);
	/* A rank that fails goes without a word to the rendezvous, which ends the others' waiting.
	 */
	if (ret == 0)
		ret = board_end(host.rendezvous);
	close(host.rendezvous);
	report_sort(&host.reports);
	report_print(&host.reports, stdout);
	report_free(&host.reports);
	if (ret != 0)
		fprintf(stderr, "rank %d failed: %d\n", options->rank, ret);
	return ret != 0 || fflush(stdout) != 0;
}

static int serve_and_run(const struct options *options, int arg_count, char **args)
{
	char where[64];
	uint16_t port;
	int listener = board_listen(options->rendezvous, &port), status = 0, ret;
	pid_t child;

	if (listener < 0) {
		fprintf(stderr, "%s: %s\n", options->rendezvous, strerror(-listener));
		return 1;
	}
	if (options->rank < 0)
		return serve(options, listener, port);
	child = fork();
	if (child == 0)
		_exit(serve(options, listener, port));
	close(listener);
	if (child < 0)
		return 1;
	snprintf(where, sizeof(where), "%.*s:%u",
		 (int)(strrchr(options->rendezvous, ':') - options->rendezvous),
		 options->rendezvous, port);
	ret = run(options, where, arg_count, args);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return ret != 0 || status != 0;
}

static void proc_usage(const char *name, FILE *file)
{
	fprintf(file,
		"usage: %s --rank R --size N --board ADDR:PORT [--serve] [--wait SECONDS] "
		"[-- ARG=VALUE ...]\n\n"
		"One rank of N. They meet on a board, which the rank with --serve keeps at\n"
		"ADDR:PORT (--serve without --rank keeps nothing but that; with port 0 "
		"--port-file\n"
		"FILE gets its number); the others wait for it (60 s). VERBENA_ADDR=ADDR is the\n"
		"address that a rank sends from.\n",
		name);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {{"rank", required_argument, NULL, 'r'},
					      {"size", required_argument, NULL, 's'},
					      {"board", required_argument, NULL, 'b'},
					      {"serve", no_argument, NULL, 'S'},
					      {"port-file", required_argument, NULL, 'p'},
					      {"wait", required_argument, NULL, 'w'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct options options = {.rank = -1, .wait_s = 60};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'r':
			options.rank = atoi(optarg);
			break;
		case 's':
			options.size = atoi(optarg);
			break;
		case 'b':
			options.rendezvous = optarg;
			break;
		case 'S':
			options.serve = 1;
			break;
		case 'p':
			options.port_file = optarg;
			break;
		case 'w':
			options.wait_s = atoi(optarg);
			break;
		case 'h':
			proc_usage(argv[0], stdout);
			return 0;
		default:
			proc_usage(argv[0], stderr);
			return 2;
		}
	}
	if (!options.rendezvous || !strrchr(options.rendezvous, ':') || options.size < 1 ||
	    options.rank >= options.size || (options.rank < 0 && !options.serve)) {
		proc_usage(argv[0], stderr);
		return 2;
	}
	return options.serve ? serve_and_run(&options, argc - optind, argv + optind)
			     : run(&options, options.rendezvous, argc - optind, argv + optind);
}

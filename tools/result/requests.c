/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/host_index.h"
#include "tools/observe/request_log.h"
#include "tools/result/failures.h"
#include "tools/result/internal.h"
#include "tools/result/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

const char *request_status(const struct request *request)
{
	switch (request->state) {
	case REQUEST_UNFINISHED:
		return "unfinished";
	case REQUEST_GONE:
		return "gone";
	case REQUEST_ENDED:
		break;
	}
	return failures_name(request->status);
}

static bool is_ok(const struct request *request)
{
	return request->state == REQUEST_ENDED && request->status == HCA_WC_SUCCESS;
}

static void sum_request(struct result_requests *sums, uint64_t *times,
			const struct request *request)
{
	sums->posted++;
	sums->packets_retransmitted += request->packets_retransmitted;
	if (request->state == REQUEST_UNFINISHED) {
		sums->unfinished++;
	} else if (is_ok(request)) {
		sums->bytes += request->bytes;
		times[sums->count++] = request->end_at - request->posted_at;
	}
}

static int sum_program(struct result_program *program, uint32_t number,
		       const struct request_log *log)
{
	struct result_requests *sums = &program->requests;
	uint64_t *times = calloc(request_log_count(log) + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (uint64_t i = 0; i < request_log_count(log); i++) {
		const struct request *request = request_log_at(log, i);

		if (request->program == number)
			sum_request(sums, times, request);
	}
	sums->left_out = request_log_left_out(log, number);
	result_times(times, sums->count, &sums->times);
	free(times);
	return 0;
}

int result_collect_requests(struct result *result, struct request_log *log)
{
	int ret = log ? request_log_settle(log) : 0;

	result->requests = log;
	for (uint32_t i = 0; log && i < result->program_count && !ret; i++)
		ret = sum_program(&result->programs[i], i, log);
	return ret;
}

/* ---- requests.csv ---- */

static void put_request(const struct result *result, const struct request *request, uint64_t number,
			FILE *file)
{
	struct host *const *hosts = result->fabric->table.hosts;

	fprintf(file, "wr%" PRIu64 ",%s,%u,%s,%s,0x%06x,%" PRIu64 ",%s,%u,%u,%" PRIu64, number,
		result->programs[request->program].name, request->rank,
		hosts[request->src]->node.name, host_index_name(result->fabric, request->dst),
		request->qpn, request->wr_id, request_opcode_name(request->opcode),
		request->priority, request->bytes, request->posted_at);
	if (request->state == REQUEST_ENDED)
		fprintf(file, ",%" PRIu64 ",%" PRIu64, request->end_at,
			request->end_at - request->posted_at);
	else
		fputs(",,", file);
	fprintf(file, ",%" PRIu64 ",%s\n", request->packets_retransmitted, request_status(request));
}

void output_requests(const struct result *result, FILE *file)
{
	const uint64_t count = result->requests ? request_log_count(result->requests) : 0;

	fputs("id,program,rank,src,dst,qpn,wr_id,opcode,priority,bytes,posted_ps,end_ps,time_ps,"
	      "packets_retransmitted,status\n",
	      file);
	for (uint64_t i = 0; i < count; i++)
		put_request(result, request_log_at(result->requests, i), i, file);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/failures.h"

#include "tools/observe/request_log.h"

struct failures failures_of(const struct result *result)
{
	const uint64_t count = result->requests ? request_log_count(result->requests) : 0;
	struct failures failures = {.count = 0};

	for (uint64_t i = 0; i < count; i++) {
		const struct request *request = request_log_at(result->requests, i);

		if (request->state != REQUEST_ENDED || request->status == HCA_WC_SUCCESS)
			continue;
		failures.count++;
		if (failures.of[request->status]++ == 0)
			failures.first[request->status] = i;
	}
	return failures;
}

bool failures_has_program(const struct result *result, uint32_t number)
{
	const struct result_program *program = &result->programs[number];
	const bool may_wait =
		result->partial || (result->cut && result->scenario->programs[number].endless);

	return program->failed > 0 || (program->unfinished > 0 && !may_wait);
}

const char *failures_of_ranks(const struct result *result, uint32_t number,
			      struct bad_text *ret_text)
{
	const struct result_program *program = &result->programs[number];

	return bad_text(ret_text, "%u of %u ranks failed, %u %s", program->failed,
			program->rank_count, program->unfinished,
			result->cut ? "had not ended at the end of the run" : "never ended");
}

const char *failures_name(enum hca_wc_status status)
{
	switch (status) {
	case HCA_WC_SUCCESS:
		return "ok";
	case HCA_WC_LOC_LEN_ERR:
		return "loc_len_err";
	case HCA_WC_LOC_QP_OP_ERR:
		return "loc_qp_op_err";
	case HCA_WC_LOC_PROT_ERR:
		return "loc_prot_err";
	case HCA_WC_WR_FLUSH_ERR:
		return "wr_flush_err";
	case HCA_WC_MW_BIND_ERR:
		return "mw_bind_err";
	case HCA_WC_BAD_RESP_ERR:
		return "bad_resp_err";
	case HCA_WC_LOC_ACCESS_ERR:
		return "loc_access_err";
	case HCA_WC_REM_INV_REQ_ERR:
		return "rem_inv_req_err";
	case HCA_WC_REM_ACCESS_ERR:
		return "rem_access_err";
	case HCA_WC_REM_OP_ERR:
		return "rem_op_err";
	case HCA_WC_RETRY_EXC_ERR:
		return "retry_exc_err";
	case HCA_WC_RNR_RETRY_EXC_ERR:
		return "rnr_retry_exc_err";
	case HCA_WC_REM_ABORT_ERR:
		return "rem_abort_err";
	case HCA_WC_FATAL_ERR:
		return "fatal_err";
	}
	return "general_err";
}

const char *failures_words(enum hca_wc_status status)
{
	switch (status) {
	case HCA_WC_REM_ACCESS_ERR:
		return "the target refused it (NAK, remote access error): the rkey, the bounds or "
		       "the rights of its region, or of its queue pair, do not allow that";
	case HCA_WC_REM_INV_REQ_ERR:
		return "the target refused it (NAK, invalid request): longer than the receive "
		       "that it met, or nothing that its queue pair takes";
	case HCA_WC_REM_OP_ERR:
		return "the target could not carry it out (NAK, remote operational error), as "
		       "where its memory is gone";
	case HCA_WC_RNR_RETRY_EXC_ERR:
		return "the target said that it had no receive posted (RNR NAK) more often than "
		       "rnr_retry allows";
	case HCA_WC_RETRY_EXC_ERR:
		return "it was sent again as often as retry_cnt allows, in vain";
	case HCA_WC_WR_FLUSH_ERR:
		return "flushed, since its queue pair was in the error state: an earlier request "
		       "had failed, or the program had put it there";
	case HCA_WC_LOC_PROT_ERR:
		return "its own host refused it: the lkey, the bounds or the rights of the memory "
		       "that it names";
	case HCA_WC_LOC_LEN_ERR:
		return "its own host refused it: it is longer than it may be";
	case HCA_WC_LOC_QP_OP_ERR:
		return "its own queue pair cannot do that";
	case HCA_WC_MW_BIND_ERR:
		return "its own host refused to bind the window: the region, its bounds or rights, "
		       "or the window itself do not allow that";
	case HCA_WC_LOC_ACCESS_ERR:
		return "its own host refused the access to its memory";
	case HCA_WC_BAD_RESP_ERR:
		return "what the target answered is no answer to it";
	case HCA_WC_REM_ABORT_ERR:
		return "the target gave it up";
	case HCA_WC_FATAL_ERR:
		return "the adapter failed";
	case HCA_WC_SUCCESS:
		break;
	}
	return "it ended well";
}

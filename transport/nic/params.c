/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/host.h"
#include "transport/nic/impair.h"
#include "transport/nic/kind.h"
#include "transport/nic/nic.h"
#include "transport/verbs/fault.h"
#include "util/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hca_profile nic_profile_of(const struct nic_kind *kind, uint32_t mtu, bool ipv6)
{
	return (struct hca_profile){
		.line_rate_bps = kind->rate_bps,
		.mtu_max = mtu,
		/* A socket's buffer holds some 200 KB and counts at least twice the bytes. */
		.psn_window = mtu > 2048 ? 32 : 64,
		.ack_every = mtu > 2048 ? 8 : 16,
		.ack_on_data_priority = true,
		.cnp_priority = 6,
		.cnp_enabled = true,
		.cnp_interval = 50 * PS_US,
		.cc = &cc_none,
		.wire_overhead = wire_frame_overhead(ipv6 ? WIRE_SHAPE_IPV6 : 0),
		.qp_max = kind->qp_max,
		.cq_max = kind->cq_max,
		.mr_max = kind->mr_max,
		.pd_max = kind->pd_max,
		.srq_max = kind->srq_max,
		.wr_max = kind->wr_max,
		.sge_max = kind->sge_max,
		.cqe_max = kind->cqe_max,
		.inline_max = kind->inline_max,
		.rd_atomic_max = kind->rd_atomic_max,
		.mw_is_2a = kind->mw_is_2a,
	};
}

struct hca_profile nic_profile_default(uint32_t mtu, bool ipv6)
{
	return nic_profile_of(nic_kind_at(0), mtu, ipv6);
}

static int parse_addresses(const char *text, struct nic_params *params)
{
	char copy[512], *rest = NULL;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (params->device_count == NIC_DEVICES_MAX)
			return -EINVAL;
		if (nic_addr_parse(one, params->device_addr[params->device_count],
				   &params->scope_id) != 0)
			return -EINVAL;
		params->device_count++;
	}
	return params->device_count > 0 ? 0 : -EINVAL;
}

static int parse_profile(const char *text, struct nic_params *params)
{
	params->kind = nic_kind_find(text);
	return params->kind ? 0 : -EINVAL;
}

static int parse_link(const char *text, struct nic_params *params)
{
	const char *local, *comma;
	size_t length;

	if (strcmp(text, "udp") == 0)
		return 0;
	if (strncmp(text, "frame:", 6) != 0)
		return -EINVAL;
	local = text + 6;
	comma = strchr(local, ',');
	if (!comma)
		return -EINVAL;
	length = (size_t)(comma - local);
	if (length == 0 || length >= NIC_PATH_MAX)
		return -EINVAL;
	if (comma[1] == '\0' || strlen(comma + 1) >= NIC_PATH_MAX)
		return -EINVAL;
	params->link = NIC_LINK_FRAME;
	memcpy(params->local_path, local, length);
	strcpy(params->remote_path, comma + 1);
	return 0;
}

int nic_path_find(const char *name, enum nic_path *ret_path)
{
	static const char *const names[] = {[NIC_PATH_AUTO] = "auto",
					    [NIC_PATH_UDP] = "udp",
					    [NIC_PATH_SHM] = "shm",
					    [NIC_PATH_DIRECT] = "direct"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret_path = i;
			return 0;
		}
	return -EINVAL;
}

static int parse_nic_path(const char *text, struct nic_params *params)
{
	return nic_path_find(text, &params->path);
}

static int parse_mac(const char *text, struct nic_params *params)
{
	unsigned m[6];
	char rest;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5],
		   &rest) != 6)
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		params->mac[i] = (uint8_t)m[i];
	return params->mac[0] & 1 ? -EINVAL : 0; /* a group */
}

static int parse_mtu(const char *text, struct nic_params *params)
{
	static const char *const names[] = {"256", "512", "1024", "2048", "4096"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			params->mtu = 256u << i;
			return 0;
		}
	return -EINVAL;
}

static int parse_loop(const char *text, struct nic_params *params)
{
	static const char *const names[] = {"auto", "io_uring", "epoll"}; /* enum nic_loop_kind */

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			params->loop = (enum nic_loop_kind)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_statuses(const char *text, struct nic_params *params)
{
	if (strcmp(text, "hardware") != 0 && strcmp(text, "rxe") != 0)
		return -EINVAL;
	params->statuses = text[0] == 'r' ? HCA_STATUSES_RXE : HCA_STATUSES_HARDWARE;
	return 0;
}

static int parse_pcap(const char *text, struct nic_params *params)
{
	if (strlen(text) >= sizeof(params->pcap))
		return -EINVAL;
	strcpy(params->pcap, text);
	return 0;
}

static int parse_impair(const char *text, struct nic_params *params)
{
	struct nic_impair_bad bad;

	if (nic_impair_check(text, &bad) < 0)
		return -EINVAL;
	strcpy(params->impair, text);
	return 0;
}

static int parse_faults(const char *text, struct nic_params *params)
{
	struct vrb_faults faults;

	params->faults = text;
	return vrb_faults_parse(text, &faults);
}

static int parse_seed(const char *text, struct nic_params *params)
{
	return util_count_parse(text, strlen(text), &params->seed) == UTIL_QUANTITY_OK ? 0
										       : -EINVAL;
}

static int parse_tree(const char *text, struct nic_params *params)
{
	if (strlen(text) >= sizeof(params->board))
		return -EINVAL;
	strcpy(params->board, text);
	return 0;
}

static int parse_abort(const char *text, struct nic_params *params)
{
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return -EINVAL;
	params->aborts = text[0] == '1';
	return 0;
}

static const struct {
	const char *name;
	int (*parse)(const char *text, struct nic_params *params);
} variables[] = {
	{"VERBENA_LINK", parse_link},	      {"VERBENA_ADDR", parse_addresses},
	{"VERBENA_MAC", parse_mac},	      {"VERBENA_MTU", parse_mtu},
	{"VERBENA_PCAP", parse_pcap},	      {"VERBENA_ABORT", parse_abort},
	{"VERBENA_STATUSES", parse_statuses}, {"VERBENA_IMPAIR", parse_impair},
	{"VERBENA_SEED", parse_seed},	      {"VERBENA_TREE", parse_tree},
	{"VERBENA_LOOP", parse_loop},	      {"VERBENA_PATH", parse_nic_path},
	{"VERBENA_PROFILE", parse_profile},   {"VERBENA_FAULTS", parse_faults},
};

/* On a frame link all are one device's, and one device is all that there is. */
static int finish_addresses(struct nic_params *params)
{
	if (params->link == NIC_LINK_FRAME) {
		if (params->device_count == 0 || params->device_count > NIC_ADDR_MAX)
			return -EINVAL;
		params->addr_count = params->device_count;
		params->device_count = 1;
		memcpy(params->addr, params->device_addr, sizeof(params->addr));
		return 0;
	}
	if (params->device_count == 0)
		(void)nic_addr_parse("127.0.0.1", params->device_addr[params->device_count++],
				     NULL);
	for (uint32_t i = 1; i < params->device_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (memcmp(params->device_addr[i], params->device_addr[k], 16) == 0)
				return -EINVAL; /* two devices, one host */
	params->addr_count = 1;
	memcpy(params->addr[0], params->device_addr[0], sizeof(params->addr[0]));
	return 0;
}

int nic_params_from_env(struct nic_params *ret_params, const char **ret_bad)
{
	struct nic_params params = {.progress_thread = true, .seed = 1};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = getenv(variables[i].name);

		if (!text || text[0] == '\0')
			continue;
		if (variables[i].parse(text, &params) != 0) {
			*ret_bad = variables[i].name;
			return -EINVAL;
		}
	}
	if (finish_addresses(&params) != 0) {
		*ret_bad = "VERBENA_ADDR";
		return -EINVAL;
	}
	if (params.link == NIC_LINK_FRAME && params.loop == NIC_LOOP_URING) {
		*ret_bad = "VERBENA_LOOP";
		return -EINVAL;
	}
	if (params.link == NIC_LINK_FRAME &&
	    (params.path == NIC_PATH_SHM || params.path == NIC_PATH_DIRECT)) {
		*ret_bad = "VERBENA_PATH";
		return -EINVAL;
	}
	*ret_params = params;
	return 0;
}

void nic_params_of_device(const struct nic_params *params, uint32_t device,
			  struct nic_params *ret_params)
{
	*ret_params = *params;
	ret_params->device = device;
	if (device > 0 && params->pcap[0] != '\0')
		snprintf(ret_params->pcap, sizeof(ret_params->pcap), "%.4000s.verbena%u",
			 params->pcap, device);
	if (params->link == NIC_LINK_UDP)
		memcpy(ret_params->addr[0], params->device_addr[device],
		       sizeof(ret_params->addr[0]));
}

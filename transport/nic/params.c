/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nic_addr_parse(const char *text, uint8_t ret_ip[16], uint32_t *ret_scope_id)
{
	const char *percent = strchr(text, '%');
	size_t length = percent ? (size_t)(percent - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	unsigned scope_id = 0;

	if (length >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = '\0';
	if (percent) {
		scope_id = ret_scope_id ? if_nametoindex(percent + 1) : 0;
		if (scope_id == 0)
			return -EINVAL;
	}
	if (inet_pton(AF_INET, address, ip + 12) != 1 && inet_pton(AF_INET6, address, ip) != 1)
		return -EINVAL;
	memcpy(ret_ip, ip, sizeof(ip));
	if (scope_id != 0)
		*ret_scope_id = scope_id;
	return 0;
}

struct hca_profile nic_profile_default(uint32_t mtu, bool ipv6)
{
	return (struct hca_profile){
		.line_rate_bps = 400000000000, /* the socket is the limit, not the pacing */
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
		.qp_max = 16384,
		.cq_max = 16384,
		.mr_max = 65536,
		.pd_max = 1024,
		.wr_max = 16384,
		.sge_max = 16,
		.cqe_max = 65536,
		.inline_max = 256,
		.rd_atomic_max = 16,
	};
}

static int parse_addresses(const char *text, struct nic_params *params)
{
	char copy[512], *rest = NULL;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (params->addr_count == NIC_ADDR_MAX)
			return -EINVAL;
		if (nic_addr_parse(one, params->addr[params->addr_count], &params->scope_id) != 0)
			return -EINVAL;
		params->addr_count++;
	}
	return params->addr_count > 0 ? 0 : -EINVAL;
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
	{"VERBENA_STATUSES", parse_statuses},
};

int nic_params_from_env(struct nic_params *ret_params, const char **ret_bad)
{
	struct nic_params params = {.progress_thread = true};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = getenv(variables[i].name);

		if (!text || text[0] == '\0')
			continue;
		if (variables[i].parse(text, &params) != 0) {
			*ret_bad = variables[i].name;
			return -EINVAL;
		}
	}
	if (params.link == NIC_LINK_UDP && params.addr_count == 0)
		(void)nic_addr_parse("127.0.0.1", params.addr[params.addr_count++], NULL);
	if (params.addr_count == 0 || (params.link == NIC_LINK_UDP && params.addr_count > 1)) {
		*ret_bad = "VERBENA_ADDR";
		return -EINVAL;
	}
	*ret_params = params;
	return 0;
}

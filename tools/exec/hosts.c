/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/hosts.h"

#include "transport/nic/host.h"
#include "transport/nic/kind.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = NIC_DEVICES_MAX * (NIC_HOST_TEXT_MAX + 1), HOST_MAX = 256 };

/* The @device-th of the hosts in @hosts, which have commas between them; behind the last one given,
 * that of NAME.nic1 and so on, where NAME is the first. */
static bool host_of_device(const char *hosts, uint32_t device, char ret_host[HOST_MAX])
{
	const char *at = hosts;
	int length;

	for (uint32_t i = 0; i < device && at; i++) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	length = (int)strcspn(at ? at : hosts, ",");
	return (at ? snprintf(ret_host, HOST_MAX, "%.*s", length, at)
		   : snprintf(ret_host, HOST_MAX, "%.*s.nic%u", length, hosts, device)) < HOST_MAX;
}

static uint32_t hosts_given(const char *hosts)
{
	uint32_t count = 1;

	for (; *hosts; hosts++)
		count += *hosts == ',';
	return count;
}

static int list_addresses(const char *hosts, uint32_t count, char ret_list[LIST_MAX])
{
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		char host[HOST_MAX], address[NIC_HOST_TEXT_MAX];

		if (!host_of_device(hosts, i, host) || !nic_host_address(host, address)) {
			command_say("exec: --host: found \"%s\", expected a name or an address",
				    hosts);
			return COMMAND_BAD;
		}
		at += (size_t)snprintf(ret_list + at, LIST_MAX - at, "%s%s", i > 0 ? "," : "",
				       address);
	}
	return COMMAND_DONE;
}

int hosts_set(const struct command_options *options)
{
	const char *own = getenv("VERBENA_ADDR");
	const char *hosts = options->host ? options->host : own && *own ? own : "127.0.0.1";
	const uint32_t given = hosts_given(hosts);
	const uint32_t count = options->device_count ? options->device_count : given;
	char list[LIST_MAX];
	int ret;

	if (options->profile && !nic_kind_find(options->profile)) {
		command_say("exec: --profile: found \"%s\", expected one of those that \"verbena "
			    "devices\" lists",
			    options->profile);
		return COMMAND_BAD;
	}
	if (options->profile && setenv("VERBENA_PROFILE", options->profile, 1) != 0)
		return COMMAND_BROKEN;
	if (!options->host && !options->device_count)
		return COMMAND_DONE;
	if (given > count || count > NIC_DEVICES_MAX) {
		command_say(
			"exec: %s: found %u hosts, expected one for each device, of which there "
			"may be %d",
			options->host ? "--host" : "VERBENA_ADDR", given,
			options->device_count ? (int)count : NIC_DEVICES_MAX);
		return COMMAND_BAD;
	}
	ret = list_addresses(hosts, count, list);
	if (ret == COMMAND_DONE && setenv("VERBENA_ADDR", list, 1) != 0)
		ret = COMMAND_BROKEN;
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the words of the environment mean, and which address and identity a host has of its name. */
#include "tests/unit/nic_test.h"
#include "transport/nic/kind.h"
#include "transport/nic/link.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* The parameters of an environment with @name=@value; -errno where it is refused, which is then
 * because of @name. */
static int read_with(const char *name, const char *value, struct nic_params *ret_params)
{
	const char *bad = "nothing";
	int ret;

	setenv(name, value, 1);
	ret = nic_params_from_env(ret_params, &bad);
	unsetenv(name);
	if (ret != 0)
		assert_string_equal(bad, name);
	return ret;
}

static struct nic_params with(const char *name, const char *value)
{
	struct nic_params params;

	assert_int_equal(read_with(name, value, &params), 0);
	return params;
}

static void assert_refused(const char *name, const char *value)
{
	struct nic_params params;

	assert_int_equal(read_with(name, value, &params), -EINVAL);
}

static void words_mean_what_they_say(void **state)
{
	(void)state;
	unsetenv("VERBENA_LOOP");
	assert_int_equal(with("VERBENA_MTU", "").mtu, 0);
	assert_int_equal(with("VERBENA_MTU", "256").mtu, 256);
	assert_int_equal(with("VERBENA_MTU", "1024").mtu, 1024);
	assert_int_equal(with("VERBENA_MTU", "4096").mtu, 4096);
	assert_int_equal(with("VERBENA_LOOP", "").loop, NIC_LOOP_AUTO);
	assert_int_equal(with("VERBENA_LOOP", "io_uring").loop, NIC_LOOP_URING);
	assert_int_equal(with("VERBENA_LOOP", "epoll").loop, NIC_LOOP_EPOLL);
	assert_int_equal(with("VERBENA_PATH", "").path, NIC_PATH_AUTO);
	assert_int_equal(with("VERBENA_PATH", "auto").path, NIC_PATH_AUTO);
	assert_int_equal(with("VERBENA_PATH", "udp").path, NIC_PATH_UDP);
	assert_int_equal(with("VERBENA_PATH", "shm").path, NIC_PATH_SHM);
	assert_refused("VERBENA_PATH", "tcp");
	assert_int_equal(with("VERBENA_STATUSES", "").statuses, HCA_STATUSES_HARDWARE);
	assert_int_equal(with("VERBENA_STATUSES", "hardware").statuses, HCA_STATUSES_HARDWARE);
	assert_int_equal(with("VERBENA_STATUSES", "rxe").statuses, HCA_STATUSES_RXE);
	assert_false(with("VERBENA_ABORT", "").aborts);
	assert_false(with("VERBENA_ABORT", "0").aborts);
	assert_true(with("VERBENA_ABORT", "1").aborts);
	assert_refused("VERBENA_ABORT", "2");
	assert_int_equal(with("VERBENA_SEED", "").seed, 1);
	assert_int_equal(with("VERBENA_SEED", "7").seed, 7);
	assert_refused("VERBENA_SEED", "seven");
	assert_null(with("VERBENA_PROFILE", "").kind);
	assert_string_equal(with("VERBENA_PROFILE", "connectx5").kind->name, "connectx5");
	assert_string_equal(with("VERBENA_IMPAIR", "loss 1%").impair, "loss 1%");
	assert_refused("VERBENA_IMPAIR", "loss");
	assert_string_equal(with("VERBENA_TREE", "/a/tree").board, "/a/tree");
	assert_refused("VERBENA_FAULTS", "no such fault");
	setenv("VERBENA_ADDR", "10.0.0.1", 1);
	setenv("VERBENA_LINK", "frame:/a,/b", 1);
	assert_refused("VERBENA_PATH", "shm"); /* there are no processes at the other end */
	assert_int_equal(with("VERBENA_PATH", "udp").path, NIC_PATH_UDP);
	unsetenv("VERBENA_LINK");
	unsetenv("VERBENA_ADDR");
}

static void what_is_too_long_is_refused(void **state)
{
	char text[4200];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[4095] = '\0';
	assert_string_equal(with("VERBENA_PCAP", text).pcap, text);
	assert_string_equal(with("VERBENA_TREE", text).board, text);
	text[4095] = 'a';
	text[4096] = '\0';
	assert_refused("VERBENA_PCAP", text);
	assert_refused("VERBENA_TREE", text);
	memset(text, ',', 512);
	memcpy(text, "127.0.0.1", 9);
	text[511] = '\0';
	assert_int_equal(with("VERBENA_ADDR", text).device_count, 1);
	text[511] = ',';
	text[512] = '\0';
	assert_refused("VERBENA_ADDR", text);
}

static void each_device_has_an_address_and_a_capture_of_its_own(void **state)
{
	struct nic_params all, own;

	(void)state;
	setenv("VERBENA_ADDR", "127.0.0.2,127.0.0.3,127.0.0.4", 1);
	all = with("VERBENA_PCAP", "/tmp/x");
	unsetenv("VERBENA_ADDR");
	assert_int_equal(all.device_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const captures[] = {"/tmp/x", "/tmp/x.verbena1",
						       "/tmp/x.verbena2"};

		nic_params_of_device(&all, i, &own);
		assert_int_equal(own.device, i);
		assert_int_equal(own.addr_count, 1);
		assert_int_equal(own.addr[0][15], 2 + i);
		assert_string_equal(own.pcap, captures[i]);
	}
}

static void identity(const char *name, const char *value, struct nic_identity *ret_identity)
{
	const struct nic_params params = with(name, value);

	nic_identity(&params, ret_identity);
}

/* EUI-64 of RFC 4291, appendix A: ff fe in the middle of the MAC address, and its second bit
 * turned. */
static void identities_are_of_the_address(void **state)
{
	struct nic_identity id;

	(void)state;
	identity("VERBENA_ADDR", "127.1.2.3", &id);
	assert_true(id.guid == 0x00007ffffe010203);
	assert_memory_equal(id.mac, "\x02\x00\x7f\x01\x02\x03", 6);
	assert_int_equal(id.gid_count, 2);
	assert_memory_equal(id.gids[0], "\xfe\x80\0\0\0\0\0\0\0\0\x7f\xff\xfe\x01\x02\x03", 16);
	assert_memory_equal(id.gids[1], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\x01\x02\x03", 16);

	identity("VERBENA_ADDR", "fd00::1:203", &id); /* it is in both places */
	assert_memory_equal(id.gids[0], "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x03", 16);
	assert_memory_equal(id.gids[1], id.gids[0], 16);

	setenv("VERBENA_LINK", "frame:/a,/b", 1);
	setenv("VERBENA_ADDR", "fd00::9", 1);
	identity("VERBENA_MAC", "02:0a:0b:0c:0d:ff", &id);
	assert_memory_equal(id.gids[0], "\xfe\x80\0\0\0\0\0\0\0\x0a\x0b\xff\xfe\x0c\x0d\xff", 16);
	assert_int_equal(id.gids[1][15], 9);
	identity("VERBENA_MAC", "06:0a:0b:0c:0d:ff", &id);
	assert_true(id.guid == 0x040a0bfffe0c0dff);
	unsetenv("VERBENA_LINK");
	unsetenv("VERBENA_ADDR");
}

static void assert_host(const char *host, const char *address)
{
	char text[NIC_HOST_TEXT_MAX];

	assert_true(nic_host_address(host, text));
	assert_string_equal(text, address);
}

static void names_are_addresses(void **state)
{
	char text[NIC_HOST_TEXT_MAX], again[NIC_HOST_TEXT_MAX], name[300];
	uint32_t scope_id = 77;
	uint8_t ip[16], others[16] = {0};

	(void)state;
	assert_host("10.1.2.3", "10.1.2.3");
	assert_host("fd00::1", "fd00::1");
	assert_false(nic_host_address("", text));
	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	assert_true(nic_host_address(name, text));
	name[255] = 'x';
	name[256] = '\0';
	assert_false(nic_host_address(name, text));
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "host%d", i);
		assert_true(nic_host_address(name, text));
		assert_int_equal(nic_addr_parse(text, ip, NULL), 0);
		assert_int_equal(ip[12], 127);
		assert_in_range(ip[13], 1, 254);
		assert_in_range(ip[15], 1, 254); /* neither the network nor all of it */
		assert_memory_not_equal(ip, others, 16);
		memcpy(others, ip, 16);
		/* The first adapter of a host has the host's address. */
		snprintf(name, sizeof(name), "host%d.nic0", i);
		assert_true(nic_host_address(name, again));
		assert_string_equal(again, text);
		snprintf(name, sizeof(name), "host%d.nic1", i);
		assert_true(nic_host_address(name, again));
		assert_string_not_equal(again, text);
	}
	assert_int_equal(nic_addr_parse("fe80::1", ip, &scope_id), 0);
	assert_int_equal(scope_id, 77); /* nothing was said of it */
	assert_int_equal(nic_addr_parse("fe80::1%lo", ip, &scope_id), 0);
	assert_int_equal(scope_id, if_nametoindex("lo"));
	assert_int_equal(nic_addr_parse("fe80::1%lo", ip, NULL), -EINVAL);
	assert_int_equal(nic_addr_parse("fe80::1%nosuchdev", ip, &scope_id), -EINVAL);
}

static void a_host_without_a_socket_is_gone(void **state)
{
	struct nic_params params = {.addr_count = 1};
	const uint8_t outside[16] = {[10] = 0xff, 0xff, 10, 9, 8, 7}, ipv6[16] = {[15] = 1};
	struct sockaddr_in other = {.sin_family = AF_INET};
	int fd;

	(void)state;
	host_ip(5, params.addr[0]);
	assert_true(nic_host_is_gone(params.addr[0]));
	fd = opened(nic_link_udp_socket(&params, false));
	assert_false(nic_host_is_gone(params.addr[0]));
	params.addr[0][14] ^= 1;
	assert_true(nic_host_is_gone(params.addr[0]));
	params.addr[0][14] ^= 1;
	closed(fd);
	assert_true(nic_host_is_gone(params.addr[0]));
	/* Nor does one of another port count. */
	fd = opened(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	memcpy(&other.sin_addr, params.addr[0] + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&other, sizeof(other)), 0);
	assert_true(nic_host_is_gone(params.addr[0]));
	closed(fd);
	assert_false(nic_host_is_gone(outside));
	assert_false(nic_host_is_gone(ipv6));
}

RUN(T(words_mean_what_they_say), T(what_is_too_long_is_refused),
    T(each_device_has_an_address_and_a_capture_of_its_own), T(identities_are_of_the_address),
    T(names_are_addresses), T(a_host_without_a_socket_is_gone))

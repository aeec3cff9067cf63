/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_HOST_H
#define NIC_HOST_H

/* Addresses: of emulated hosts by their names, and from text. */
#include <stdbool.h>
#include <stdint.h>

enum { NIC_HOST_TEXT_MAX = 46 };

/* An address says itself; any other name becomes one of 127.1.0.1 to 127.254.255.254, the same
 * everywhere: 127.0.x.y stays for those who choose their own. NAME.nic0 is NAME, as the first
 * device of a host is; NAME.nic1 and on are names like any. False: no name, or one that is too
 * long. */
bool nic_host_address(const char *host, char ret_text[NIC_HOST_TEXT_MAX]);

/* Text to address: "10.0.0.1", "fe80::1%eth0" (@ret_scope_id may be NULL: no scope allowed).
 * -EINVAL. */
int nic_addr_parse(const char *text, uint8_t ret_ip[16], uint32_t *ret_scope_id);

/* No socket of this machine takes RoCEv2 packets (UDP 4791) at @ip, a loopback address; false also
 * where that cannot be known. */
bool nic_host_is_gone(const uint8_t ip[16]);

#endif

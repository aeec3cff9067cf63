/* SPDX-License-Identifier: BSD-2-Clause */

/* Names of the real libibverbs that are no business of a program's but have to be there, for what
 * was linked against it to start: abi.py has the list and the reasons. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>

/* From no header: other people's code calls them under other names and with arguments that nobody
 * looks at. */
__attribute__((used)) int dropin_absent_int(void);
__attribute__((used)) void *dropin_absent_pointer(void);
__attribute__((used)) int dropin_query_gid_type(struct ibv_context *context, uint8_t port_num,
						unsigned int index, int *ret_type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       int *ret_type);

/* Also where nothing is returned: whoever calls that looks at nothing. */
int dropin_absent_int(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

void *dropin_absent_pointer(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* The one private name that programs call, in the other versions of it. */
int dropin_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			  int *ret_type)
{
	return ibv_query_gid_type(context, port_num, index, ret_type);
}

#define ALIAS(alias, stands_for, versioned)                                                        \
	__asm__(".globl " #alias "\n.set " #alias ", " #stands_for "\n.symver " #alias             \
		", " versioned "\n");
#include "absent.inc"

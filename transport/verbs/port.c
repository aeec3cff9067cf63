/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"
#include "transport/wire/pkt.h"

#include <endian.h>
#include <errno.h>

/* IBTA PortInfo: width codes 1 (1x), 2 (4x); a lane's speed as code and in Gbit/s. */
static void link_speed(uint64_t rate_bps, uint8_t *ret_width, uint8_t *ret_speed)
{
	static const struct {
		uint32_t rate_gbps;
		uint8_t width, speed;
	} table[] = {{800, 2, 128}, {400, 2, 128}, {200, 2, 64}, {100, 2, 32}, {50, 1, 64},
		     {40, 2, 4},    {25, 1, 32},   {10, 1, 4},	 {5, 1, 2},    {0, 1, 1}};
	unsigned int i = 0;

	while (rate_bps / 1000000000 < table[i].rate_gbps)
		i++;
	*ret_width = table[i].width;
	*ret_speed = table[i].speed;
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *ret_attr)
{
	struct vrb_limits limits;
	int ret;

	if (port_num != 1)
		return -EINVAL;
	if (vrb_context(context)->device->is_child)
		return -EIO;
	ret = vrb_backend(context)->query(vrb_self(context), &limits);
	if (ret < 0)
		return ret;
	*ret_attr = (struct ibv_port_attr){
		.state = limits.port_is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = vrb_mtu_enum(limits.mtu_max),
		.active_mtu = vrb_mtu_enum(limits.mtu_max),
		.gid_tbl_len = (int)limits.gid_places,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = 1u << 31,
		.qkey_viol_cntr = limits.qkey_violations,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = limits.port_is_down ? 3 : 5, /* Disabled, LinkUp */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	link_speed(limits.line_rate_bps, &ret_attr->active_width, &ret_attr->active_speed);
	return 0;
}

int vrb_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		   size_t attr_len)
{
	struct ibv_port_attr all;
	int ret = query_port(context, port_num, &all);

	if (ret < 0)
		return vrb_positive(ret);
	memset(attr, 0, attr_len);
	memcpy(attr, &all, attr_len < sizeof(all) ? attr_len : sizeof(all));
	return 0;
}

/* The structure of the first ABI ends where port_cap_flags2 was added. */
int vrb_query_port_compat(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *attr)
{
	return vrb_query_port(context, port_num, (struct ibv_port_attr *)(void *)attr,
			      offsetof(struct ibv_port_attr, port_cap_flags2));
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *attr)
{
	return vrb_query_port_compat(context, port_num, attr);
}

static int verbs_port_query_gid(struct ibv_context *context, uint32_t port_num, uint32_t index,
				union ibv_gid *ret_gid)
{
	if (port_num != 1)
		return -EINVAL;
	return vrb_backend(context)->query_gid(vrb_self(context), index, ret_gid->raw);
}

static bool is_place(struct ibv_context *context, uint32_t index)
{
	struct vrb_limits limits;

	return vrb_backend(context)->query(vrb_self(context), &limits) == 0 &&
	       index < limits.gid_places;
}

/* An empty place of the table is a GID of zeros to those who ask here, which the calls that are
 * newer than that refuse. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	int ret =
		index < 0 ? -EINVAL : verbs_port_query_gid(context, port_num, (uint32_t)index, gid);

	if (ret == -ENOENT && is_place(context, (uint32_t)index)) {
		*gid = (union ibv_gid){.raw = {0}};
		ret = 0;
	}
	return vrb_minus_one(ret);
}

static int gid_entry(struct ibv_context *context, uint32_t port_num, uint32_t index,
		     struct ibv_gid_entry *ret_entry)
{
	*ret_entry = (struct ibv_gid_entry){.gid_index = index,
					    .port_num = port_num,
					    .gid_type = IBV_GID_TYPE_ROCE_V2,
					    .ndev_ifindex = vrb_device(context)->info.ifindex};
	return verbs_port_query_gid(context, port_num, index, &ret_entry->gid);
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry all;
	int ret;

	if (flags != 0 || entry_size < sizeof(all))
		return vrb_positive(-EINVAL);
	ret = gid_entry(context, port_num, gid_index, &all);
	if (ret < 0)
		return vrb_positive(ret != -ENOENT		   ? ret
				    : is_place(context, gid_index) ? -ENODATA
								   : -EINVAL);
	memset(entry, 0, entry_size);
	memcpy(entry, &all, sizeof(all));
	return 0;
}

/* How many there are, or -EXXX; -EINVAL where they do not all fit. */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct vrb_limits limits;
	int ret;

	if (flags != 0 || entry_size < sizeof(struct ibv_gid_entry))
		return -EINVAL;
	ret = vrb_backend(context)->query(vrb_self(context), &limits);
	if (ret < 0)
		return ret;
	if (limits.gid_count > max_entries)
		return -EINVAL;
	memset(entries, 0, max_entries * entry_size);
	for (uint32_t i = 0; i < limits.gid_count; i++) {
		ret = gid_entry(context, 1, i, (void *)((uint8_t *)entries + i * entry_size));
		if (ret < 0)
			return ret;
	}
	return (ssize_t)limits.gid_count;
}

/* Not in the public header, but exported for the programs that come with rdma-core: what a file
 * under gid_attrs/types says, 0 (InfiniBand or RoCE v1) or 1 (RoCE v2). 0, or -1 with errno. */
__attribute__((visibility("default"))) int
ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type)
{
	union ibv_gid gid;
	int ret = verbs_port_query_gid(context, port_num, index, &gid);

	if (ret == 0)
		*type = 1;
	return vrb_minus_one(ret);
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != 1 || index != 0)
		return vrb_minus_one(-EINVAL);
	*pkey = htobe16(WIRE_PKEY_DEFAULT);
	return 0;
}

/* A pkey matches with or without the bit of full membership. */
int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	if (port_num != 1 || (be16toh(pkey) | 0x8000) != WIRE_PKEY_DEFAULT)
		return vrb_minus_one(-EINVAL);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Which link a NIC has, with a socket of its own or one of a group. */
#include "transport/nic/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void nic_link_interface(struct nic *nic)
{
	if (nic->params.link == NIC_LINK_UDP)
		nic_link_udp_interface(&nic->params, nic->netdev, &nic->netdev_mtu);
	else
		snprintf(nic->netdev, sizeof(nic->netdev), "%s", NIC_FRAME_NETDEV);
}

static int make_socket(void *owner)
{
	const struct nic *nic = owner;

	return nic_link_udp_socket(&nic->params, true);
}

static int join(struct nic *nic)
{
	char name[NIC_GROUP_NAME_BYTES];
	int ret;

	nic_group_name(nic->params.addr[0], nic->params.scope_id, name);
	ret = nic_group_join(name, make_socket, nic, &nic->group);
	if (ret == 0)
		hca_device_set_qpn_slot(nic->hca, nic_group_slot(nic->group), NIC_GROUP_SLOT_BITS);
	return ret;
}

/* The loop that was asked for, or the cheaper one: bench/loops.c. */
static int open_loop(const struct nic_link_params *params, enum nic_loop_kind loop,
		     struct nic_link **ret_link)
{
	return loop == NIC_LOOP_URING ? nic_link_uring_open(params, ret_link)
				      : nic_link_udp_open(params, ret_link);
}

int nic_loop_check(enum nic_loop_kind loop)
{
	return loop == NIC_LOOP_URING ? nic_link_uring_check() : 0;
}

enum nic_loop_kind nic_loop_in_use(struct nic *nic)
{
	enum nic_loop_kind loop = NIC_LOOP_AUTO;

	nic_lock(nic);
	if (nic->link)
		loop = nic->link->has_ring ? NIC_LOOP_URING : NIC_LOOP_EPOLL;
	nic_unlock(nic);
	return loop;
}

static int open_way(struct nic *nic)
{
	struct nic_link_params params = {.params = &nic->params,
					 .gids = nic->identity.gids[0],
					 .gid_count = nic->identity.gid_count,
					 .stats = &nic->stats};
	int ret = 0;

	memcpy(params.mac, nic->identity.mac, sizeof(params.mac));
	if (nic->params.link == NIC_LINK_FRAME)
		return nic_link_frame_open(&params, &nic->link);
	if (nic->params.shares)
		ret = join(nic);
	else
		nic->socket = nic_link_udp_socket(&nic->params, false);
	if (ret != 0 || (!nic->group && nic->socket < 0))
		return ret ? ret : nic->socket;
	params.fd = nic->group ? nic_group_socket(nic->group) : nic->socket;
	return open_loop(&params, nic->params.loop, &nic->link);
}

int nic_link_open(struct nic *nic)
{
	int ret = open_way(nic);

	if (ret == 0 && nic->group && nic->params.path != NIC_PATH_UDP)
		ret = nic_shm_open(nic, &nic->shm);
	if (ret != 0 && nic->link && nic->params.path != NIC_PATH_SHM)
		ret = 0; /* the socket does it all */
	return ret ? ret : nic_gsi_open(nic, &nic->gsi);
}

void nic_link_close(struct nic *nic)
{
	nic_gsi_close(nic->gsi, nic_is_dead(nic));
	nic->gsi = NULL;
	nic_shm_close(nic->shm);
	nic->shm = NULL;
	if (nic->link)
		nic->link->ops->close(nic->link);
	nic->link = NULL;
	nic_group_leave(nic->group);
	nic->group = NULL;
	if (nic->socket >= 0)
		close(nic->socket);
	nic->socket = -1;
}

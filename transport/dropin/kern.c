/* SPDX-License-Identifier: BSD-2-Clause */

/* What librdmacm and others of rdma-core take from libibverbs besides verbs: attributes as the
 * kernel writes them (include/uapi/rdma/ib_user_verbs.h, ib_user_sa.h) as programs know them, and
 * files under /sys. The real library exports them without a public header. */
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_dofork_range(void *base, size_t size);
int ibv_dontfork_range(void *base, size_t size);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[6], uint16_t *vid);
#pragma GCC visibility pop

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src)
{
	*dst = (struct ibv_ah_attr){
		.grh = {.flow_label = src->grh.flow_label,
			.sgid_index = src->grh.sgid_index,
			.hop_limit = src->grh.hop_limit,
			.traffic_class = src->grh.traffic_class},
		.dlid = src->dlid,
		.sl = src->sl,
		.src_path_bits = src->src_path_bits,
		.static_rate = src->static_rate,
		.is_global = src->is_global,
		.port_num = src->port_num,
	};
	memcpy(dst->grh.dgid.raw, src->grh.dgid, sizeof(src->grh.dgid));
}

void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src)
{
	*dst = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)src->qp_state,
		.cur_qp_state = (enum ibv_qp_state)src->cur_qp_state,
		.path_mtu = (enum ibv_mtu)src->path_mtu,
		.path_mig_state = (enum ibv_mig_state)src->path_mig_state,
		.qkey = src->qkey,
		.rq_psn = src->rq_psn,
		.sq_psn = src->sq_psn,
		.dest_qp_num = src->dest_qp_num,
		.qp_access_flags = src->qp_access_flags,
		.cap = {.max_send_wr = src->max_send_wr,
			.max_recv_wr = src->max_recv_wr,
			.max_send_sge = src->max_send_sge,
			.max_recv_sge = src->max_recv_sge,
			.max_inline_data = src->max_inline_data},
		.pkey_index = src->pkey_index,
		.alt_pkey_index = src->alt_pkey_index,
		.en_sqd_async_notify = src->en_sqd_async_notify,
		.sq_draining = src->sq_draining,
		.max_rd_atomic = src->max_rd_atomic,
		.max_dest_rd_atomic = src->max_dest_rd_atomic,
		.min_rnr_timer = src->min_rnr_timer,
		.port_num = src->port_num,
		.timeout = src->timeout,
		.retry_cnt = src->retry_cnt,
		.rnr_retry = src->rnr_retry,
		.alt_port_num = src->alt_port_num,
		.alt_timeout = src->alt_timeout,
	};
	ibv_copy_ah_attr_from_kern(&dst->ah_attr, &src->ah_attr);
	ibv_copy_ah_attr_from_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
}

void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src)
{
	*dst = (struct ibv_sa_path_rec){
		.dlid = src->dlid,
		.slid = src->slid,
		.raw_traffic = (int)src->raw_traffic,
		.flow_label = src->flow_label,
		.hop_limit = (uint8_t)src->hop_limit,
		.traffic_class = src->traffic_class,
		.reversible = (int)src->reversible,
		.numb_path = (uint8_t)src->numb_path,
		.pkey = src->pkey,
		.sl = src->sl,
		.mtu_selector = src->mtu_selector,
		.mtu = (uint8_t)src->mtu,
		.rate_selector = src->rate_selector,
		.rate = src->rate,
		.packet_life_time_selector = src->packet_life_time_selector,
		.packet_life_time = src->packet_life_time,
		.preference = (uint8_t)src->preference,
	};
	memcpy(dst->dgid.raw, src->dgid, sizeof(dst->dgid));
	memcpy(dst->sgid.raw, src->sgid, sizeof(dst->sgid));
}

void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src)
{
	*dst = (struct ib_user_path_rec){
		.dlid = src->dlid,
		.slid = src->slid,
		.raw_traffic = (uint32_t)src->raw_traffic,
		.flow_label = src->flow_label,
		.reversible = (uint32_t)src->reversible,
		.pkey = src->pkey,
		.hop_limit = src->hop_limit,
		.traffic_class = src->traffic_class,
		.numb_path = src->numb_path,
		.sl = src->sl,
		.mtu_selector = src->mtu_selector,
		.mtu = src->mtu,
		.rate_selector = src->rate_selector,
		.rate = src->rate,
		.packet_life_time_selector = src->packet_life_time_selector,
		.packet_life_time = src->packet_life_time,
		.preference = src->preference,
	};
	memcpy(dst->dgid, src->dgid.raw, sizeof(dst->dgid));
	memcpy(dst->sgid, src->sgid.raw, sizeof(dst->sgid));
}

const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* The first @size bytes without the newline at their end; how many, or -1 with errno. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char *path;
	ssize_t length;
	int fd;

	if (size == 0 || asprintf(&path, "%s/%s", dir, file) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return -1;
	length = read(fd, buf, size);
	close(fd);
	if (length <= 0)
		return -1;
	if (buf[length - 1] == '\n')
		buf[--length] = '\0';
	else if ((size_t)length < size)
		buf[length] = '\0';
	else
		buf[--length] = '\0';
	return (int)length;
}

/* The adapter reaches memory through the program's own mappings, in a fork()'s parent as before. */
int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

/* Of use to nobody who does not build frames by himself. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[6], uint16_t *vid)
{
	(void)context, (void)attr, (void)eth_mac, (void)vid;
	return -EOPNOTSUPP;
}

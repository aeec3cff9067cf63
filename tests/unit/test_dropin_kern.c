/* SPDX-License-Identifier: BSD-2-Clause */
/* What librdmacm takes from libibverbs besides verbs: fields of one name have one value on both
 * sides, and files are lines. */
#include "tests/test.h"

#include <fcntl.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

/* No two bytes next to one another are the same. */
static void fill(void *bytes, size_t count, uint8_t first)
{
	for (size_t i = 0; i < count; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(first + i);
}

#define SAME(field) assert_int_equal(dst.field, src.field)

static void assert_same_way(struct ibv_ah_attr dst, struct ib_uverbs_ah_attr src)
{
	SAME(grh.flow_label);
	SAME(grh.sgid_index);
	SAME(grh.hop_limit);
	SAME(grh.traffic_class);
	SAME(dlid);
	SAME(sl);
	SAME(src_path_bits);
	SAME(static_rate);
	SAME(is_global);
	SAME(port_num);
	assert_memory_equal(dst.grh.dgid.raw, src.grh.dgid, 16);
}

static void attributes_keep_their_values(void **state)
{
	struct ib_uverbs_qp_attr src;
	struct ibv_qp_attr dst;
	struct ibv_ah_attr way;

	(void)state;
	fill(&src, sizeof(src), 1);
	ibv_copy_ah_attr_from_kern(&way, &src.alt_ah_attr);
	assert_same_way(way, src.alt_ah_attr);
	ibv_copy_qp_attr_from_kern(&dst, &src);
	assert_same_way(dst.ah_attr, src.ah_attr);
	assert_same_way(dst.alt_ah_attr, src.alt_ah_attr);
	SAME(qp_state);
	SAME(cur_qp_state);
	SAME(path_mtu);
	SAME(path_mig_state);
	SAME(qkey);
	SAME(rq_psn);
	SAME(sq_psn);
	SAME(dest_qp_num);
	SAME(qp_access_flags);
	assert_int_equal(dst.cap.max_send_wr, src.max_send_wr);
	assert_int_equal(dst.cap.max_recv_wr, src.max_recv_wr);
	assert_int_equal(dst.cap.max_send_sge, src.max_send_sge);
	assert_int_equal(dst.cap.max_recv_sge, src.max_recv_sge);
	assert_int_equal(dst.cap.max_inline_data, src.max_inline_data);
	SAME(pkey_index);
	SAME(alt_pkey_index);
	SAME(en_sqd_async_notify);
	SAME(sq_draining);
	SAME(max_rd_atomic);
	SAME(max_dest_rd_atomic);
	SAME(min_rnr_timer);
	SAME(port_num);
	SAME(timeout);
	SAME(retry_cnt);
	SAME(rnr_retry);
	SAME(alt_port_num);
	SAME(alt_timeout);
}

/* There and back again: numbers that are wider here have values that fit there. */
static void paths_keep_their_values(void **state)
{
	struct ib_user_path_rec src, back;
	struct ibv_sa_path_rec dst;

	(void)state;
	fill(&src, sizeof(src), 3);
	memset(&back, 0xee, sizeof(back));
	src.hop_limit = 0x51;
	src.numb_path = 0x52;
	src.mtu = 0x53;
	src.preference = 0x54;
	src.raw_traffic = src.reversible = 1;
	ibv_copy_path_rec_from_kern(&dst, &src);
	assert_memory_equal(dst.dgid.raw, src.dgid, 16);
	assert_memory_equal(dst.sgid.raw, src.sgid, 16);
	SAME(dlid);
	SAME(slid);
	SAME(raw_traffic);
	SAME(flow_label);
	SAME(hop_limit);
	SAME(traffic_class);
	SAME(reversible);
	SAME(numb_path);
	SAME(pkey);
	SAME(sl);
	SAME(mtu_selector);
	SAME(mtu);
	SAME(rate_selector);
	SAME(rate);
	SAME(packet_life_time_selector);
	SAME(packet_life_time);
	SAME(preference);
	ibv_copy_path_rec_to_kern(&back, &dst);
	assert_memory_equal(&back, &src, offsetof(struct ib_user_path_rec, preference) + 1);
}

static void write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_file_is_a_line_without_its_end(void **state)
{
	char folder[] = "/tmp/dropin_kern.XXXXXX", path[64], text[8];

	(void)state;
	assert_string_equal(ibv_get_sysfs_path(), "/sys");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	write_file(path, "RoCE\n");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", text, sizeof(text)), 4);
	assert_string_equal(text, "RoCE");
	write_file(path, "RoCE");
	memset(text, 'x', sizeof(text));
	assert_int_equal(ibv_read_sysfs_file(folder, "file", text, sizeof(text)), 4);
	assert_string_equal(text, "RoCE");
	write_file(path, "RoCE v2 and more\n"); /* so much as there is room for, ended */
	assert_int_equal(ibv_read_sysfs_file(folder, "file", text, sizeof(text)), 7);
	assert_string_equal(text, "RoCE v2");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", text, 0), -1);
	write_file(path, "");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", text, sizeof(text)), -1);
	assert_int_equal(ibv_read_sysfs_file(folder, "none", text, sizeof(text)), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

RUN(T(attributes_keep_their_values), T(paths_keep_their_values),
    T(a_file_is_a_line_without_its_end))

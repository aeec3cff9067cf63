/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Nobody's OUI: one that is locally administered. That of a maker would have libraries look for its
 * registers. */
enum { VENDOR_ID = 0x020000 };
/* enum ib_uverbs_device_cap_flags of later headers (linux include/uapi/rdma/ib_user_verbs.h). */
#define DEVICE_FLUSH_GLOBAL (1ull << 38)
#define DEVICE_ATOMIC_WRITE (1ull << 40)
/* Of completions' time stamps: one cycle is a nanosecond. */
enum { CLOCK_KHZ = 1000000 };

static void name(struct ibv_device *ibv, const char *text)
{
	snprintf(ibv->name, sizeof(ibv->name), "%s", text);
	snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs-%.50s", text);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path), "/sys/class/infiniband_verbs/%s",
		 ibv->dev_name);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "/sys/class/infiniband/%s", ibv->name);
}

struct vrb_device *vrb_device_create(const struct vrb_backend *backend, void *self)
{
	struct vrb_device *device = calloc(1, sizeof(*device));
	struct vrb_shown *shown = vrb_calloc(1, sizeof(*shown));

	if (!device || !shown)
		goto fail;
	*device = (struct vrb_device){.shown = shown, .backend = backend, .self = self};
	if (backend->attach(self, &device->info, &device->ring) < 0)
		goto fail;
	pthread_mutex_init(&device->lock, NULL);
	shown->device = device;
	shown->ibv.node_type = IBV_NODE_CA;
	shown->ibv.transport_type = IBV_TRANSPORT_IB;
	name(&shown->ibv, device->info.name);
	return device;
fail:
	vrb_free(shown);
	free(device);
	return NULL;
}

void vrb_device_destroy(struct vrb_device *device)
{
	device->backend->detach(device->self);
	vrb_table_fini(&device->objects);
	pthread_mutex_destroy(&device->lock);
	vrb_free(device->shown);
	free(device);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1; /* the kernel does not know it */
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(VRB_TO(vrb_shown, ibv, device)->device->info.guid);
}

static int query_device_compat(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return ibv_query_device(context, attr);
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
	struct vrb_device *device = VRB_TO(vrb_shown, ibv, ibv)->device;
	struct vrb_context *context = vrb_calloc(1, sizeof(*context));
	struct verbs_context *verbs;
	int ret;

	if (!context)
		return vrb_null(-ENOMEM);
	ret = device->backend->open(device->self);
	if (ret < 0) {
		vrb_free(context);
		return vrb_null(ret);
	}
	ret = vrb_queue_init(device, &context->async, VRB_CHANNEL_ASYNC);
	if (ret == 0) {
		ret = vrb_note(device, context->async.handle, context);
		if (ret < 0)
			vrb_queue_fini(device, &context->async);
	}
	if (ret < 0) {
		device->backend->close(device->self);
		vrb_free(context);
		return vrb_null(ret);
	}
	context->device = device;
	context->ref_count = 1;
	verbs = &context->verbs;
	verbs->sz = sizeof(*verbs);
	verbs->query_port = vrb_query_port;
	verbs->query_device_ex = vrb_query_device_ex;
	verbs->alloc_null_mr = vrb_alloc_null_mr;
	verbs->open_xrcd = vrb_open_xrcd;
	verbs->close_xrcd = vrb_close_xrcd;
	verbs->create_srq_ex = vrb_create_srq_ex;
	verbs->get_srq_num = vrb_get_srq_num;
	verbs->open_qp = vrb_open_qp;
	verbs->alloc_td = vrb_alloc_td;
	verbs->dealloc_td = vrb_dealloc_td;
	verbs->alloc_parent_domain = vrb_alloc_parent_domain;
	verbs->alloc_dm = vrb_alloc_dm;
	verbs->free_dm = vrb_free_dm;
	verbs->reg_dm_mr = vrb_reg_dm_mr;
	verbs->advise_mr = vrb_advise_mr;
	verbs->create_qp_ex = vrb_create_qp_ex;
	verbs->modify_qp_rate_limit = vrb_modify_qp_rate_limit;
	verbs->create_cq_ex = vrb_create_cq_ex;
	verbs->modify_cq = vrb_modify_cq;
	verbs->query_rt_values = vrb_query_rt_values;
	verbs->context.device = ibv;
	verbs->context.cmd_fd = -1;
	if (context->async.fd >= 0)
		vrb_file_create(&verbs->context);
	verbs->context.async_fd = context->async.fd;
	verbs->context.num_comp_vectors = 1;
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs->context.ops = (struct ibv_context_ops){
		._compat_query_device = query_device_compat,
		._compat_query_port = vrb_query_port_compat,
		.poll_cq = vrb_poll_cq,
		.req_notify_cq = vrb_req_notify_cq,
		.post_send = vrb_post_send,
		.post_recv = vrb_post_recv,
		.post_srq_recv = vrb_post_srq_recv,
		.alloc_mw = vrb_alloc_mw,
		.bind_mw = vrb_bind_mw,
		.dealloc_mw = vrb_dealloc_mw,
	};
	pthread_mutex_init(&verbs->context.mutex, NULL);
	device->backend->charge_event(device->self);
	return &verbs->context;
}

void vrb_context_get(struct ibv_context *context)
{
	__atomic_add_fetch(&vrb_context(context)->ref_count, 1, __ATOMIC_RELAXED);
}

void vrb_context_put(struct ibv_context *ibv)
{
	struct vrb_context *context = vrb_context(ibv);
	struct vrb_device *device = context->device;

	if (__atomic_sub_fetch(&context->ref_count, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	device->backend->charge_event(device->self);
	vrb_drop(device, context->async.handle);
	vrb_queue_fini(device, &context->async);
	device->backend->close(device->self);
	if (ibv->cmd_fd >= 0)
		close(ibv->cmd_fd);
	pthread_mutex_destroy(&ibv->mutex);
	vrb_free(context);
}

int ibv_close_device(struct ibv_context *context)
{
	vrb_context_put(context);
	return 0;
}

/* @ret_limits: as the adapter has them, for whoever tells more. */
static int query_device(struct ibv_context *context, struct ibv_device_attr *attr,
			struct vrb_limits *ret_limits)
{
	int ret = vrb_backend(context)->query(vrb_self(context), ret_limits);

	if (ret < 0)
		return ret;
	*attr = (struct ibv_device_attr){
		.node_guid = ibv_get_device_guid(context->device),
		.sys_image_guid = ibv_get_device_guid(context->device),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = VENDOR_ID,
		.vendor_part_id = vrb_device(context)->info.part_id,
		.hw_ver = 1,
		.max_qp = (int)ret_limits->qp_max,
		.max_qp_wr = (int)ret_limits->wr_max,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
				    (ret_limits->mw_is_2a ? IBV_DEVICE_MEM_WINDOW_TYPE_2A
							  : IBV_DEVICE_MEM_WINDOW_TYPE_2B) |
				    (ret_limits->has_xrc ? IBV_DEVICE_XRC : 0),
		.max_sge = (int)ret_limits->sge_max,
		.max_sge_rd = (int)ret_limits->sge_max,
		.max_cq = (int)ret_limits->cq_max,
		.max_cqe = (int)ret_limits->cqe_max,
		.max_mr = (int)ret_limits->mr_max,
		.max_pd = (int)ret_limits->pd_max,
		.max_mw = (int)ret_limits->mr_max,
		.max_qp_rd_atom = (int)ret_limits->rd_atomic_max,
		.max_res_rd_atom = (int)(ret_limits->rd_atomic_max * ret_limits->qp_max),
		.max_qp_init_rd_atom = (int)ret_limits->rd_atomic_max,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = (int)ret_limits->qp_max,
		.max_srq = (int)ret_limits->srq_max,
		.max_srq_wr = (int)ret_limits->wr_max,
		.max_srq_sge = (int)ret_limits->sge_max,
		.max_mcast_grp = (int)ret_limits->mcast_max,
		.max_mcast_qp_attach = ret_limits->mcast_max ? (int)ret_limits->qp_max : 0,
		.max_total_mcast_qp_attach = ret_limits->mcast_max ? (int)ret_limits->qp_max : 0,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	memcpy(attr->fw_ver, vrb_device(context)->info.fw_ver, sizeof(attr->fw_ver));
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct vrb_limits limits;

	return vrb_positive(query_device(context, attr, &limits));
}

/* Memory of programs is always mapped to the adapter: all that it does with memory it does with
 * that which is on demand. */
static void tell_odp_caps(struct ibv_device_attr_ex *attr)
{
	const uint32_t ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t uc = ud | IBV_ODP_SUPPORT_WRITE;
	const uint32_t rc = uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;

	attr->odp_caps = (struct ibv_odp_caps){
		.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
		.per_transport_caps = {.rc_odp_caps = rc, .uc_odp_caps = uc, .ud_odp_caps = ud}};
	if (attr->orig_attr.device_cap_flags & IBV_DEVICE_XRC)
		attr->xrc_odp_caps = rc;
}

static uint32_t rate_kbps(uint64_t rate_bps)
{
	return rate_bps / 1000 < UINT32_MAX ? (uint32_t)(rate_bps / 1000) : UINT32_MAX;
}

/* @attr_size may be that of an older or a newer header. */
int vrb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex all = {.phys_port_cnt_ex = 1};
	struct vrb_limits limits;
	int ret;

	if ((input && input->comp_mask != 0) || attr_size < sizeof(all.orig_attr))
		return vrb_positive(-EINVAL);
	ret = query_device(context, &all.orig_attr, &limits);
	if (ret < 0)
		return vrb_positive(ret);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	if (limits.has_annex)
		all.device_cap_flags_ex |= DEVICE_FLUSH_GLOBAL | DEVICE_ATOMIC_WRITE;
	if (limits.has_rate_limit)
		all.packet_pacing_caps = (struct ibv_packet_pacing_caps){
			.qp_rate_limit_min = 1,
			.qp_rate_limit_max = rate_kbps(limits.line_rate_bps),
			.supported_qpts = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC |
					  (limits.has_xrc ? 1u << IBV_QPT_XRC_SEND : 0)};
	all.completion_timestamp_mask = UINT64_MAX;
	all.hca_core_clock = CLOCK_KHZ;
	tell_odp_caps(&all);
	all.max_dm_size = limits.dm_bytes_max;
	all.cq_mod_caps = (struct ibv_cq_moderation_caps){UINT16_MAX, UINT16_MAX};
	memset(attr, 0, attr_size);
	memcpy(attr, &all, attr_size < sizeof(all) ? attr_size : sizeof(all));
	return 0;
}

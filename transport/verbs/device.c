/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
	verbs->context.device = ibv;
	verbs->context.cmd_fd = -1;
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
	pthread_mutex_destroy(&ibv->mutex);
	vrb_free(context);
}

int ibv_close_device(struct ibv_context *context)
{
	vrb_context_put(context);
	return 0;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct vrb_limits limits;
	int ret = vrb_backend(context)->query(vrb_self(context), &limits);

	if (ret < 0)
		return ret;
	*attr = (struct ibv_device_attr){
		.fw_ver = "verbena",
		.node_guid = ibv_get_device_guid(context->device),
		.sys_image_guid = ibv_get_device_guid(context->device),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.max_qp = (int)limits.qp_max,
		.max_qp_wr = (int)limits.wr_max,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN,
		.max_sge = (int)limits.sge_max,
		.max_sge_rd = (int)limits.sge_max,
		.max_cq = (int)limits.cq_max,
		.max_cqe = (int)limits.cqe_max,
		.max_mr = (int)limits.mr_max,
		.max_pd = (int)limits.pd_max,
		.max_qp_rd_atom = (int)limits.rd_atomic_max,
		.max_res_rd_atom = (int)(limits.rd_atomic_max * limits.qp_max),
		.max_qp_init_rd_atom = (int)limits.rd_atomic_max,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = (int)limits.qp_max,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return vrb_positive(query_device(context, attr));
}

/* @attr_size may be that of an older or a newer header. */
int vrb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex all = {.phys_port_cnt_ex = 1};
	int ret;

	if ((input && input->comp_mask != 0) || attr_size < sizeof(all.orig_attr))
		return vrb_positive(-EINVAL);
	ret = query_device(context, &all.orig_attr);
	if (ret < 0)
		return vrb_positive(ret);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	memset(attr, 0, attr_size);
	memcpy(attr, &all, attr_size < sizeof(all) ? attr_size : sizeof(all));
	return 0;
}

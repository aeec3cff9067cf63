/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

/* Thread domains and parent domains. The first promise that one thread at a time calls, and allow
 * to do without locks: nothing is done without them here. The second are a protection domain under
 * another name; the memory of queues is the adapter's, so that their allocators have nothing to be
 * called for. */

struct ibv_td *vrb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vrb_td *td;

	if (attr->comp_mask != 0)
		return vrb_null(-EINVAL);
	td = vrb_calloc(1, sizeof(*td));
	if (!td)
		return vrb_null(-ENOMEM);
	td->ibv.context = context;
	vrb_context_get(context);
	return &td->ibv;
}

int vrb_dealloc_td(struct ibv_td *ibv)
{
	struct vrb_td *td = VRB_TO(vrb_td, ibv, ibv);
	struct ibv_context *context = ibv->context;

	if (__atomic_load_n(&td->use_count, __ATOMIC_ACQUIRE) != 0)
		return vrb_positive(-EBUSY);
	vrb_free(td);
	vrb_context_put(context);
	return 0;
}

static int check_parent(const struct ibv_context *context,
			const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (attr->comp_mask & ~known || !attr->pd || attr->pd->context != context ||
	    vrb_is_parent_domain(attr->pd) || (attr->td && attr->td->context != context))
		return -EINVAL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return -EINVAL;
	return 0;
}

struct ibv_pd *vrb_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	int ret = check_parent(context, attr);
	struct vrb_pd *pd;

	if (ret < 0)
		return vrb_null(ret);
	pd = vrb_calloc(1, sizeof(*pd));
	if (!pd)
		return vrb_null(-ENOMEM);
	pd->of = VRB_TO(vrb_pd, ibv, attr->pd);
	pd->handle = pd->of->handle;
	pd->ibv.context = context;
	pd->ibv.handle = attr->pd->handle;
	if (attr->td) {
		pd->td = VRB_TO(vrb_td, ibv, attr->td);
		__atomic_add_fetch(&pd->td->use_count, 1, __ATOMIC_RELEASE);
	}
	vrb_pd_get(pd->of);
	vrb_context_get(context);
	return &pd->ibv;
}

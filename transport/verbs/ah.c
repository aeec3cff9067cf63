/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* Address handles: where datagrams go, and where those that have come are from. */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct wire_path path;
	struct vrb_ah *ah;
	struct vrb_av av;
	int ret = vrb_av_init(&av, attr);

	if (ret == 0)
		ret = vrb_backend(pd->context)->resolve_ah(vrb_self(pd->context), &av, &path);
	if (ret < 0)
		return vrb_null(ret);
	ah = vrb_calloc(1, sizeof(*ah));
	if (!ah)
		return vrb_null(-ENOMEM);
	ah->path = path;
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	vrb_free(VRB_TO(vrb_ah, ibv, ibv));
	return 0;
}

static void gid_of_ipv4(const uint8_t ipv4[4], union ibv_gid *ret_gid)
{
	*ret_gid = (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff}};
	memcpy(ret_gid->raw + 12, ipv4, 4);
}

/* The addresses of a global route header: IPv6's, or behind 20 zeros those of IPv4 (see
 * wire_frame_grh()). */
static void read_grh(const struct ibv_grh *grh, struct ibv_ah_attr *attr, union ibv_gid *ret_to)
{
	const uint8_t *bytes = (const void *)grh;
	const uint32_t first = be32toh(grh->version_tclass_flow);

	if (first >> 28 == 6) {
		attr->grh.traffic_class = (uint8_t)(first >> 20);
		attr->grh.flow_label = first & 0xfffff;
		attr->grh.dgid = grh->sgid;
		*ret_to = grh->dgid;
		return;
	}
	attr->grh.traffic_class = bytes[21];
	gid_of_ipv4(bytes + 32, &attr->grh.dgid);
	gid_of_ipv4(bytes + 36, ret_to);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	union ibv_gid to, gid;

	if (!(wc->wc_flags & IBV_WC_GRH))
		return vrb_minus_one(-EINVAL);
	/* No service level: what wc->sl tells is the kind of packet (see vrb_wc()). */
	*ah_attr = (struct ibv_ah_attr){
		.is_global = 1, .port_num = port_num, .grh = {.hop_limit = 64}};
	read_grh(grh, ah_attr, &to);
	for (int i = 0; i < 256 && ibv_query_gid(context, port_num, i, &gid) == 0; i++)
		if (memcmp(&gid, &to, sizeof(gid)) == 0) {
			ah_attr->grh.sgid_index = (uint8_t)i;
			return 0;
		}
	return vrb_minus_one(-EINVAL);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah_attr attr;

	return ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) == 0
		       ? ibv_create_ah(pd, &attr)
		       : NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/mcast.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* There are few: a list is looked through. */

static struct hca_member *next_member(const struct hca_device *dev, const struct hca_member *after)
{
	struct hca_list *n = after ? after->node.next : dev->mcast_list.next;

	return n == &dev->mcast_list ? NULL : container_of(n, struct hca_member, node);
}

static struct hca_member *find_member(const struct hca_device *dev, const struct hca_qp *qp,
				      const uint8_t ip[16])
{
	struct hca_member *m = next_member(dev, NULL);

	while (m && (m->qp != qp || memcmp(m->ip, ip, sizeof(m->ip)) != 0))
		m = next_member(dev, m);
	return m;
}

int hca_mcast_attach(struct hca_device *dev, struct hca_qp *qp, const uint8_t ip[16])
{
	struct hca_member *m;

	if (qp->type != HCA_QPT_UD)
		return -EINVAL;
	if (find_member(dev, qp, ip))
		return 0;
	m = util_calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->qp = qp;
	memcpy(m->ip, ip, sizeof(m->ip));
	hca_list_add_tail(&dev->mcast_list, &m->node);
	return 0;
}

static void forget_member(struct hca_member *m)
{
	hca_list_remove(&m->node);
	util_free(m);
}

int hca_mcast_detach(struct hca_device *dev, struct hca_qp *qp, const uint8_t ip[16])
{
	struct hca_member *m = find_member(dev, qp, ip);

	if (!m)
		return -EINVAL;
	forget_member(m);
	return 0;
}

uint32_t hca_mcast_count(const struct hca_device *dev, const uint8_t ip[16])
{
	uint32_t count = 0;

	for (const struct hca_member *m = next_member(dev, NULL); m; m = next_member(dev, m))
		count += memcmp(m->ip, ip, sizeof(m->ip)) == 0;
	return count;
}

const uint8_t *hca_mcast_group_of(const struct hca_device *dev, const struct hca_qp *qp)
{
	const struct hca_member *m = next_member(dev, NULL);

	while (m && m->qp != qp)
		m = next_member(dev, m);
	return m ? m->ip : NULL;
}

void hca_mcast_leave(struct hca_qp *qp)
{
	struct hca_member *m = next_member(qp->dev, NULL), *next;

	for (; m; m = next) {
		next = next_member(qp->dev, m);
		if (m->qp == qp)
			forget_member(m);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/mem.h"

#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* A key is the slot of its region, through a permutation of 24 bits, and a tag: each use of a slot
 * has another one, so that an old key does not open a new region. */

/* Of a region in its pool: so none takes part in more than two cache lines. */
enum { REGION_BYTES = 96 };
_Static_assert(sizeof(struct hca_mr) <= REGION_BYTES, "it has room");

enum { KEY_TAG_BITS = 8, SLOT_HALF_BITS = 12, SLOT_HALF_MAX = 0xfff, SLOT_MAX = 0xffffff };

/* Luby and Rackoff 1988: four rounds. */
static uint32_t round_of(uint32_t half, uint32_t key)
{
	return (half ^ key) * 0x9e3779b1u >> (32 - SLOT_HALF_BITS);
}

static uint32_t permute(const struct hca_device *dev, uint32_t slot)
{
	uint32_t left = slot >> SLOT_HALF_BITS, right = slot & SLOT_HALF_MAX;

	for (int i = 0; i < 4; i++) {
		uint32_t next = left ^ round_of(right, dev->mr_keys[i]);

		left = right;
		right = next;
	}
	return left << SLOT_HALF_BITS | right;
}

uint32_t hca_mr_slot_of(const struct hca_device *dev, uint32_t key)
{
	uint32_t left = key >> (KEY_TAG_BITS + SLOT_HALF_BITS);
	uint32_t right = key >> KEY_TAG_BITS & SLOT_HALF_MAX;

	for (int i = 3; i >= 0; i--) {
		uint32_t previous = right ^ round_of(left, dev->mr_keys[i]);

		right = left;
		left = previous;
	}
	return left << SLOT_HALF_BITS | right;
}

struct hca_mr *hca_mr_find(const struct hca_device *dev, const struct hca_pd *pd, uint32_t key,
			   uint64_t va, uint64_t length, uint32_t access)
{
	return hca_mr_at(dev, hca_mr_slot_of(dev, key), pd, key, va, length, access);
}

/* A slot that is free, at the head of the list of free ones; 0 or -ENOMEM. */
static int reserve_slot(struct hca_device *dev)
{
	uint32_t capacity = dev->mr_capacity ? dev->mr_capacity * 2 : 8;
	struct hca_mr_slot *mrs;

	if (dev->mr_free)
		return 0;
	if (dev->mr_slots == dev->mr_capacity) {
		if (capacity > SLOT_MAX + 1u)
			return -ENOMEM;
		mrs = util_realloc(dev->mrs, capacity, sizeof(*mrs));
		if (!mrs)
			return -ENOMEM;
		dev->mrs = mrs;
		dev->mr_capacity = capacity;
	}
	dev->mrs[dev->mr_slots] = (struct hca_mr_slot){.tag = 1};
	dev->mr_free = ++dev->mr_slots;
	return 0;
}

int hca_mr_slot_take(struct hca_device *dev, struct hca_mr *mr)
{
	struct hca_mr_slot *slot;

	if (reserve_slot(dev) != 0)
		return -ENOMEM;
	slot = &dev->mrs[dev->mr_free - 1];
	mr->lkey = mr->rkey = permute(dev, dev->mr_free - 1) << KEY_TAG_BITS | slot->tag;
	mr->number = dev->mr_number++;
	dev->mr_free = slot->next_free;
	slot->owner = mr;
	return 0;
}

/* The tag of the last key is not the next one's, whoever chose it. */
void hca_mr_slot_give_back(struct hca_device *dev, const struct hca_mr *mr)
{
	const uint32_t number = hca_mr_slot_of(dev, mr->lkey);
	struct hca_mr_slot *slot = &dev->mrs[number];

	CHECK(number < dev->mr_slots);
	CHECK(slot->owner == mr);
	slot->mr = slot->owner = NULL;
	slot->tag = (uint8_t)(mr->lkey + 1);
	slot->next_free = dev->mr_free;
	dev->mr_free = number + 1;
}

static bool params_are_valid(const struct hca_mr_params *params)
{
	const uint32_t writing = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;

	if (params->length && params->iova + (params->length - 1) < params->iova)
		return false;
	if (params->dm && !hca_dm_has(params->dm, params->address, params->length))
		return false;
	return !(params->access & writing) || params->access & HCA_ACCESS_LOCAL_WRITE;
}

static uint32_t rights_of(const struct hca_mr_params *params)
{
	const uint32_t reading = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;

	return params->is_unreadable ? params->access & ~reading
				     : params->access | HCA_ACCESS_LOCAL_READ;
}

static bool is_lendable(const struct hca_device *dev, const struct hca_mr_params *params)
{
	return dev->lender && !params->dm && params->ops->is_lendable;
}

int hca_mr_create(struct hca_device *dev, struct hca_pd *pd, const struct hca_mr_params *params,
		  struct hca_mr **ret_mr)
{
	struct hca_mr *mr;

	if (!params_are_valid(params))
		return -EINVAL;
	if (params->ops == &hca_mem_null && dev->dma)
		return -EOPNOTSUPP;
	if (dev->mr_count == dev->profile.mr_max)
		return -ENOMEM;
	mr = hca_pool_get(&dev->regions, REGION_BYTES);
	if (!mr)
		return -ENOMEM;
	*mr = (struct hca_mr){
		.ops = params->dm ? &hca_mem_device : params->ops,
		.pd = pd,
		.iova = params->iova,
		.length = params->length,
		.access = rights_of(params),
		.is_fast = params->is_fast,
		.address = params->address,
		.place = params->place,
		.is_pattern = params->ops == &hca_mem_synthetic && (!dev->dma || dev->dma->is_even),
		.is_on_demand = params->is_on_demand,
		.is_lent = is_lendable(dev, params),
		.stream = params->stream,
	};
	if (hca_mr_slot_take(dev, mr) != 0) {
		hca_pool_put(&dev->regions, mr);
		return -ENOMEM;
	}
	if (params->dm)
		hca_dm_get(params->dm, mr);
	dev->mrs[hca_mr_slot_of(dev, mr->lkey)].mr = mr;
	dev->mr_count++;
	pd->use_count++;
	*ret_mr = mr;
	return 0;
}

int hca_mr_change(struct hca_device *dev, struct hca_mr *mr, struct hca_pd *pd,
		  const struct hca_mr_params *params)
{
	if (mr->ops == &hca_mem_device || params->dm)
		return -EOPNOTSUPP;
	if (mr->window_count > 0)
		return -EBUSY;
	if (!params_are_valid(params))
		return -EINVAL;
	hca_loans_revoke_answers(dev);
	if (dev->dma)
		dev->dma->release(dev->world, mr->number);
	mr->pd->use_count--;
	pd->use_count++;
	mr->pd = pd;
	mr->ops = params->ops;
	mr->iova = params->iova;
	mr->length = params->length;
	mr->access = rights_of(params);
	mr->address = params->address;
	mr->place = params->place;
	mr->is_on_demand = params->is_on_demand;
	mr->is_lent = is_lendable(dev, params);
	return 0;
}

int hca_mr_destroy(struct hca_device *dev, struct hca_mr *mr)
{
	if (mr->window_count > 0)
		return -EBUSY;
	hca_loans_revoke_answers(dev);
	if (dev->dma)
		dev->dma->release(dev->world, mr->number);
	hca_mr_slot_give_back(dev, mr);
	dev->mr_count--;
	mr->pd->use_count--;
	if (mr->ops == &hca_mem_device)
		hca_dm_put(mr->dm);
	hca_pool_put(&dev->regions, mr);
	return 0;
}

bool hca_mr_invalidate(struct hca_device *dev, const struct hca_pd *pd, uint32_t key, bool remote)
{
	const uint32_t remote_rights =
		HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;
	struct hca_mr *mr = hca_mr_find(dev, pd, key, 0, 0, 0);

	if (!mr || !mr->is_fast || (remote && !(mr->access & remote_rights)))
		return false;
	hca_loans_revoke_answers(dev);
	dev->mrs[hca_mr_slot_of(dev, key)].mr = NULL;
	return true;
}

int hca_mr_advise(const struct hca_device *dev, const struct hca_pd *pd, uint32_t key, uint64_t va,
		  uint64_t length, bool writes)
{
	const uint32_t slot = hca_mr_slot_of(dev, key);
	const struct hca_mr *mr = slot < dev->mr_slots ? dev->mrs[slot].mr : NULL;

	if (!mr || mr->lkey != key)
		return -ENOENT;
	if (mr->pd != pd || (writes && !(mr->access & HCA_ACCESS_LOCAL_WRITE)))
		return -EPERM;
	if (!mr->is_on_demand)
		return -EINVAL;
	return hca_mr_at(dev, slot, pd, key, va, length, 0) ? 0 : -EFAULT;
}

void hca_mr_doubt(struct hca_device *dev, uint64_t address, uint64_t bytes,
		  const struct hca_mem_ops *ops)
{
	for (uint32_t i = 0; i < dev->mr_slots; i++) {
		struct hca_mr *mr = dev->mrs[i].owner;

		if (mr && mr->ops == &hca_mem_host &&
		    (mr->address < address ? address - mr->address < mr->length
					   : mr->address - address < bytes))
			mr->ops = ops;
	}
}

void hca_mem_fini(struct hca_device *dev)
{
	util_free(dev->mrs);
}

void hca_mem_host_read(uint64_t address, uint8_t *ret_bytes, uint32_t length)
{
	memcpy(ret_bytes, hca_mem_host_at(address), length);
}

static bool host_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes, uint32_t length)
{
	hca_mem_host_read(mr->address + offset, ret_bytes, length);
	return true;
}

/* The most bytes, up to 8, that one aligned store puts at the end of [@host, @host + @length). */
static uint32_t tail_of(const uint8_t *host, uint32_t length)
{
	const uintptr_t end = (uintptr_t)host + length;

	if (end % 8 == 0 && length >= 8)
		return 8;
	if (end % 4 == 0 && length >= 4)
		return 4;
	return end % 2 == 0 && length >= 2 ? 2 : 1;
}

/* Programs poll the end of a buffer to see that all of it is there: it comes last, in one store. */
void hca_mem_host_write(uint64_t address, const uint8_t *bytes, uint32_t length)
{
	uint8_t *host = hca_mem_host_at(address);
	uint32_t tail = tail_of(host, length);
	void *to;
	union {
		uint64_t u64;
		uint32_t u32;
		uint16_t u16;
		uint8_t u8;
	} last;

	if (!length)
		return;
	to = host + length - tail;
	memcpy(host, bytes, length - tail);
	memcpy(&last, bytes + length - tail, tail);
	if (tail == 8)
		__atomic_store_n((uint64_t *)to, last.u64, __ATOMIC_RELEASE);
	else if (tail == 4)
		__atomic_store_n((uint32_t *)to, last.u32, __ATOMIC_RELEASE);
	else if (tail == 2)
		__atomic_store_n((uint16_t *)to, last.u16, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint8_t *)to, last.u8, __ATOMIC_RELEASE);
}

static bool host_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	hca_mem_host_write(mr->address + offset, bytes, length);
	return true;
}

/* The program's own threads may touch the same word; where the host address is not aligned, they
 * cannot do so atomically either. */
static bool host_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
			uint64_t compare, uint64_t *ret_original)
{
	uint8_t *host = hca_mem_host_at(mr->address + offset);
	uint64_t value, result;

	if ((uintptr_t)host % 8 == 0) {
		uint64_t *word = (void *)host;

		value = compare;
		if (!is_swap)
			value = __atomic_fetch_add(word, swap_add, __ATOMIC_SEQ_CST);
		else
			__atomic_compare_exchange_n(word, &value, swap_add, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
		*ret_original = value;
		return true;
	}
	memcpy(&value, host, sizeof(value));
	result = is_swap ? (value == compare ? swap_add : value) : value + swap_add;
	memcpy(host, &result, sizeof(result));
	*ret_original = value;
	return true;
}

const struct hca_mem_ops hca_mem_host = {
	.name = "host",
	.read = host_read,
	.write = host_write,
	.atomic = host_atomic,
};

static bool null_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes, uint32_t length)
{
	(void)mr, (void)offset;
	memset(ret_bytes, 0, length);
	return true;
}

static bool null_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	(void)mr, (void)offset, (void)bytes, (void)length;
	return true;
}

static bool null_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
			uint64_t compare, uint64_t *ret_original)
{
	(void)mr, (void)offset, (void)is_swap, (void)swap_add, (void)compare;
	*ret_original = 0;
	return true;
}

const struct hca_mem_ops hca_mem_null = {
	.name = "null",
	.read = null_read,
	.write = null_write,
	.atomic = null_atomic,
};

const struct hca_mem_ops hca_mem_device = {
	.name = "device",
	.read = host_read,
	.write = host_write,
	.atomic = host_atomic,
};

static bool synthetic_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes,
			   uint32_t length)
{
	wire_pattern_bytes(wire_pattern(mr->stream, offset), ret_bytes, length);
	return true;
}

static bool synthetic_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes,
			    uint32_t length)
{
	uint8_t want[64];

	if (wire_pattern_matches(wire_pattern(mr->stream, offset), bytes, length))
		return true;
	for (uint32_t done = 0; done < length; done += (uint32_t)sizeof(want)) {
		uint32_t n = length - done < sizeof(want) ? length - done : (uint32_t)sizeof(want);

		synthetic_read(mr, offset + done, want, n);
		for (uint32_t i = 0; i < n; i++)
			mr->mismatch_bytes += want[i] != bytes[done + i];
	}
	return true;
}

/* Bytes that are a function of their place cannot change: an atomic only reads them. */
static bool synthetic_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
			     uint64_t compare, uint64_t *ret_original)
{
	(void)is_swap;
	(void)swap_add;
	(void)compare;
	return synthetic_read(mr, offset, (uint8_t *)ret_original, sizeof(*ret_original));
}

const struct hca_mem_ops hca_mem_synthetic = {
	.name = "synthetic",
	.read = synthetic_read,
	.write = synthetic_write,
	.atomic = synthetic_atomic,
};

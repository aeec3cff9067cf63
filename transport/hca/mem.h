/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_MEM_H
#define HCA_MEM_H

/* Memory as the adapter reaches it: regions behind keys. Bounds, rights, protection domain and key
 * are checked in one place (hca_mr_find()); behind it the bytes are reached through the operations
 * of the region's kind, at once, or where the device has a memory side through that
 * (transport/hca/dma.h). */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hca_device;
struct hca_dm;
struct hca_mr;
struct hca_pd;

/* Access rights; the values of enum ibv_access_flags. */
enum hca_access {
	HCA_ACCESS_LOCAL_WRITE = 1,
	HCA_ACCESS_REMOTE_WRITE = 2,
	HCA_ACCESS_REMOTE_READ = 4,
	HCA_ACCESS_REMOTE_ATOMIC = 8,
	HCA_ACCESS_FLUSH_GLOBAL = 1 << 8,     /* FLUSH: everybody sees what was written */
	HCA_ACCESS_FLUSH_PERSISTENT = 1 << 9, /* and it outlives the machine's power */
	HCA_ACCESS_MW_BIND = 16,	      /* windows may show some of it: transport/hca/mw.h */
	/* All regions have it but those that are unreadable, windows do not: for the adapter's own
	 * requests. */
	HCA_ACCESS_LOCAL_READ = 1 << 30,
};

/* What one kind of memory can do; called only with ranges that hca_mr_find() passed. False: the
 * bytes are not there any more, for a kind that can tell; some of them may have been reached. */
struct hca_mem_ops {
	const char *name;
	bool (*read)(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes, uint32_t length);
	/* The last (up to) 8 bytes become visible after all others. */
	bool (*write)(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes, uint32_t length);
	/* 8 aligned bytes: *ret_original, then + @swap_add, or @swap_add where equal to
	 * @compare. */
	bool (*atomic)(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
		       uint64_t compare, uint64_t *ret_original);
	bool is_lendable; /* payloads may stay in such memory: transport/hca/loan.h */
};

/* The program's own; what it has unmapped meanwhile faults. */
extern const struct hca_mem_ops hca_mem_host;
/* The same, some of which may be gone: unmapped, protected or cut off the end of a file since it
 * was registered. False where that is so. The first access of a thread arms it: SIGSEGV and SIGBUS
 * come here and are not blocked, and what is not of an access goes on to whoever had them before.
 */
extern const struct hca_mem_ops hca_mem_program;
/* The thread reaches no memory for now: its signals are blocked as they were, and it arms anew when
 * it reaches memory again. */
void hca_mem_program_rest(void);
/* Before any access, once: @changes counts whatever may have disarmed a thread, so that one whose
 * signals were not blocked stays armed until it counts on. */
void hca_mem_program_watch(atomic_uint *changes);
/* What it does, for a memory side that lives in the same process. */
void hca_mem_host_read(uint64_t address, uint8_t *ret_bytes, uint32_t length);
void hca_mem_host_write(uint64_t address, const uint8_t *bytes, uint32_t length);
/* Where @address is, in this process. */
static inline uint8_t *hca_mem_host_at(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}
/* Bytes that are a function of (stream, offset), carried as a reference (struct wire_pkt,
 * synthetic) unless asked for as bytes; a write compares what comes with what should come. */
extern const struct hca_mem_ops hca_mem_synthetic;
/* Of any length and nowhere: zeros when read, and what is written is gone. Not with a memory side.
 */
extern const struct hca_mem_ops hca_mem_null;

/* Of the device itself, which the program reaches by calls alone (struct hca_dm). Where the device
 * has a memory side, a transfer takes what one to the program's memory would. */
extern const struct hca_mem_ops hca_mem_device;

struct hca_mr {
	const struct hca_mem_ops *ops;
	struct hca_pd *pd;
	uint64_t iova;	 /* address that work requests and peers use for the first byte */
	uint64_t length; /* bytes */
	uint32_t lkey, rkey;
	uint32_t access;       /* enum hca_access */
	bool is_fast;	       /* of struct hca_mr_params */
	uint32_t number;       /* n-th region of the device, from 0: the digest's name for it */
	uint32_t window_count; /* that show some of it */
	/* Of the first byte, for whoever owns the memory: the adapter adds offsets, and never looks
	 * behind it. Kind host: an address of this process. */
	uint64_t address;
	uint16_t place; /* of struct hca_mr_params */
	union {
		uint64_t stream;   /* kind synthetic */
		struct hca_dm *dm; /* kind device */
	};
	uint64_t mismatch_bytes; /* kind synthetic: written, but not what (stream, offset) says */
	bool is_on_demand;	 /* of struct hca_mr_params */
	bool is_lent;		 /* payloads may stay in it: transport/hca/loan.h */
	bool is_pattern; /* nothing has to be moved: kind synthetic, memory side none or even */
};

struct hca_mr_params {
	const struct hca_mem_ops *ops;
	uint64_t iova, length;
	uint32_t access;
	/* Work requests make it invalid: LOCAL_INV, and where @access has a remote right, the other
	 * end's SEND with Invalidate (IBTA 10.6.7: what Fast Register made). Ordinary regions stay
	 * valid whoever asks; so on mlx5 (mkc.en_rinval) and rxe (rxe_invalidate_mr()). */
	bool is_fast;
	/* Its pages need not be there: @ops can tell, and hca_mr_advise() takes it. */
	bool is_on_demand;
	uint64_t address, stream; /* as in struct hca_mr */
	/* Which memory of the machine @address is in, as the memory side counts them; 0: its own.
	 */
	uint16_t place;
	/* The adapter can write there and not read: whoever asks for that has no right to it,
	 * whatever
	 * @access says. */
	bool is_unreadable;
	/* Its memory, instead of @ops: @address is an offset in it. */
	struct hca_dm *dm;
};

/* -EOPNOTSUPP: kind null with a memory side; -ENOMEM: no memory or device limit; -EINVAL: iova +
 * length wraps, remote write or atomic without local write, more than @dm has. The region's keys
 * come from a permutation keyed by the device, so that they are unique and tell nothing; the low 8
 * bits are the consumer's tag. */
int hca_mr_create(struct hca_device *dev, struct hca_pd *pd, const struct hca_mr_params *params,
		  struct hca_mr **ret_mr);
/* IBTA 11.2.8.6: @mr becomes what @params and @pd would have made, its keys stay. Errors as above,
 * and @mr is as it was; -EOPNOTSUPP: one in the device's memory is not changed, nor made one;
 * -EBUSY: memory windows. */
int hca_mr_change(struct hca_device *dev, struct hca_mr *mr, struct hca_pd *pd,
		  const struct hca_mr_params *params);
int hca_mr_destroy(struct hca_device *dev, struct hca_mr *mr); /* -EBUSY: memory windows */

/* Whether [@va, @va + @length) of the region that @key names could be made ready before it is used,
 * where it @writes for writing: 0, and nothing has to be done. -ENOENT: no such key; -EPERM: of
 * another domain, or not to be written; -EINVAL: not on demand; -EFAULT: out of bounds. */
int hca_mr_advise(const struct hca_device *dev, const struct hca_pd *pd, uint32_t key, uint64_t va,
		  uint64_t length, bool writes);

/* Memory of a device, all zero at first: HCA_DM_BYTES in all, a round figure for what adapters have
 * (mlx5: some hundred KiB). */
enum { HCA_DM_BYTES = 1 << 18, HCA_DM_LOG_ALIGN_MAX = 12 };

/* Begins at a multiple of 2^@log_align. -EINVAL: that is more than HCA_DM_LOG_ALIGN_MAX, or there
 * is no @length; -ENOMEM: no memory, or not so much left on the device. */
int hca_dm_create(struct hca_device *dev, uint64_t length, uint32_t log_align,
		  struct hca_dm **ret_dm);
int hca_dm_destroy(struct hca_device *dev, struct hca_dm *dm); /* -EBUSY: a region is in it */
/* For the program, in words of 4 bytes as mlx5 (mlx5_access_dm()). -EFAULT: out of bounds; -EINVAL:
 * @offset or @length is no multiple of 4. */
int hca_dm_write(struct hca_dm *dm, uint64_t offset, const void *bytes, uint64_t length);
int hca_dm_read(const struct hca_dm *dm, uint64_t offset, void *ret_bytes, uint64_t length);

/* Regions of kind host that hold some of [@address, @address + @bytes) are reached by @ops from now
 * on, which can tell what is not there any more. */
void hca_mr_doubt(struct hca_device *dev, uint64_t address, uint64_t bytes,
		  const struct hca_mem_ops *ops);

/* The one check: the region that @key names, where it belongs to @pd, holds [va, va + length) and
 * grants all of @access; NULL otherwise. A zero @length is not checked against bounds. */
struct hca_mr *hca_mr_find(const struct hca_device *dev, const struct hca_pd *pd, uint32_t key,
			   uint64_t va, uint64_t length, uint32_t access);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/* Memory that a program gives up while a region still names it, in virtual time. Rank 1 gives all
 * but the first page of its own up, in the way that how=0 to 4 says (kept, unmapped, protected,
 * mapped anew without rights, cut off the end of its file); then rank 0 WRITEs into its second
 * page, reads from there, or adds to it (what=0, 1, 2), or it WRITEs from there itself (what=3);
 * and who posted says how that ended. With crash=1 rank 1 then reaches for its own second
 * page. */
#include "tests/programs/util.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 4 };

static size_t page;

static int give_up(uint8_t *bytes, int fd, uint64_t how)
{
	const size_t rest = (PAGES - 1) * page;

	switch (how) {
	case 0:
		return 0;
	case 1:
		return munmap(bytes + page, rest);
	case 2:
		return mprotect(bytes + page, rest, PROT_NONE);
	case 3:
		return mmap(bytes + page, rest, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			    -1, 0) == MAP_FAILED;
	default:
		return ftruncate(fd, (off_t)page);
	}
}

static int post(struct prog_qp *qp, uint8_t *bytes, uint64_t what)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						     IBV_WR_ATOMIC_FETCH_AND_ADD,
						     IBV_WR_RDMA_WRITE};
	struct ibv_wc wc;

	if (prog_post_send(qp, (struct prog_send){.wr_id = 1,
						  .opcode = opcodes[what],
						  .bytes = what == 3 ? bytes + page : bytes,
						  .length = 8,
						  .remote_offset = what == 3 ? 0 : page,
						  .compare_add = 1}) != 0)
		return -1;
	while (ibv_poll_cq(qp->ctx->cq, 1, &wc) == 0)
		;
	prog_say(qp->ctx->prog, "%s", ibv_wc_status_str(wc.status));
	return qp->ctx->prog->put(qp->ctx->prog, "ended", NULL, 0);
}

static int run(const struct vb_prog *prog, uint8_t *bytes, int fd, uint64_t how, uint64_t what)
{
	const bool posts = prog->rank == (what == 3);
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog_open(&ctx, prog, 16, bytes, PAGES * page) != 0 ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){
				 .peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1}) != 0 ||
	    prog_connect(&qp, 1) != 0)
		return -1;
	if (prog->rank == 1 && (give_up(bytes, fd, how) != 0 || prog->put(prog, "given", NULL, 0)))
		return -1;
	if (posts && (prog->get(prog, "given", NULL, 0) != 0 || post(&qp, bytes, what) != 0))
		return -1;
	if (prog->get(prog, "ended", NULL, 0) != 0)
		return -1;
	if (prog->rank == 1 && prog_arg(prog, "crash", 0))
		*(volatile uint8_t *)(bytes + page) = 1;
	return prog_close(&ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	const uint64_t how = prog_arg(prog, "how", 0), what = prog_arg(prog, "what", 0);
	int fd = memfd_create("unmapped", MFD_CLOEXEC);
	uint8_t *bytes;

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (fd < 0 || ftruncate(fd, (off_t)(PAGES * page)) != 0)
		return -1;
	bytes = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return bytes == MAP_FAILED ? -1 : run(prog, bytes, fd, how, what);
}

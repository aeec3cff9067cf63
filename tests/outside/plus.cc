// SPDX-License-Identifier: BSD-2-Clause

// In C++: every rank tells its GID, and asks for that of the next one.
#include <string>
#include <vector>
#include <verbena/program.h>

extern "C" int prog_main(const struct vb_prog *prog)
{
	std::vector<ibv_gid> gids(static_cast<size_t>(prog->size));
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);

	if (!list || count < 1 || !VB_HAS(prog, say))
		return -1;
	ibv_context *context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!context || ibv_query_gid(context, 1, 0, &gids[prog->rank]) != 0)
		return -1;
	ibv_close_device(context);
	if (prog->put(prog, std::to_string(prog->rank).c_str(), &gids[prog->rank], sizeof(ibv_gid)))
		return -1;
	const int next = (prog->rank + 1) % prog->size;
	if (prog->get(prog, std::to_string(next).c_str(), &gids[next], sizeof(ibv_gid)) != 0)
		return -1;
	const std::string line = "rank " + std::to_string(next) + " ends in " + std::to_string(gids[next].raw[15]);
	prog->say(prog, line.c_str());
	return 0;
}

VB_MAIN(prog_main)

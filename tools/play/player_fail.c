/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/player.h"

#include <stdarg.h>
#include <stdio.h>

int player_fail(struct player *player, const char *format, ...)
{
	const struct play_process *process = player->process;
	char text[400], line[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), "call %u of %s (process %u): %s", player->at + 1,
		 (const char *)process->info.name, process->info.pid, text);
	player->prog->say(player->prog, line);
	return 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int play_open(char *const *paths, uint32_t count, struct play **ret_play)
{
	struct play *play = calloc(1, sizeof(*play));
	int ret;

	if (!play)
		return -ENOMEM;
	ret = play_read(play, paths, count);
	for (uint32_t i = 0; i < play->errors.count; i++) {
		struct bad_line *line = &play->errors.lines[i];

		command_line(stderr, "%s", line->text);
	}
	if (!ret)
		*ret_play = play;
	else
		play_close(play);
	return ret;
}

void play_close(struct play *play)
{
	if (play)
		play_fini(play);
	free(play);
}

const char *play_lacks(const struct play *play, const struct scenario_program *program,
		       struct bad_text *ret_text)
{
	if (play->strangers > 0)
		return bad_text(ret_text, "recordings of both ends: %s, which is in none",
				play->stranger);
	if (program && program->host_count != play->process_count)
		return bad_text(ret_text, "%u hosts, one for each process that was recorded",
				play->process_count);
	return NULL;
}

const char *play_describe(const struct play *play, struct bad_text *ret_text)
{
	unsigned long long calls = 0, sent = 0, bytes = 0, received = 0;

	for (uint32_t i = 0; i < play->process_count; i++) {
		calls += play->processes[i].call_count;
		sent += play->processes[i].sent;
		bytes += play->processes[i].bytes_sent;
		received += play->processes[i].received;
	}
	return bad_text(ret_text,
			"%u process%s on %u host%s, %llu calls, %llu request%s of %llu bytes, %llu "
			"message%s received%s%s%s",
			play->process_count, play->process_count == 1 ? "" : "es", play->host_count,
			&"s"[play->host_count == 1], calls, sent, &"s"[sent == 1], bytes, received,
			&"s"[received == 1], play -> is_cut ? "; the end of it is missing" : "",
			play->strangers ? "; the other end of this is in none: " : "",
			play->strangers ? play->stranger : "");
}

int play_check(const char *path, bool quiet)
{
	char *const paths[] = {(char *)(uintptr_t)path};
	struct play *play = NULL;
	struct bad_text text;
	const int ret = play_open(paths, 1, &play);

	if (ret == -ENOMEM)
		command_say("%s: not enough memory to read it", path);
	else if (!ret && !quiet)
		command_line(stdout, "%s: ok: %s", path, play_describe(play, &text));
	play_close(play);
	return ret == 0 ? COMMAND_DONE : ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

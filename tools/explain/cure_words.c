/* SPDX-License-Identifier: BSD-2-Clause */

/* How rules say what they have found. */
#include "tools/explain/cure_rules.h"

#include "tools/result/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct advice_item *advice_add(struct advice_run *run, const char *trouble)
{
	struct advice *advice = run->advice;
	struct advice_item *item =
		advice->count < ADVICE_ITEMS_MAX ? &advice->items[advice->count++] : &run->spare;

	*item = (struct advice_item){.trouble = trouble};
	return item;
}

/* Behind what is there, with a space in between. */
__attribute__((format(printf, 3, 0))) static void append(char *text, size_t room,
							 const char *format, va_list args)
{
	size_t length = strlen(text);

	if (length > 0 && length + 1 < room)
		text[length++] = ' ';
	vsnprintf(text + length, room - length, format, args);
}

void advice_say(struct advice_item *item, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(item->text, sizeof(item->text), format, args);
	va_end(args);
}

struct advice_key *advice_key(struct advice_item *item, const char *name, const char *found,
			      const char *value)
{
	struct advice_key *key = &item->keys[item->key_count];

	if (item->key_count == ADVICE_KEYS_MAX)
		return NULL;
	item->key_count++;
	snprintf(key->name, sizeof(key->name), "%s", name);
	snprintf(key->found, sizeof(key->found), "%s", found);
	snprintf(key->value, sizeof(key->value), "%s", value);
	return key;
}

const char *advice_said(const struct advice_run *run, const char *key)
{
	const size_t length = strlen(key);

	for (const char *line = run->scenario->said; line && *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, key, length) == 0 && line[length] == '\t')
			return line + length + 1;
	return NULL;
}

/* Entry @key of a list, if it is that of @part. */
static bool is_entry_of(const struct advice_run *run, const char *key,
			const struct scenario_part *part)
{
	const size_t length = strlen(part->name);
	const char *said = advice_said(run, advice_text("%s.name", key));

	return said && strncmp(said, part->name, length) == 0 && said[length] == '\n';
}

const char *advice_part_key(const struct advice_run *run, const struct scenario_machine *machine,
			    const struct scenario_part *part, const char *rest)
{
	const char *own = advice_text("machines.%u.parts.%u", machine->place - 1, part->place);
	const char *all = advice_text("machine.parts.%u", part->place);

	if (machine->place > 0 && is_entry_of(run, own, part))
		return advice_text("%s.%s", own, rest);
	return is_entry_of(run, all, part) ? advice_text("%s.%s", all, rest) : NULL;
}

const char *advice_text(const char *format, ...)
{
	enum { TEXTS = 16 };
	static char texts[TEXTS][ADVICE_WORDS_MAX];
	static unsigned last;
	char *text = texts[last++ % TEXTS];
	va_list args;

	va_start(args, format);
	vsnprintf(text, ADVICE_WORDS_MAX, format, args);
	va_end(args);
	return text;
}

const char *advice_time(ps_t time)
{
	char text[OUTPUT_TEXT_MAX];

	return advice_text("%s", output_time(time, text));
}

const char *advice_bytes(uint64_t bytes)
{
	char text[OUTPUT_TEXT_MAX];

	return advice_text("%s", output_bytes(bytes, text));
}

const char *advice_rate(uint64_t bps)
{
	char text[OUTPUT_TEXT_MAX];

	return advice_text("%s", output_rate(bps, text));
}

const char *advice_set_time(ps_t time)
{
	static const struct {
		ps_t size;
		const char *name;
	} units[] = {{PS_S, "s"}, {PS_MS, "ms"}, {PS_US, "us"}, {PS_NS, "ns"}};
	const char *text = advice_text("%" PRIu64 "ps", time);

	for (size_t i = sizeof(units) / sizeof(units[0]); i-- > 0;)
		if (time >= units[i].size)
			text = advice_text("%.3g%s", (double)time / (double)units[i].size,
					   units[i].name);
	return text;
}

const char *advice_set_bytes(uint64_t bytes)
{
	return bytes >= 1000000 && bytes % 1000000 == 0
		       ? advice_text("%" PRIu64 "MB", bytes / 1000000)
	       : bytes >= 1000 && bytes % 1000 == 0 ? advice_text("%" PRIu64 "KB", bytes / 1000)
						    : advice_text("%" PRIu64 "B", bytes);
}

const char *advice_set_priorities(uint16_t mask)
{
	char text[64] = "[";

	for (unsigned q = 0; q < SIM_PRIORITIES_MAX; q++)
		if (mask >> q & 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				 text[1] ? ", " : "", q);
	return advice_text("%s]", text);
}

uint64_t advice_round_down(uint64_t value)
{
	uint64_t ten = 1;

	while (ten <= value / 10)
		ten *= 10;
	return value >= 5 * ten ? 5 * ten : value >= 2 * ten ? 2 * ten : ten;
}

uint64_t advice_round_up(uint64_t value)
{
	const uint64_t down = advice_round_down(value);
	uint64_t ten = down;

	if (down >= value)
		return down;
	while (ten % 10 == 0)
		ten /= 10;
	return ten == 2 ? down / 2 * 5 : 2 * down; /* 1 and 5 double, 2 becomes 5 */
}

const char *advice_options(const struct advice_item *item, char ret_text[ADVICE_OPTIONS_MAX])
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (uint32_t i = 0; i < item->key_count; i++) {
		const struct advice_key *key = &item->keys[i];
		const char *quote = strpbrk(key->value, "[] \"") ? "'" : "";

		if (key->value[0] == '\0' || key->instead)
			continue;
		used += (size_t)snprintf(ret_text + used, ADVICE_OPTIONS_MAX - used,
					 "%s--set %s%s=%s%s", used ? " " : "", quote, key->name,
					 key->value, quote);
	}
	return ret_text;
}

const char *advice_args(const struct scenario_program *program)
{
	char text[ADVICE_WORDS_MAX] = "none";

	for (uint32_t i = 0; i < program->arg_count; i++)
		snprintf(text + (i ? strlen(text) : 0), sizeof(text) - (i ? strlen(text) : 0),
			 "%s%s", i ? " " : "", program->args[i]);
	return advice_text("%s", text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/completion.h"

#include "models/profiles/profile.h"
#include "models/scenario/schema.h"
#include "tools/command.h"
#include "tools/explain/explain.h"
#include "tools/incident.h"
#include "tools/lesson/lesson.h"
#include "transport/nic/board.h"
#include "transport/nic/kind.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct completion {
	const char *word;  /* as far as it is typed */
	const char *typed; /* the part of it to be completed: behind "--why=" */
};

static void offer(const struct completion *c, const char *text, const char *suffix,
		  const char *help)
{
	if (strncmp(text, c->typed, strlen(c->typed)) == 0)
		printf("%.*s%s%s%s%s\n", (int)(c->typed - c->word), c->word, text, suffix,
		       help ? "\t" : "", help ? help : "");
}

/* ---- what stands for what ---- */

static void offer_commands(const struct completion *c)
{
	const struct command *command;

	for (uint32_t i = 0; (command = command_at(i)) != NULL; i++)
		offer(c, command->name, "", command->summary);
}

static void offer_profiles(const struct completion *c)
{
	for (uint32_t i = 0; i < profile_count(); i++)
		offer(c, profile_at(i)->name, "", NULL);
}

static void offer_kinds(const struct completion *c)
{
	for (uint32_t i = 0; nic_kind_at(i); i++)
		offer(c, nic_kind_at(i)->name, "", nic_kind_at(i)->summary);
}

/* The processes and the hosts of those that run now. */
static void offer_program(void *owner, const struct nic_board *board, int pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	offer(owner, number, "", board->command);
	offer(owner, board->host, "", board->command);
}

static void offer_programs(const struct completion *c)
{
	struct completion of = *c;

	(void)nic_board_each(offer_program, &of);
}

static void offer_questions(const struct completion *c)
{
	for (uint32_t i = 0; explain_question(i); i++)
		offer(c, explain_question(i), "", NULL);
}

static void offer_incident(void *owner, const char *name)
{
	offer(owner, name, "", "an incident");
}

static void offer_incidents(const struct completion *c)
{
	struct completion of = *c;

	incident_each(offer_incident, &of); /* where there are none, nothing is completed */
}

static void offer_lessons(const struct completion *c)
{
	for (uint32_t i = 1; lesson_at(i); i++) {
		char number[16];

		snprintf(number, sizeof(number), "%u", i);
		offer(c, number, "", lesson_at(i)->title);
	}
}

/* Keys that are in no list, and the words that one takes. */
static void offer_keys(const struct completion *c)
{
	const char *equals = strchr(c->typed, '=');

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);
		const size_t length = strlen(row->path);
		const char *word = row->choices;
		struct completion of = {c->word, equals ? equals + 1 : NULL};
		char choice[64];
		int used;

		if (strchr(row->path, '[') || row->type == SCENARIO_MAP ||
		    row->type == SCENARIO_LIST)
			continue;
		if (!equals)
			offer(c, row->path, "=", row->help);
		else if (length == (size_t)(equals - c->typed) &&
			 memcmp(row->path, c->typed, length) == 0)
			for (; word && sscanf(word, " %63s%n", choice, &used) == 1; word += used)
				offer(&of, choice, "", NULL);
	}
}

static int is_run_entry(const struct dirent *entry)
{
	char path[PATH_MAX];

	return entry->d_name[0] != '.' &&
	       snprintf(path, sizeof(path), "verbena-out/%s/run.json", entry->d_name) <
		       (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Folders of runs where they are written by default. */
static void offer_own_runs(const struct completion *c)
{
	struct dirent **entries = NULL;
	const int count = scandir("verbena-out", &entries, is_run_entry, by_bytes);

	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "verbena-out/%s", entries[i]->d_name) <
		    (int)sizeof(path))
			offer(c, path, "", "a run");
		free(entries[i]);
	}
	free(entries);
}

static void ask_folders(const struct completion *c)
{
	(void)c;
	puts(":folders");
}

static void ask_files(const struct completion *c)
{
	(void)c;
	puts(":files *");
}

static void ask_yaml(const struct completion *c)
{
	(void)c;
	puts(":files *.yaml");
}

static void ask_recordings(const struct completion *c)
{
	(void)c;
	puts(":files *.vbt");
}

static void offer_scenarios(const struct completion *c)
{
	offer_incidents(c);
	ask_yaml(c);
}

static void offer_runs(const struct completion *c)
{
	offer_own_runs(c);
	ask_folders(c);
}

static void offer_runs_or_scenarios(const struct completion *c)
{
	offer_own_runs(c);
	offer_scenarios(c);
}

/* By the names that arguments and values of options have in help. Others are numbers, times and
 * names inside of a scenario: nothing to look up. */
static const struct {
	const char *name;
	void (*complete)(const struct completion *c);
} kinds[] = {{"COMMAND", offer_commands},
	     {"SCENARIO", offer_scenarios},
	     {"RUN", offer_runs},
	     {"A", offer_runs_or_scenarios},
	     {"B", offer_runs_or_scenarios},
	     {"INCIDENT", offer_incidents},
	     {"LESSON", offer_lessons},
	     {"PROFILE", offer_profiles},
	     {"KIND", offer_kinds},
	     {"PROGRAM", offer_programs},
	     {"WHAT", offer_questions},
	     {"KEY=VALUE", offer_keys},
	     {"PLAN", ask_yaml},
	     {"RECORDING", ask_recordings},
	     {"TOPOLOGY", ask_files},
	     {"FILE", ask_files},
	     {"DIR", ask_folders}};

/* "[HOST|SWITCH]": each of these; lower case is meant as it stands. */
static void complete_kind(const struct completion *c, const char *kind, size_t length)
{
	const char *end = kind + length;

	while (kind < end) {
		size_t part = strcspn(kind, "[]|. ");

		if (part > (size_t)(end - kind))
			part = (size_t)(end - kind);
		if (part > 0 && *kind >= 'a' && *kind <= 'z') {
			char word[32];

			snprintf(word, sizeof(word), "%.*s", (int)part, kind);
			offer(c, word, "", NULL);
		}
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strlen(kinds[i].name) == part && memcmp(kinds[i].name, kind, part) == 0)
				kinds[i].complete(c);
		kind += part + 1;
	}
}

/* ---- a command's words ---- */

static void complete_argument(const struct completion *c, const struct command *command,
			      uint32_t number)
{
	const char *kind = command->arguments;

	/* "FILE...": that one again. */
	for (; number > 0 && kind[strcspn(kind, " ")] != '\0'; number--)
		kind += strcspn(kind, " ") + 1;
	if (number == 0 || strstr(kind, "..."))
		complete_kind(c, kind, strcspn(kind, " "));
}

static const struct command_option_row *option_of(const struct command *command, const char *word)
{
	const struct command_option_row *row;
	const size_t length = strcspn(word, "=");

	for (uint32_t i = 0; strncmp(word, "--", 2) == 0 && (row = command_option_at(i)) != NULL;
	     i++)
		if (command->options & row->option && strlen(row->name) == length - 2 &&
		    memcmp(row->name, word + 2, length - 2) == 0)
			return row;
	return NULL;
}

static void offer_options(const struct completion *c, const struct command *command)
{
	const struct command_option_row *row;

	for (uint32_t i = 0; (row = command_option_at(i)) != NULL; i++) {
		char name[40];

		snprintf(name, sizeof(name), "--%s", row->name);
		if (command->options & row->option)
			offer(c, name, "", row->help);
		snprintf(name, sizeof(name), "-%c", command_option_letter(row));
		if (command->options & row->option && name[1])
			offer(c, name, "", row->help);
	}
	offer(c, "--help", "", "more about this command");
}

static void complete_of(const struct command *command, char *const *words, uint32_t count)
{
	struct completion c = {words[count - 1], words[count - 1]};
	const struct command_option_row *row = NULL;
	const char *equals = strchr(c.word, '=');
	uint32_t arguments = 0;
	bool over = false; /* the options, by "--" */

	for (uint32_t i = 0; i + 1 < count; i++) {
		const bool value = row != NULL;

		row = value || over ? NULL : option_of(command, words[i]);
		if (row && (!row->value || strchr(words[i], '=')))
			row = NULL;
		else if (!row && !value && (over || words[i][0] != '-'))
			arguments++;
		over = over || (!value && strcmp(words[i], "--") == 0);
	}
	if (!row && !over && equals && (row = option_of(command, c.word)) != NULL)
		c.typed = equals + 1;
	if (row)
		complete_kind(&c, row->value ? row->value : "",
			      row->value ? strlen(row->value) : 0);
	else if (!over && c.word[0] == '-')
		offer_options(&c, command);
	else if (arguments < command->args_max)
		complete_argument(&c, command, arguments);
}

void completion_words(char *const *words, uint32_t count)
{
	const struct command *command = count > 1 ? command_find(words[0]) : NULL;

	if (count == 1)
		offer_commands(&(struct completion){words[0], words[0]});
	else if (command)
		complete_of(command, words + 1, count - 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_LESSON_H
#define TOOLS_LESSON_H

/* Lessons: a page to read (docs/lessons), a scenario to run, questions about it and a task. What is
 * right is measured when the answers are judged, by running the scenario: it stands nowhere. The
 * answers are a YAML file, lesson-N.answers.yaml: a value for each question, and in "set" the keys
 * that the learner would change for the task. */
#include "models/input/bad.h"
#include "tools/command.h"
#include "tools/observe/events.h"

enum {
	LESSON_QUESTIONS_MAX = 4,
	LESSON_SETS_MAX = 8,
	LESSON_NAME_MAX = 64,
	LESSON_CLASSES_MAX = 4,
};

/* ---- measure.c ---- */

struct lesson_class { /* of traffic */
	char name[LESSON_NAME_MAX];
	bool all_ok; /* every flow of it has come to a good end */
	double slowdown;
	uint64_t goodput_bps;
};

struct lesson_facts { /* of one run */
	/* Of the flow or work request that was asked for: its packets, its time, and what of that
	 * it was paused at its source, and its acknowledgement was under way. */
	uint64_t packets;
	ps_t whole, paused, back;
	uint64_t pauses;		 /* decisions of buffers */
	ps_t first_pause_at;		 /* PS_NEVER: none */
	uint32_t chain;			 /* pauses in the longest chain */
	char root_node[LESSON_NAME_MAX], /* whose port to @root_peer was its root */
		root_peer[LESSON_NAME_MAX];
	ps_t first_cnp_at; /* when a CNP first left a switch; PS_NEVER: never */
	uint64_t dropped;  /* packets, for any reason */
	uint64_t buffer_bytes;
	struct lesson_class classes[LESSON_CLASSES_MAX];
};

struct lesson_ask {
	const char *path;	 /* of the scenario */
	const char *const *sets; /* "KEY=VALUE", all of them good */
	uint32_t set_count;
	const struct subject *key; /* NULL: of no flow */
};
/* Runs it. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with lines on stderr. */
int lesson_measure(const struct lesson_ask *ask, struct lesson_facts *ret_facts);
/* NULL: the scenario has none of that name. */
const struct lesson_class *lesson_class_of(const struct lesson_facts *facts, const char *name);

/* ---- table.c ---- */

enum lesson_type { LESSON_COUNT, LESSON_TIME, LESSON_NAME };

struct lesson_question {
	const char *key;
	enum lesson_type type;
	const char *hint; /* where to look; not what is there */
};

struct lesson_value {
	uint64_t number; /* a count, or a time in ps */
	char name[LESSON_NAME_MAX];
};

struct lesson {
	const char *title, *page; /* page: file */
	struct lesson_question questions[LESSON_QUESTIONS_MAX];
	uint32_t question_count;
	const char *keys[LESSON_SETS_MAX]; /* which "set" may have; then NULL */
	/* What is right, in the order of the questions. As lesson_measure(). */
	int (*find)(const char *path, struct lesson_value *ret_values);
	/* Whether the run that @ask is does what the task is; @ret_hint: NULL, or what is missing.
	 * As lesson_measure(). */
	int (*judge)(const struct lesson_ask *ask, const char **ret_hint);
};

const struct lesson *lesson_at(uint32_t number); /* from 1; NULL: no more */

/* ---- answers.c, judge.c ---- */

struct lesson_answers {
	bool given[LESSON_QUESTIONS_MAX];
	struct lesson_value values[LESSON_QUESTIONS_MAX];
	char *sets[LESSON_SETS_MAX];
	uint32_t lines[LESSON_SETS_MAX]; /* of the file */
	uint32_t set_count;
};

/* Reads @file; what is not answered yet is no error. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN
 * with lines on stderr; @ret_answers can be freed in any case. */
int lesson_answers_read(const struct lesson *lesson, const char *file,
			struct lesson_answers *ret_answers);
void lesson_answers_free(struct lesson_answers *answers);

/* Reads the answers in @file and says on stdout which are right, a line each. COMMAND_DONE: all
 * are, and the task is done; COMMAND_FAILED: not yet; or as above. */
int lesson_judge(uint32_t number, const char *scenario, const char *file);

#endif

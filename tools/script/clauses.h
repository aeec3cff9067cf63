/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SCRIPT_CLAUSES_H
#define TOOLS_SCRIPT_CLAUSES_H

/* The clauses of the InfiniBand specification that a packet script says it checks:
 *	clause NUMBER...: SENTENCE
 * each by the lines below it, up to the next such line. Clauses on lines next to each other share
 * what follows. */
#include <stdbool.h>
#include <stdint.h>

struct clause {
	char *number;	/* "9.7.5.1.4 C9-105": of the section, and that of the statement where known
			 */
	char *sentence; /* what it asks for, in our words */
	int line;
};

struct clause_list {
	struct clause *clauses;
	uint32_t count;
};

enum clause_state { CLAUSE_HELD, CLAUSE_FAILED, CLAUSE_NOT_REACHED };

/* False, with a line on stderr: the file cannot be read, or one of its clauses is none. @ret_list
 * has to be freed in any case. */
bool clauses_read(const char *path, struct clause_list *ret_list);
void clauses_free(struct clause_list *list);
/* Of clause @i where the script went on to line @failed, which turned out otherwise; 0: none did.
 */
enum clause_state clauses_state(const struct clause_list *list, uint32_t i, int failed);

#endif

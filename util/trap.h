/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TRAP_H
#define UTIL_TRAP_H

/* Where a failed CHECK of this thread goes instead of ending the process. Only for the outermost
 * call of a library in somebody else's process: what lies between is left as it was at that moment
 * and must not be used any more.
 *
 *	struct util_trap trap;
 *
 *	if (UTIL_TRAP_SET(&trap)) {
 *		work();
 *		util_trap_clear(&trap);
 *	} else {
 *		(trap.cond, trap.file and trap.line failed; the trap is cleared)
 *	}
 *
 * Traps nest; each is cleared by the function that has set it. */
#include <setjmp.h>
#include <stdbool.h>

struct util_trap {
	struct util_trap *outer;
	const char *cond, *file; /* of the CHECK that failed; cond NULL: none */
	int line;
	jmp_buf at;
};

/* True; false when a CHECK has failed since. */
#define UTIL_TRAP_SET(trap) (util_trap_push(trap), _setjmp((trap)->at) == 0)

void util_trap_push(struct util_trap *trap);
void util_trap_clear(struct util_trap *trap); /* the innermost one */
/* For util_check_failed(): comes back only where this thread has no trap. */
void util_trap_spring(const char *cond, const char *file, int line);

#endif

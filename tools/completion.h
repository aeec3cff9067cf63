/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COMPLETION_H
#define TOOLS_COMPLETION_H

/* What a shell may complete a word of the command to: asked of the same tables as help and
 * readers. */
#include <stdint.h>

/* @words: what follows "verbena" up to the cursor, the last one as far as it is typed. Prints a
 * line for each continuation on stdout, the whole word, with a tab and what it is for behind it
 * where something is known; and ":files PATTERN" or ":folders" where such are meant, for the shell
 * to look for. */
void completion_words(char *const *words, uint32_t count);

#endif

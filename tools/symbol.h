/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SYMBOL_H
#define TOOLS_SYMBOL_H

/* Names for program counters of this process: "FILE:LINE (FUNCTION)" where the code has debug
 * information and Verbena was built with libdw, else "FUNCTION+0xOFFSET (MODULE)". */
#include "models/program/spin.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether there is a line. A return address lies behind its call. */
bool symbol_of(const void *place, bool is_return, char *ret_text, size_t room);

/* The innermost of the report's places that has a line; without any, the innermost
 * outside of the C library. */
void symbol_places(const struct spin_report *report, char *ret_text, size_t room);

/* For people: which program of which host spins, and where: the innermost place that has a line. */
void symbol_spin(const struct spin_report *report, char *ret_text, size_t room);

#endif

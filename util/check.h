/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_CHECK_H
#define UTIL_CHECK_H

/* Our own mistake. Stays on in release builds: a wrong simulator that keeps running is worse than
 * one that stops. Inside other people's processes a trap (util/trap.h) makes the device fatal
 * instead. */
#define CHECK(cond) ((cond) ? (void)0 : util_check_failed(#cond, __FILE__, __LINE__))

_Noreturn void util_check_failed(const char *cond, const char *file, int line);

#endif

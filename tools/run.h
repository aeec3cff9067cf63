/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

/* An internal check has failed or a program spins: keeps what the run at hand has measured so far,
 * marked partial. From any thread; does nothing outside of a run and the second time. */
void run_rescue(void);

#endif

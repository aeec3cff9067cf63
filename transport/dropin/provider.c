/* SPDX-License-Identifier: BSD-2-Clause */

/* Other people's programs, on Verbena's NIC. */
#include "transport/nic/world.h"

const struct vrb_provider *vrb_provider(void)
{
	return vrb_provider_nic();
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INCIDENT_H
#define TOOLS_INCIDENT_H

/* Scenarios that come with the command and are known by name ("incast", "incast-cure"): one file each
 * in traces/incidents beside the build, or where it was installed. */

/* The path of what @arg, an argument of the command, means: that of an incident where @arg is a plain name
 * and no file; otherwise @arg. Static, until the next call. */
const char *incident_path(const char *arg);

#endif

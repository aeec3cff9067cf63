/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INCIDENT_H
#define TOOLS_INCIDENT_H

/* Scenarios that come with the command and are known by name ("incast", "incast-cure"): one file
 * each in traces/incidents beside the build, or where it was installed. */

/* The path of the incident of that name; NULL: none such. Static, until the next call. */
const char *incident_find(const char *name);
/* The path of what @arg, an argument of the command, means: that of an incident where @arg is a
 * plain name and no file; otherwise @arg. As above. */
const char *incident_path(const char *arg);

/* The name of the incident that is most like @name, which is a plain name and no file; NULL: none
 * is like it. Static, as above. */
const char *incident_nearest(const char *name);

/* Calls @each with the name of every incident, cures ("incast-cure") included, in order of their
 * bytes. 0, -ENOMEM, or the errno of a folder that cannot be read, negative. */
int incident_each(void (*each)(void *owner, const char *name), void *owner);

#endif

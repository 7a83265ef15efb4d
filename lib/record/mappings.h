/* SPDX-License-Identifier: MIT */
/*
 * mappings - the code that a process has mapped at present, where nobody tells of it.
 *
 *	mappings_read(&process->space, pid, &modules);
 *
 * What was unmapped since it was last read stays until something else is there.
 */
#ifndef RECORD_MAPPINGS_H
#define RECORD_MAPPINGS_H

#include <sys/types.h>

#include "object/module.h"
#include "object/space.h"

/* thread: a living one of the process. */
void mappings_read(struct space *space, pid_t thread, struct modules *modules);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * door - the recorder's file from the recorder itself, where /proc does not lead to it.
 *
 *	fd = sys_open(path, O_RDWR);
 *	if (fd < 0)			// or it is another file
 *		fd = door_ask(path, &pid);
 *
 * Waits for an answer, but not long, and takes none from another user.
 */
#ifndef SHIM_DOOR_H
#define SHIM_DOOR_H

#include <stdint.h>

/* A descriptor, or negative: there is no door of this path.  pid: ours, in the recorder's eyes. */
long door_ask(const char *path, int32_t *pid);

#endif

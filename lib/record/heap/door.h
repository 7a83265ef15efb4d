/* SPDX-License-Identifier: MIT */
/*
 * door - hands the shared memory out to programs that cannot open it by its path: in another user
 * namespace, or without our /proc.
 *
 *	door = door_open(channel.path, channel.fd);
 *	...
 *	door_close(door);
 *
 * A thread of its own answers; shim/wire.h says what.  Only processes of our own user get it, who
 * may do with ours what they like anyway.
 */
#ifndef RECORD_HEAP_DOOR_H
#define RECORD_HEAP_DOOR_H

struct door;

/* Does not take over fd.  NULL: there can be none, which is the loss of those programs only. */
struct door *door_open(const char *path, int fd);
void door_close(struct door *door);

#endif

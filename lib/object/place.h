/* SPDX-License-Identifier: MIT */
/*
 * place - where an open file is, for programs that ran in a root of their own (chroot, containers):
 * the paths they know are not ours.
 *
 *	char *path = place_path(fd);		// "/srv/jail/usr/bin/app"
 *	char *root = place_root(path, "/usr/bin/app");	// "/srv/jail"
 *
 * Both are for free(); NULL where there is none.
 */
#ifndef OBJECT_PLACE_H
#define OBJECT_PLACE_H

/* A path at which this very file can be opened. */
char *place_path(int fd);
/* What is before the path that the program knows. */
char *place_root(const char *path, const char *inner);

#endif

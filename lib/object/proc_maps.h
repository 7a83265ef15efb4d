/* SPDX-License-Identifier: MIT */
/*
 * proc_maps - what a process has mapped at present: the lines of /proc/PID/maps.
 *
 *	struct proc_maps maps;
 *	struct proc_mapping mapping;
 *
 *	if (proc_maps_open(&maps, pid) < 0)
 *		return gone_or_not_ours();
 *	while (proc_maps_next(&maps, &mapping))
 *		use(mapping.path);
 *	proc_maps_close(&maps);
 */
#ifndef OBJECT_PROC_MAPS_H
#define OBJECT_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct proc_maps {
	FILE *file;
	char *line;
	size_t room;
};

struct proc_mapping {
	uint64_t start, end, pgoff;
	unsigned int device_major, device_minor;
	uint64_t inode;
	bool executable;
	const char *path; /* "": anonymous memory.  Valid until the next one. */
};

/* -errno: ESRCH or ENOENT, the process is gone; EACCES, it is not for us to look at. */
int proc_maps_open(struct proc_maps *maps, pid_t pid);
bool proc_maps_next(struct proc_maps *maps, struct proc_mapping *mapping);
/* Also of one that could not be opened. */
void proc_maps_close(struct proc_maps *maps);

/* What the kernel writes behind the path of a file that was unlinked, here and in other links of /proc. */
#define PROC_MAPS_DELETED " (deleted)"

/* The length of a path without that.  (A file may also be called so.) */
size_t proc_maps_path_length(const char *path);

#endif

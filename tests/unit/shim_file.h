/* SPDX-License-Identifier: MIT */
/*
 * shim_file - a shared file of a recording, for tests of the shim's parts.
 *
 *	struct shim_file file;
 *	shim_file_make(&file, 8);	// rings of 256 slots
 */
#ifndef UNIT_SHIM_FILE_H
#define UNIT_SHIM_FILE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/sys.h"
#include "shim/wire.h"

struct shim_file {
	int fd;
	char path[64];
	struct wire_control *control;
	char *segment; /* the first one, all of it */
	struct wire_segment *head;
};

static inline void *shim_file_map(int fd, uint64_t at, size_t size)
{
	void *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);

	cr_assert(memory != MAP_FAILED);
	return memory;
}

static inline void shim_file_make(struct shim_file *file, uint32_t ring_log2)
{
	file->fd = memfd_create("shim test", MFD_CLOEXEC);
	cr_assert(file->fd >= 0 && !ftruncate(file->fd, (off_t)WIRE_FILE_BYTES));
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	file->control = shim_file_map(file->fd, 0, WIRE_CONTROL_BYTES);
	wire_init(file->control, getpid(), ring_log2);
	atomic_store(&file->control->heartbeat_ns, sys_monotonic_ns());
	file->segment = shim_file_map(file->fd, wire_segment_at(0), WIRE_SEGMENT_BYTES);
	file->head = (struct wire_segment *)file->segment;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * peek - reads the memory of a program, which need not be stopped.
 *
 *	nr = peek(pid, address, bytes, sizeof(bytes));
 */
#ifndef RECORD_PEEK_H
#define RECORD_PEEK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* How many bytes could be read, from the first on; 0 also for who may not look. */
static inline size_t peek(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec to = { bytes, size }, from = { (void *)(uintptr_t)address, size };
	ssize_t nr = process_vm_readv(pid, &to, 1, &from, 1, 0);

	return nr < 0 ? 0 : (size_t)nr;
}

#endif

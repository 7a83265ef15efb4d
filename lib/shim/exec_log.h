/* SPDX-License-Identifier: MIT */
/*
 * exec_log - tells the recorder what is executed, which may be nothing that tells of itself.
 *
 *	exec_log_add(pid, path, wire_clock());	// pid is about to execute that
 *	execve(path, ...);
 *	exec_log_failed(pid);			// it goes on as it was
 *
 * Of a session that is live.  Whoever shares the memory of the process may call it at any time: the child
 * of a vfork, several threads, a signal handler.  It changes nothing but the shared memory.
 */
#ifndef SHIM_EXEC_LOG_H
#define SHIM_EXEC_LOG_H

#include <stdint.h>

/* path: as given, which may be no address at all; NULL: not known. */
void exec_log_add(int32_t pid, const char *path, uint64_t clock);
void exec_log_failed(int32_t pid);

/* What has no path here is best called as it calls itself.  NULL: that cannot be read. */
const char *exec_log_called(char *const argv[]);
/* As execveat() is given them. */
const char *exec_log_path(int fd, const char *path, char *const argv[]);

#endif

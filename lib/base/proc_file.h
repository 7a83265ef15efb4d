/* SPDX-License-Identifier: MIT */
/*
 * proc_file - the text files below /proc, and numbers in them.
 *
 *	scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", 0);
 *	data_kib = proc_field("/proc/self/status", "VmData:");
 *	if (proc_text(pid, "stat", text, sizeof(text)))
 *		parse(text);
 *	nr = proc_filters("/proc/self/status");
 */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the file begins with; `otherwise`, if it cannot be read or is no number. */
int proc_number(const char *path, int otherwise);
/* What follows the name of a field that begins a line; 0, if there is none. */
uint64_t proc_field(const char *path, const char *name);
/* How many filters of system calls (seccomp) a file "status" tells of; before Linux 5.9, whether any. */
unsigned int proc_filters(const char *path);
/* A file of the process, or what fits of it, with a 0 after it.  How many bytes; 0: none can be read. */
size_t proc_text(pid_t pid, const char *name, char *text, size_t size);

#endif

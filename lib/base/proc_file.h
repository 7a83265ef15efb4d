/* SPDX-License-Identifier: MIT */
/*
 * proc_file - numbers in the text files below /proc.
 *
 *	scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", 0);
 *	data_kib = proc_field("/proc/self/status", "VmData:");
 */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdint.h>

/* What the file begins with; `otherwise`, if it cannot be read or is no number. */
int proc_number(const char *path, int otherwise);
/* What follows the name of a field that begins a line; 0, if there is none. */
uint64_t proc_field(const char *path, const char *name);

#endif

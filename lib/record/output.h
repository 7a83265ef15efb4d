/* SPDX-License-Identifier: MIT */
/*
 * output - the name of a profile's file, from the name that was asked for.
 *
 *	output_expand(&path, "%h-%p.data", pid, &err);	// "laptop-4711.data"
 *	free(path);
 *
 * %p is the pid of the program (attaching: of the first process), %h the name of this host, %% a
 * percent sign.
 */
#ifndef RECORD_OUTPUT_H
#define RECORD_OUTPUT_H

#include <sys/types.h>

#include "base/error.h"

/* ERR_USAGE for anything else behind a percent sign.  *path is NULL then. */
int output_expand(char **path, const char *pattern, pid_t pid, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * env - keeps programs that this one executes under the shim, whatever environment they are given.
 *
 *	struct env env;
 *	int result = real.execve(path, argv, env_for(&env, envp));
 *	env_release(&env);
 *
 * An environment without our variables (`env -i`, a daemon that cleans up) gets them back: the shim
 * in front of LD_PRELOAD, where the recorder is, with what is known of filters of system calls, and that
 * libasan is not to mind it.  One that has
 * them, or another recorder's, is handed on as it is.  Works in the child of a vfork; allocates
 * nothing that an exec would leave behind in the parent, unless the environment is very large.
 */
#ifndef SHIM_ENV_H
#define SHIM_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/filter.h"

#define ENV_FIXED 254
#define ENV_PRELOAD_BYTES 4096
#define ENV_ASAN_BYTES 1024
#define ENV_HEAP_BYTES 192

struct env {
	char *fixed[ENV_FIXED + 2];
	char preload[ENV_PRELOAD_BYTES];
	char asan[ENV_ASAN_BYTES];
	char heap[ENV_HEAP_BYTES];
	void *mapped;
	size_t mapped_bytes;
};

/* Takes what the launcher gave us from the environment.  False if that is nothing. */
bool env_remember(void);

/* Where the recorder's file is. */
const char *env_heap_path(void);

/* What is known of filters to who executed us, and how many the recorder has: see wire.h. */
struct filters env_filters(void);
uint32_t env_filters_of_recorder(void);

/* The same environment, or another one in `env` and in remembered memory.  NULL is an empty one. */
char *const *env_for(struct env *env, char *const envp[]);

void env_release(struct env *env);

/* The program's own environment, also before libc knows it.  May be NULL. */
char **env_own(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * env - keeps programs that this one executes under the shim, whatever environment they are given.
 *
 *	struct env env;
 *	char *const *new = env_for(&env, envp, alloca(env_room(envp)));
 *	int result = real.execve(path, argv, new);
 *	env_release(&env);
 *
 * An environment without our variables (`env -i`, a daemon that cleans up) gets them back: the shim
 * in front of LD_PRELOAD, where the recorder is, with what is known of filters of system calls, and
 * that libasan is not to mind it.  One that has them, or another recorder's, is handed on as it is.
 * Takes no more of the stack than that needs: a handler of signals may have little.  Works in the
 * child of a vfork; allocates nothing that an exec would leave behind in the parent, unless the
 * environment is very large.
 */
#ifndef SHIM_ENV_H
#define SHIM_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/filter.h"

/* A larger one gets memory of its own. */
#define ENV_ROOM_MAX 2048

struct env {
	void *mapped; /* NULL: it is not */
	size_t mapped_bytes;
};

/* Takes what the launcher gave us from the environment.  False if that is nothing. */
bool env_remember(void);

/* Valgrind runs the program: it preloads a library of its own, whose functions take malloc's place. */
bool env_is_of_valgrind(void);

/* Where the recorder's file is. */
const char *env_heap_path(void);

/* What is known of filters to who executed us, and how many the recorder has: see wire.h. */
struct filters env_filters(void);
uint32_t env_filters_of_recorder(void);

/* Bytes that it needs: 0 if that is the same environment, or a very large one. */
size_t env_room(char *const envp[]);
/* The same environment, or another one in that much room.  NULL is an empty one. */
char *const *env_for(struct env *env, char *const envp[], char *room);

void env_release(struct env *env);

/* The program's own environment, also before libc knows it.  May be NULL. */
char **env_own(void);

#endif

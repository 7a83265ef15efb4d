/* SPDX-License-Identifier: MIT */
/*
 * environment - the variables a program is started with.
 *
 *	struct environment env = { 0 };
 *
 *	environment_copy(&env, environ);
 *	environment_set(&env, "CPROF_HEAP", path);
 *	environment_prepend(&env, "LD_PRELOAD", shim, ':');
 *	execvpe(argv[0], argv, env.at);
 *	environment_release(&env);
 */
#ifndef RECORD_TARGET_ENVIRONMENT_H
#define RECORD_TARGET_ENVIRONMENT_H

#include <stddef.h>

struct environment {
	char **at; /* "NAME=VALUE", a NULL at the end */
	size_t nr, room;
};

void environment_copy(struct environment *env, char *const *from);
void environment_release(struct environment *env);

/* Adds the variable or replaces its value. */
void environment_set(struct environment *env, const char *name, const char *value);
/* Puts value and the separator before what the variable has already, if that is not empty. */
void environment_prepend(struct environment *env, const char *name, const char *value,
			 char separator);
/* The value, or NULL. */
const char *environment_get(const struct environment *env, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
#include "record/target/environment.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static void append(struct environment *env, char *entry)
{
	vec_reserve(env, env->nr + 2);
	env->at[env->nr++] = entry;
	env->at[env->nr] = NULL;
}

void environment_copy(struct environment *env, char *const *from)
{
	*env = (struct environment){ 0 };
	for (; *from; from++)
		append(env, xstrdup(*from));
}

void environment_release(struct environment *env)
{
	vec_each(env, entry) free(*entry);
	vec_free(env);
}

static char **find(const struct environment *env, const char *name)
{
	size_t length = strlen(name);

	vec_each(env,
		 entry) if (!strncmp(*entry, name, length) && (*entry)[length] == '=') return entry;
	return NULL;
}

void environment_set(struct environment *env, const char *name, const char *value)
{
	char *entry = xasprintf("%s=%s", name, value);
	char **place = find(env, name);

	if (!place) {
		append(env, entry);
		return;
	}
	free(*place);
	*place = entry;
}

void environment_prepend(struct environment *env, const char *name, const char *value,
			 char separator)
{
	const char *former = environment_get(env, name);
	char *joined;

	if (!former || !*former) {
		environment_set(env, name, value);
		return;
	}
	joined = xasprintf("%s%c%s", value, separator, former);
	environment_set(env, name, joined);
	free(joined);
}

const char *environment_get(const struct environment *env, const char *name)
{
	char **place = find(env, name);

	return place ? *place + strlen(name) + 1 : NULL;
}

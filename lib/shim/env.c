/* SPDX-License-Identifier: MIT */
#include "shim/env.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "shim/real.h"
#include "shim/sys.h"
#include "shim/wire.h"

#define PRELOAD "LD_PRELOAD="
#define HEAP WIRE_ENV "="
#define ASAN WIRE_ASAN_ENV "="
#define ARGUMENTS_MOST (1 << 20)

extern void *__libc_stack_end __attribute__((weak));

#define PATH_BYTES 96

/* Once at the start. */
static char heap_path[PATH_BYTES];
static char shim_path[1024];
static struct filters filters_told;
static uint32_t filters_of_recorder;

/* "VALUE" of the entry "NAME=VALUE", or NULL. */
static const char *value_of(char *const envp[], const char *name_is)
{
	size_t length = strlen(name_is);

	for (size_t i = 0; envp && envp[i]; i++)
		if (!strncmp(envp[i], name_is, length))
			return envp[i] + length;
	return NULL;
}

static bool copy(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* The kernel put argc, argv and the environment above the first frame. */
static char **env_of_stack(void)
{
	if (!&__libc_stack_end || !__libc_stack_end)
		return NULL;
	const long *argc = __libc_stack_end;

	return *argc >= 0 && *argc < ARGUMENTS_MOST ? (char **)(argc + 1 + *argc + 1) : NULL;
}

char **env_own(void)
{
	return environ ? environ : env_of_stack();
}

/* --- where the recorder is, and filters of system calls ---------------------------------------*/

static uint64_t take_number(const char **text, unsigned int base)
{
	uint64_t number = 0;

	if (**text == ',')
		++*text;
	for (;; ++*text) {
		char c = **text;
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : base;

		if (digit >= base)
			return number;
		number = number * base + digit;
	}
}

static void take_filters(const char *text)
{
	filters_of_recorder = (uint32_t)take_number(&text, 10);
	filters_told = (struct filters){ filters_of_recorder, FILTERS_ALL_CALLS };
	if (*text != ',')
		return;
	filters_told.nr = (uint32_t)take_number(&text, 10);
	filters_told.calls = take_number(&text, 16);
}

struct filters env_filters(void)
{
	return filters_told;
}

uint32_t env_filters_of_recorder(void)
{
	return filters_of_recorder;
}

static char *put_number(char *to, uint64_t number, unsigned int base)
{
	char digits[24];
	size_t nr = 0;

	do
		digits[nr++] = "0123456789abcdef"[number % base];
	while (number /= base);
	*to++ = ',';
	while (nr)
		*to++ = digits[--nr];
	return to;
}

/* What is known now. */
static char *put_filters(char *to)
{
	struct filters known = filter_known();

	if (filters_of_recorder || known.nr > filters_of_recorder)
		to = put_number(to, filters_of_recorder, 10);
	if (known.nr <= filters_of_recorder)
		return to;
	to = put_number(to, known.nr, 10);
	return put_number(to, known.calls, 16);
}

/* The whole entry. */
static char *put_heap(char to[ENV_HEAP_BYTES])
{
	size_t length = strlen(heap_path);

	memcpy(to, HEAP, strlen(HEAP));
	memcpy(to + strlen(HEAP), heap_path, length);
	*put_filters(to + strlen(HEAP) + length) = '\0';
	return to;
}

bool env_remember(void)
{
	const char *value = value_of(env_own(), HEAP), *own = real_own_path();
	size_t length = value ? strcspn(value, ",") : 0;

	if (!value || !own || !copy(heap_path, sizeof(heap_path), value, length) ||
	    !copy(shim_path, sizeof(shim_path), own, strlen(own)))
		return false;
	take_filters(value + length);
	return true;
}

const char *env_heap_path(void)
{
	return heap_path;
}

/* --- the environment of what is executed ------------------------------------------------------*/

/* True if `path` is one of a list separated by colons or spaces. */
static bool lists(const char *list, const char *path)
{
	size_t length = strlen(path);

	while (list && *list) {
		size_t item = strcspn(list, ": ");

		if (item == length && !memcmp(list, path, length))
			return true;
		list += item;
		list += strspn(list, ": ");
	}
	return false;
}

static size_t count(char *const envp[])
{
	size_t nr = 0;

	while (envp && envp[nr])
		nr++;
	return nr;
}

/* Room for what is there, our three and the end, or NULL. */
static char **make_room(struct env *env, size_t nr)
{
	if (nr <= ENV_FIXED - 2)
		return env->fixed;
	env->mapped_bytes = (nr + 4) * sizeof(char *);
	env->mapped = sys_mmap_private(env->mapped_bytes);
	if (!sys_failed(env->mapped))
		return env->mapped;
	env->mapped = NULL;
	return NULL;
}

/* "NAME=<ours>:<theirs>" in `to`; without theirs if that is too long. */
static char *join(char *to, size_t size, const char *name_is, const char *ours, const char *theirs)
{
	size_t used = strlen(name_is), length = strlen(ours);

	memcpy(to, name_is, used);
	memcpy(to + used, ours, length + 1);
	used += length;
	if (theirs && *theirs && used + 1 + strlen(theirs) < size) {
		to[used] = ':';
		memcpy(to + used + 1, theirs, strlen(theirs) + 1);
	}
	return to;
}

/* The entry that this is the value of. */
static char *entry_of(const char *value, const char *name_is)
{
	return (char *)value - strlen(name_is);
}

static bool is_ours(const char *entry)
{
	return !strncmp(entry, PRELOAD, strlen(PRELOAD)) || !strncmp(entry, HEAP, strlen(HEAP)) ||
	       !strncmp(entry, ASAN, strlen(ASAN));
}

static bool has_asan_options(const char *theirs)
{
	return theirs && !strncmp(theirs, WIRE_ASAN_OPTIONS, strlen(WIRE_ASAN_OPTIONS));
}

static bool is_of_another_recorder(const char *value)
{
	size_t length = strlen(heap_path);

	return value &&
	       (strncmp(value, heap_path, length) != 0 || (value[length] && value[length] != ','));
}

static bool is_complete(const struct env *env, const char *preload, const char *value,
			const char *asan)
{
	return value && !strcmp(value, env->heap + strlen(HEAP)) && lists(preload, shim_path) &&
	       has_asan_options(asan);
}

char *const *env_for(struct env *env, char *const envp[])
{
	const char *theirs = value_of(envp, PRELOAD), *value = value_of(envp, HEAP);
	const char *asan = value_of(envp, ASAN);
	size_t nr = count(envp), used = 0;

	env->mapped = NULL;
	put_heap(env->heap);
	if (!*shim_path || is_of_another_recorder(value) || is_complete(env, theirs, value, asan))
		return envp;
	char **fixed = make_room(env, nr);

	if (!fixed)
		return envp;
	for (size_t i = 0; i < nr; i++)
		if (!is_ours(envp[i]))
			fixed[used++] = envp[i];
	fixed[used++] = lists(theirs, shim_path) ? entry_of(theirs, PRELOAD)
						 : join(env->preload, sizeof(env->preload), PRELOAD,
							shim_path, theirs);
	fixed[used++] = has_asan_options(asan)
				? entry_of(asan, ASAN)
				: join(env->asan, sizeof(env->asan), ASAN, WIRE_ASAN_OPTIONS, asan);
	fixed[used++] = env->heap;
	fixed[used] = NULL;
	return fixed;
}

void env_release(struct env *env)
{
	if (env->mapped)
		sys_munmap(env->mapped, env->mapped_bytes);
}

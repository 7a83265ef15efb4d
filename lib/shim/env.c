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
/* Of the entry with the recorder's path and what is known of filters. */
#define HEAP_BYTES 192

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
static void put_heap(char to[HEAP_BYTES])
{
	size_t length = strlen(heap_path);

	memcpy(to, HEAP, strlen(HEAP));
	memcpy(to + strlen(HEAP), heap_path, length);
	*put_filters(to + strlen(HEAP) + length) = '\0';
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

bool env_is_of_valgrind(void)
{
	const char *preload = value_of(env_own(), PRELOAD);

	return preload && strstr(preload, "/vgpreload_");
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

/* What there is, and ours. */
struct parts {
	size_t nr;
	const char *preload, *asan; /* values that there are */
	char heap[HEAP_BYTES];
	size_t bytes; /* of what takes its place; 0: it stays */
};

static bool is_complete(const struct parts *parts, const char *value)
{
	return value && !strcmp(value, parts->heap + strlen(HEAP)) &&
	       lists(parts->preload, shim_path) && has_asan_options(parts->asan);
}

/* Of "NAME=<ours>:<theirs>". */
static size_t joined(const char *name_is, const char *ours, const char *theirs)
{
	return strlen(name_is) + strlen(ours) + (theirs ? 1 + strlen(theirs) : 0) + 1;
}

static void look_at(struct parts *parts, char *const envp[])
{
	const char *value = value_of(envp, HEAP);

	*parts = (struct parts){
		.nr = count(envp),
		.preload = value_of(envp, PRELOAD),
		.asan = value_of(envp, ASAN),
	};
	put_heap(parts->heap);
	if (!*shim_path || is_of_another_recorder(value) || is_complete(parts, value))
		return;
	parts->bytes = (parts->nr + 4) * sizeof(char *) + strlen(parts->heap) + 1 +
		       joined(PRELOAD, shim_path, parts->preload) +
		       joined(ASAN, WIRE_ASAN_OPTIONS, parts->asan);
}

size_t env_room(char *const envp[])
{
	struct parts parts;

	look_at(&parts, envp);
	return parts.bytes <= ENV_ROOM_MAX ? parts.bytes : 0;
}

/* NULL: there is no memory. */
static char *make_room(struct env *env, size_t bytes)
{
	void *mapped = sys_mmap_private(bytes);

	if (sys_failed(mapped))
		return NULL;
	env->mapped = mapped;
	env->mapped_bytes = bytes;
	return mapped;
}

static char *put(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length + 1);
	return to + length;
}

/* "NAME=<ours>:<theirs>"; behind it. */
static char *join(char *to, const char *name_is, const char *ours, const char *theirs)
{
	to = put(put(to, name_is), ours);
	if (theirs && *theirs)
		to = put(put(to, ":"), theirs);
	return to + 1;
}

static void put_ours(char **entries, char *text, const struct parts *parts)
{
	if (lists(parts->preload, shim_path)) {
		*entries++ = entry_of(parts->preload, PRELOAD);
	} else {
		*entries++ = text;
		text = join(text, PRELOAD, shim_path, parts->preload);
	}
	if (has_asan_options(parts->asan)) {
		*entries++ = entry_of(parts->asan, ASAN);
	} else {
		*entries++ = text;
		text = join(text, ASAN, WIRE_ASAN_OPTIONS, parts->asan);
	}
	*entries++ = text;
	put(text, parts->heap);
	*entries = NULL;
}

char *const *env_for(struct env *env, char *const envp[], char *room)
{
	struct parts parts;
	size_t used = 0;

	env->mapped = NULL;
	look_at(&parts, envp);
	if (!parts.bytes)
		return envp;
	if (parts.bytes > ENV_ROOM_MAX)
		room = make_room(env, parts.bytes);
	if (!room)
		return envp;

	char **entries = (char **)(void *)room;

	for (size_t i = 0; i < parts.nr; i++)
		if (!is_ours(envp[i]))
			entries[used++] = envp[i];
	put_ours(entries + used, room + (parts.nr + 4) * sizeof(char *), &parts);
	return entries;
}

void env_release(struct env *env)
{
	if (env->mapped)
		sys_munmap(env->mapped, env->mapped_bytes);
}

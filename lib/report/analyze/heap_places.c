/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool starts_with_one_of(const char *text, const char *const *starts)
{
	for (; *starts; starts++)
		if (starts_with(text, *starts))
			return true;
	return false;
}

static bool is_libc(const char *module)
{
	static const char *const starts[] = {
		"libc.so", "libc-2",  "libc.musl", "libpthread", "ld-linux",
		"ld-2",	   "ld-musl", "ld64.so",   "ld.so",	 NULL,
	};

	return module && starts_with_one_of(module, starts);
}

/* The functions of glibc and musl that call main, constructors and the functions of threads. */
static bool is_start_name(const char *name)
{
	static const char *const names[] = {
		"_start",
		"_start_c",
		"generic_start_main",
		"libc_start_main_stage2",
		"call_init",
		"_dl_init",
		"_dl_start",
		"_dl_start_user",
		"start_thread",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
		"start",
		"start_c11",
		NULL,
	};

	for (const char *const *at = names; *at; at++)
		if (!strcmp(name, *at))
			return true;
	return starts_with(name, "__libc_start_");
}

/* What of it is linked into the program itself. */
static bool is_linked_start_name(const char *name)
{
	return !strcmp(name, "_start") || !strcmp(name, "__libc_csu_init") ||
	       starts_with(name, "__libc_start_");
}

void heap_places_init(struct heap_places *places, const struct chains *chains)
{
	const struct profile *profile = chains->profile;

	*places = (struct heap_places){
		.chains = chains,
		.at = xcalloc(chains->nr_places + PROFILE_NR_ALLOCATORS, sizeof(struct heap_place)),
		.libc = xcalloc(profile->nr_modules + 1, sizeof(bool)),
	};
	for (size_t i = 0; i < profile->nr_modules; i++)
		places->libc[i] = is_libc(profile->modules[i].name);
	for (int i = 0; i < PROFILE_NR_ALLOCATORS; i++)
		places->at[chains->nr_places + (size_t)i].name =
			profile_allocator_name((enum profile_allocator)i);
}

void heap_places_release(struct heap_places *places)
{
	free(places->at);
	free(places->libc);
	vec_free(&places->frames);
	vec_free(&places->list);
	*places = (struct heap_places){ 0 };
}

const struct heap_place *heap_places_get(const struct heap_places *places, uint32_t id)
{
	return &places->at[id];
}

/* Into places->frames, innermost first. */
static void collect(struct heap_places *places, uint32_t stack)
{
	const struct chains *chains = places->chains;

	places->frames.nr = 0;
	while (stack != PROFILE_NONE) {
		const struct profile_stack *s = &chains->profile->stacks[stack];

		for (uint32_t i = chains->first[s->address + 1]; i-- > chains->first[s->address];)
			vec_push(&places->frames, &chains->frames[i]);
		stack = s->parent;
	}
}

static const struct function *function_of(const struct heap_places *places, size_t i)
{
	return &places->chains->functions[places->frames.at[i]->function];
}

static bool in_libc(const struct heap_places *places, const struct function *function)
{
	return function->module != PROFILE_NONE && places->libc[function->module];
}

/* An unnamed _start is known by what it calls. */
static bool calls_libc_start(const struct heap_places *places, size_t i)
{
	const struct function *callee;

	if (i != places->frames.nr - 1 || i == 0)
		return false;
	callee = function_of(places, i - 1);
	return in_libc(places, callee) && starts_with(callee->name, "__libc_start_");
}

static bool is_start_code(const struct heap_places *places, size_t i)
{
	const struct function *function = function_of(places, i);

	if (function->kind == FUNCTION_MISSING)
		return false;
	if (in_libc(places, function))
		return function->kind == FUNCTION_UNNAMED || is_start_name(function->name);
	return is_linked_start_name(function->name) || calls_libc_start(places, i);
}

/* What calls main is start code, and nothing of the program is missing around it: musl's has no CFI, and
 * mostly no name. */
static bool is_lost_start_of_main(const struct heap_places *places)
{
	size_t nr = places->frames.nr;

	return nr > 2 && function_of(places, nr - 1)->kind == FUNCTION_MISSING &&
	       in_libc(places, function_of(places, nr - 2)) &&
	       !strcmp(function_of(places, nr - 3)->name, "main");
}

/* The number of frames that are not start code; at least one. */
static size_t without_start(const struct heap_places *places)
{
	size_t nr = places->frames.nr;

	if (is_lost_start_of_main(places))
		return nr - 2;
	while (nr > 1 && is_start_code(places, nr - 1))
		nr--;
	return nr;
}

static bool is_thread_start_module(const char *module)
{
	static const char *const starts[] = { "libstdc++.so", "libc++.so", NULL };

	return module && starts_with_one_of(module, starts);
}

/* What std::thread of C++ or Rust puts between the C library and the function of a thread. */
static bool is_thread_start(const struct heap_places *places, const struct function *function)
{
	static const char *const starts[] = { "std::",
					      "void std::",
					      "core::",
					      "<core::",
					      "alloc::",
					      "<alloc::",
					      "execute_native_thread_routine",
					      NULL };

	return starts_with_one_of(function->name, starts) ||
	       is_thread_start_module(chains_module_name(places->chains, function->module));
}

static bool is_program_module(const struct profile_module *module)
{
	static const char *const loaders[] = { "ld-", "ld.so", "ld64.so", NULL };

	return module->kind != PROFILE_MODULE_KERNEL && module->kind != PROFILE_MODULE_SELF &&
	       !(module->name && starts_with_one_of(module->name, loaders));
}

/* What the kernel, the loader and cprof do is not what a thread was started for. */
static bool in_program(const struct heap_places *places, const struct function *function)
{
	return function->kind != FUNCTION_MISSING &&
	       (function->module == PROFILE_NONE ||
		is_program_module(&places->chains->profile->modules[function->module]));
}

uint32_t heap_places_start(struct heap_places *places, uint32_t stack)
{
	size_t i;

	collect(places, stack);
	for (i = without_start(places); i > 1; i--)
		if (!is_thread_start(places, function_of(places, i - 1)))
			break;
	if (is_start_code(places, i - 1) || !in_program(places, function_of(places, i - 1)))
		return PROFILE_NONE;
	return places->frames.at[i - 1]->function;
}

static uint32_t place_of(struct heap_places *places, const struct frame *frame)
{
	const struct function *function = &places->chains->functions[frame->function];
	struct heap_place *place = &places->at[frame->place];

	if (!place->name)
		*place = (struct heap_place){
			.name = function->name,
			.module = chains_module_name(places->chains, function->module),
			.file = frame->file,
			.line = frame->line,
			.inlined = frame->inlined,
		};
	return frame->place;
}

const uint32_t *heap_places_of_stack(struct heap_places *places, uint32_t stack,
				     enum profile_allocator allocator, size_t *nr)
{
	places->list.nr = 0;
	collect(places, stack);
	for (size_t i = without_start(places); i-- > 0;)
		vec_push(&places->list, place_of(places, places->frames.at[i]));
	vec_push(&places->list, (uint32_t)(places->chains->nr_places + allocator));

	*nr = places->list.nr;
	return places->list.at;
}

/* SPDX-License-Identifier: MIT */
#include "toy_profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/vec.h"

struct toy {
	struct profile profile;
	VEC(struct profile_event) events;
	VEC(struct profile_process) processes;
	VEC(struct profile_thread) threads;
	VEC(struct profile_module) modules;
	VEC(struct profile_address) addresses;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_function) functions;
	VEC(struct profile_total) totals;
	VEC(struct profile_heap) heaps;
	VEC(struct profile_heap_site) sites;
	VEC(struct profile_heap_size) sizes;
	VEC(struct profile_slice) slices;
	VEC(struct profile_memory) memory;
	VEC(struct profile_sample) samples;
	VEC(struct profile_quality) quality;
	VEC(struct profile_frame) frames;
	VEC(uint32_t) first;
	VEC(const char **) commands;
	struct intern texts;
	struct intern frame_names; /* id: address */
};

static const char *keep(struct toy *toy, const char *text)
{
	return intern_text(&toy->texts, intern_add(&toy->texts, text));
}

struct toy *toy_new(void)
{
	struct toy *toy = xcalloc(1, sizeof(*toy));

	toy->profile.symbolized = true;
	toy->profile.run = (struct profile_run){
		.cprof_version = "1.0",
		.nr_cpus = 2,
		.wall_us = 4210000,
		.complete = true,
		.cpu_on = true,
		.heap_mode = "exact",
		.heap_tracked = true,
	};
	toy_process(toy, "./app --size 3", 100, PROFILE_NONE);
	toy_thread(toy, 0, 100, "app");
	return toy;
}

struct profile_run *toy_run(struct toy *toy)
{
	return &toy->profile.run;
}

struct profile_process *toy_first_process(struct toy *toy)
{
	return &toy->processes.at[0];
}

struct profile_process *toy_process(struct toy *toy, const char *command, int pid, uint32_t parent)
{
	struct profile_process *process = vec_add(&toy->processes);
	const char **arguments = xcalloc(16, sizeof(arguments[0]));
	char *words = xstrdup(command), *rest = words, *word;

	*process = (struct profile_process){
		.id = (uint32_t)toy->processes.nr - 1,
		.parent = parent,
		.pid = pid,
		.arguments = arguments,
		.end_us = 4210000,
		.tracked = true,
	};
	while ((word = strsep(&rest, " ")))
		arguments[process->nr_arguments++] = keep(toy, word);
	vec_push(&toy->commands, arguments);
	free(words);
	return process;
}

uint32_t toy_thread(struct toy *toy, uint32_t process, int tid, const char *name)
{
	uint32_t id = (uint32_t)toy->threads.nr;
	struct profile_thread *added = vec_add(&toy->threads);

	*added = (struct profile_thread){
		.id = id,
		.process = process,
		.tid = tid,
		.name = name,
	};
	return id;
}

struct profile_event *toy_event(struct toy *toy, const char *name, const char *unit)
{
	struct profile_event *event = vec_add(&toy->events);

	*event = (struct profile_event){
		.id = (uint32_t)toy->events.nr - 1,
		.name = name,
		.unit = unit,
		.status = PROFILE_COUNTED,
		.coverage = 1,
		.frequency_hz = 997,
	};
	return event;
}

static uint32_t module_of(struct toy *toy, const char *name)
{
	vec_each(&toy->modules, module) if (!strcmp(module->name, name)) return module->id;
	uint32_t id = (uint32_t)toy->modules.nr;
	struct profile_module *added = vec_add(&toy->modules);

	*added = (struct profile_module){
		.id = id,
		.name = keep(toy, name),
		.path = keep(toy, name),
	};
	return id;
}

void toy_module_kind(struct toy *toy, const char *module, enum profile_module_kind kind)
{
	uint32_t id = module_of(toy, module);

	toy->modules.at[id].kind = kind;
}

static uint32_t function_of(struct toy *toy, uint32_t module, const char *name)
{
	vec_each(&toy->functions, function) if (function->module == module &&
						!strcmp(function->name, name)) return function->id;
	uint32_t id = (uint32_t)toy->functions.nr;
	struct profile_function *added = vec_add(&toy->functions);

	*added = (struct profile_function){
		.id = id,
		.module = module,
		.name = keep(toy, name),
		.has_name = !strstr(name, "+0x"),
		.file = "a.c",
		.line = id * 10 + 10,
	};
	return id;
}

static void add_frame(struct toy *toy, uint32_t module, uint32_t depth, char *text)
{
	struct profile_frame frame = {
		.address = (uint32_t)toy->addresses.nr - 1,
		.depth = depth,
	};
	char *at = strchr(text, '@'), *colon = at ? strchr(at, ':') : NULL;

	if (at && colon) {
		*at = *colon = '\0';
		frame.file = keep(toy, at + 1);
		frame.line = (uint32_t)atoi(colon + 1);
	}
	frame.function = function_of(toy, module, text);
	vec_push(&toy->frames, frame);
}

/* A module ends at a single colon that is before any '@'. */
static char *module_end(char *text)
{
	for (char *at = text; *at && *at != '@' && *at != '<'; at++) {
		if (at[0] == ':' && at[1] != ':')
			return at;
		at += at[0] == ':';
	}
	return NULL;
}

static void add_names(struct toy *toy, uint32_t module, char *names)
{
	uint32_t depth = 0;
	char *name;

	while ((name = strsep(&names, "|")))
		add_frame(toy, module, depth++, name);
}

static void add_address(struct toy *toy, const char *text)
{
	struct profile_address *address = vec_add(&toy->addresses);
	char *copy = xstrdup(text), *end = module_end(copy), *name = end ? end + 1 : copy;

	address->id = (uint32_t)toy->addresses.nr - 1;
	address->value = 0x1000 + address->id;
	vec_push(&toy->first, (uint32_t)toy->frames.nr);
	if (!strncmp(text, "...", 3)) {
		address->kind = text[3] ? PROFILE_ADDRESS_ELIDED : PROFILE_ADDRESS_TRUNCATED;
		address->module = PROFILE_NONE;
		address->value = (uint64_t)atoi(text + 3);
	} else {
		if (end)
			*end = '\0';
		address->module = module_of(toy, end ? copy : "app");
		address = vec_last(&toy->addresses);
		if (*name == '?')
			address->value = strtoull(name + 1, NULL, 16);
		else
			add_names(toy, address->module, name);
	}
	free(copy);
}

static uint32_t address_of(struct toy *toy, const char *text)
{
	uint32_t id = intern_add(&toy->frame_names, text);

	if (id == toy->addresses.nr)
		add_address(toy, text);
	return id;
}

static uint32_t node_of(struct toy *toy, uint32_t parent, uint32_t address)
{
	vec_each(&toy->stacks,
		 stack) if (stack->parent == parent && stack->address == address) return stack->id;
	uint32_t id = (uint32_t)toy->stacks.nr;
	struct profile_stack *added = vec_add(&toy->stacks);

	*added = (struct profile_stack){
		.id = id,
		.parent = parent,
		.address = address,
	};
	return id;
}

uint32_t toy_stack(struct toy *toy, ...)
{
	uint32_t stack = PROFILE_NONE;
	const char *frame;
	va_list frames;

	va_start(frames, toy);
	while ((frame = va_arg(frames, const char *)))
		stack = node_of(toy, stack, address_of(toy, frame));
	va_end(frames);
	return stack;
}

void toy_sample_thread(struct toy *toy, uint32_t stack, uint32_t thread, const char *event,
		       uint64_t samples, uint64_t weight)
{
	uint32_t id = 0;

	while (strcmp(toy->events.at[id].name, event) != 0)
		id++;
	vec_push(&toy->totals,
		 (struct profile_total){
			 .stack = stack,
			 .thread = thread,
			 .event = id,
			 .samples = samples,
			 .weight = samples * weight,
			 .weight_squared = (double)samples * (double)(weight * weight),
		 });
}

void toy_sample(struct toy *toy, uint32_t stack, const char *event, uint64_t samples,
		uint64_t weight)
{
	toy_sample_thread(toy, stack, 0, event, samples, weight);
}

struct profile_heap *toy_heap(struct toy *toy, uint32_t process)
{
	struct profile_heap *heap = vec_add(&toy->heaps);

	heap->process = process;
	heap->peak_time_us = PROFILE_NO_TIME;
	heap->peak_exact = true;
	return heap;
}

struct profile_heap_site *toy_site(struct toy *toy, uint32_t process, uint32_t stack,
				   enum profile_allocator allocator)
{
	struct profile_heap_site *site = vec_add(&toy->sites);

	site->process = process;
	site->stack = stack;
	site->allocator = allocator;
	return site;
}

void toy_size(struct toy *toy, struct profile_heap_size size)
{
	vec_push(&toy->sizes, size);
}

void toy_slice(struct toy *toy, struct profile_slice slice)
{
	vec_push(&toy->slices, slice);
}

void toy_memory(struct toy *toy, struct profile_memory memory)
{
	vec_push(&toy->memory, memory);
}

void toy_moment(struct toy *toy, uint32_t stack, int64_t time_us, uint64_t weight)
{
	vec_push(&toy->samples,
		 (struct profile_sample){ .time_us = time_us, .stack = stack, .weight = weight });
}

void toy_quality(struct toy *toy, enum profile_quality_kind kind, uint64_t count,
		 const char *detail)
{
	vec_push(&toy->quality, (struct profile_quality){ kind, count, detail });
}

#define HAND_OVER(member, vec)                          \
	do {                                            \
		toy->profile.member = toy->vec.at;      \
		toy->profile.nr_##member = toy->vec.nr; \
	} while (0)

const struct profile *toy_profile(struct toy *toy)
{
	vec_push(&toy->first, (uint32_t)toy->frames.nr);
	toy->profile.first_frame = toy->first.at;
	HAND_OVER(events, events);
	HAND_OVER(processes, processes);
	HAND_OVER(threads, threads);
	HAND_OVER(modules, modules);
	HAND_OVER(addresses, addresses);
	HAND_OVER(stacks, stacks);
	HAND_OVER(functions, functions);
	HAND_OVER(totals, totals);
	HAND_OVER(heaps, heaps);
	HAND_OVER(heap_sites, sites);
	HAND_OVER(heap_sizes, sizes);
	HAND_OVER(slices, slices);
	HAND_OVER(memory, memory);
	HAND_OVER(samples, samples);
	HAND_OVER(quality, quality);
	HAND_OVER(frames, frames);
	return &toy->profile;
}

void toy_free(struct toy *toy)
{
	vec_each(&toy->commands, arguments) free(*arguments);
	vec_free(&toy->commands);
	vec_free(&toy->events);
	vec_free(&toy->processes);
	vec_free(&toy->threads);
	vec_free(&toy->modules);
	vec_free(&toy->addresses);
	vec_free(&toy->stacks);
	vec_free(&toy->functions);
	vec_free(&toy->totals);
	vec_free(&toy->heaps);
	vec_free(&toy->sites);
	vec_free(&toy->sizes);
	vec_free(&toy->slices);
	vec_free(&toy->memory);
	vec_free(&toy->samples);
	vec_free(&toy->quality);
	vec_free(&toy->frames);
	vec_free(&toy->first);
	intern_release(&toy->texts);
	intern_release(&toy->frame_names);
	free(toy);
}

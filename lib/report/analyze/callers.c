/* SPDX-License-Identifier: MIT */
#include "report/analyze/callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "report/analyze/reasons.h"

struct amounts {
	double weight;
	uint64_t samples;
	uint64_t at_peak_bytes, allocations, reallocations, allocated_bytes;
};

/* A function and a caller of it; PROFILE_NONE: it has none. */
struct edge {
	uint32_t caller, function;
	struct amounts self, total;
	uint64_t stack; /* the last one that was counted, so that each counts once */
};

struct work {
	const struct profile *profile;
	const struct chains *chains;
	const struct selection *selection;
	const struct heap *heap;
	struct map index; /* caller and function -> in edges */
	struct {
		struct edge *at;
		size_t nr, room;
	} edges;
	/* Their functions: numbers after those of chains where no sample was in one. */
	uint32_t allocators[PROFILE_NR_ALLOCATORS];
	uint64_t nr_stacks;
	double weight;
};

static struct edge *edge_of(struct work *w, uint32_t caller, uint32_t function)
{
	bool added;
	uint64_t *index = map_add(&w->index, map_pair(caller, function), &added);

	if (added) {
		*index = w->edges.nr;
		*(struct edge *)vec_add(&w->edges) =
			(struct edge){ .caller = caller, .function = function };
	}
	return &w->edges.at[*index];
}

static void amounts_add(struct amounts *to, const struct amounts *amounts)
{
	to->weight += amounts->weight;
	to->samples += amounts->samples;
	to->at_peak_bytes += amounts->at_peak_bytes;
	to->allocations += amounts->allocations;
	to->reallocations += amounts->reallocations;
	to->allocated_bytes += amounts->allocated_bytes;
}

/* --- stacks --- */

/* The frames of a stack from the innermost on. */
struct walk {
	const struct chains *chains;
	uint32_t stack;
	uint32_t frame; /* the ones before it at the stack's address are to come */
};

static uint32_t last_frame(const struct chains *chains, uint32_t stack)
{
	return stack == PROFILE_NONE ? 0
				     : chains->first[chains->profile->stacks[stack].address + 1];
}

/* PROFILE_NONE after the outermost one.  Those of cprof itself are passed over. */
static uint32_t next_function(struct walk *walk)
{
	const struct chains *chains = walk->chains;

	while (walk->stack != PROFILE_NONE) {
		const struct profile_stack *s = &chains->profile->stacks[walk->stack];

		while (walk->frame > chains->first[s->address]) {
			uint32_t function = chains->frames[--walk->frame].function;

			if (!chains->functions[function].ours)
				return function;
		}
		walk->stack = s->parent;
		walk->frame = last_frame(chains, s->parent);
	}
	return PROFILE_NONE;
}

/* function: the innermost one, which the walk goes on from. */
static void add_stack(struct work *w, struct walk *walk, uint32_t function,
		      const struct amounts *amounts)
{
	bool innermost = true;

	w->nr_stacks++;
	while (function != PROFILE_NONE) {
		uint32_t caller = next_function(walk);
		struct edge *edge = edge_of(w, caller, function);

		if (innermost)
			amounts_add(&edge->self, amounts);
		if (edge->stack != w->nr_stacks)
			amounts_add(&edge->total, amounts);
		edge->stack = w->nr_stacks;
		innermost = false;
		function = caller;
	}
}

static struct walk walk_from(const struct work *w, uint32_t stack)
{
	return (struct walk){ w->chains, stack, last_frame(w->chains, stack) };
}

static void add_totals(struct work *w)
{
	for (size_t i = 0; i < w->selection->nr_totals; i++) {
		const struct profile_total *total = &w->selection->totals[i];
		struct walk walk = walk_from(w, total->stack);

		if (total->event != 0 || !w->selection->threads[total->thread] ||
		    profile_is_overhead(w->profile, total->stack))
			continue;
		w->weight += (double)total->weight;
		add_stack(w, &walk, next_function(&walk),
			  &(struct amounts){ .weight = (double)total->weight,
					     .samples = total->samples });
	}
}

static void add_sites(struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_heap_sites; i++) {
		const struct profile_heap_site *site = &w->profile->heap_sites[i];
		struct walk walk = walk_from(w, site->stack);

		if (w->selection->processes[site->process])
			add_stack(w, &walk, w->allocators[site->allocator],
				  &(struct amounts){
					  .at_peak_bytes = w->heap->own_peak
								   ? site->at_peak_bytes
								   : site->at_tree_peak_bytes,
					  .allocations = site->allocations,
					  .reallocations = site->reallocations,
					  .allocated_bytes = site->allocated_bytes,
				  });
	}
}

/* "operator new" is "operator new(unsigned long)" among functions. */
static bool is_called(const struct function *f, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(f->name, name, length) && (!f->name[length] || f->name[length] == '(');
}

/* library: whose malloc it is; NULL: not known. */
static bool is_allocator(const struct chains *chains, const struct function *f, const char *name,
			 const char *library)
{
	const char *module = chains_module_name(chains, f->module);

	return f->kind == FUNCTION_NAMED && !f->ours && is_called(f, name) &&
	       (!library || (module && !strcmp(module, library)));
}

/* Where samples were in it, too, it is one function with them. */
static uint32_t find_allocator(const struct work *w, enum profile_allocator allocator)
{
	const struct chains *chains = w->chains;

	for (uint32_t id = 0; id < chains->nr_functions; id++)
		if (is_allocator(chains, &chains->functions[id], profile_allocator_name(allocator),
				 w->heap->allocator))
			return id;
	return (uint32_t)chains->nr_functions + allocator;
}

/* --- rows --- */

static void fill(struct caller_row *row, const struct work *w, const struct edge *edge,
		 const char *no_cpu, const char *no_heap)
{
	double all = w->weight > 0 ? w->weight : 1;
	const struct amounts *total = &edge->total;

	*row = (struct caller_row){
		.self = figure_or_absent(no_cpu, edge->self.weight / all),
		.total = figure_or_absent(no_cpu, total->weight / all),
		.samples = figure_or_absent(no_cpu, (double)edge->self.samples),
		.at_peak_bytes = figure_or_absent(no_heap, (double)total->at_peak_bytes),
		.allocations = figure_or_absent(no_heap, (double)total->allocations),
		.reallocations = figure_or_absent(no_heap, (double)total->reallocations),
		.allocated_bytes = figure_or_absent(no_heap, (double)total->allocated_bytes),
		.calls = figure_or_absent(no_heap,
					  (double)(total->allocations + total->reallocations)),
	};
}

static void name(const struct work *w, uint32_t id, const char **function, const char **module)
{
	const struct chains *chains = w->chains;

	if (id == PROFILE_NONE)
		return;
	if (id >= chains->nr_functions) {
		*function =
			profile_allocator_name((enum profile_allocator)(id - chains->nr_functions));
		return;
	}
	*function = chains->functions[id].name;
	*module = chains_module_name(chains, chains->functions[id].module);
}

static int compare_figures(struct figure a, struct figure b)
{
	return a.value < b.value ? 1 : a.value > b.value ? -1 : 0;
}

static int by_total(const void *a, const void *b)
{
	const struct caller_row *r = *(const struct caller_row *const *)a;
	const struct caller_row *s = *(const struct caller_row *const *)b;
	int order = compare_figures(r->total, s->total);

	order = order ?: compare_figures(r->self, s->self);
	order = order ?: compare_figures(r->allocated_bytes, s->allocated_bytes);
	order = order ?: compare_figures(r->calls, s->calls);
	return order ?: r < s ? -1 : 1;
}

static bool is_function(const struct work *w, uint32_t id)
{
	return id >= w->chains->nr_functions || w->chains->functions[id].kind != FUNCTION_MISSING;
}

static void list(struct callers *callers, const struct work *w, const char *no_cpu,
		 const char *no_heap)
{
	callers->storage = xcalloc(w->edges.nr + 1, sizeof(callers->storage[0]));
	vec_each(&w->edges, edge)
	{
		struct caller_row *row = &callers->storage[callers->rows.nr];

		if (!is_function(w, edge->function))
			continue;
		fill(row, w, edge, no_cpu, no_heap);
		name(w, edge->function, &row->name, &row->module);
		name(w, edge->caller, &row->caller, &row->caller_module);
		vec_push(&callers->rows, row);
	}
	if (callers->rows.nr)
		qsort(callers->rows.at, callers->rows.nr, sizeof(callers->rows.at[0]), by_total);
}

void callers_analyze(struct callers *callers, const struct chains *chains,
		     const struct selection *selection, const struct cpu *cpu,
		     const struct heap *heap, struct intern *texts)
{
	const char *no_cpu = cpu->sampled ? NULL : cpu->reason ?: "nothing was sampled";
	const char *no_heap = heap->tracked && heap->followed ? NULL : heap->reason ?: "not known";
	struct work w = {
		.profile = chains->profile, .chains = chains, .selection = selection, .heap = heap
	};

	*callers = (struct callers){ .reason = reasons_of_sides(texts, no_cpu, no_heap) };
	callers->rows.absent = no_cpu && no_heap ? callers->reason : NULL;
	for (int i = 0; i < PROFILE_NR_ALLOCATORS; i++)
		w.allocators[i] = find_allocator(&w, (enum profile_allocator)i);
	if (!no_cpu)
		add_totals(&w);
	if (!no_heap)
		add_sites(&w);
	list(callers, &w, no_cpu, no_heap);
	map_release(&w.index);
	vec_free(&w.edges);
}

void callers_release(struct callers *callers)
{
	free(callers->storage);
	free(callers->rows.at);
	*callers = (struct callers){ 0 };
}

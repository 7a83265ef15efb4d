/* SPDX-License-Identifier: MIT */
#include "report/analyze/module_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "report/analyze/reasons.h"

struct use {
	double self, total;
	uint64_t samples, allocations, allocated_bytes;
	uint64_t addresses, unnamed;
	uint64_t stack; /* the last one that was counted, so that each counts once */
};

struct work {
	const struct profile *profile;
	const struct chains *chains;
	const struct selection *selection;
	struct use *uses; /* by module */
	uint64_t nr_stacks;
	double weight;
};

/* Of the address that the stack ends at; NULL for frames that are not there. */
static struct use *use_at(const struct work *w, uint32_t stack)
{
	const struct profile_address *address =
		&w->profile->addresses[w->profile->stacks[stack].address];

	return address->kind == PROFILE_ADDRESS_CODE ? &w->uses[address->module] : NULL;
}

/* Of the next module on the stack that was not met on it before; NULL: there is none. */
static struct use *next_use(const struct work *w, uint32_t *stack)
{
	while (*stack != PROFILE_NONE) {
		struct use *use = use_at(w, *stack);

		*stack = w->profile->stacks[*stack].parent;
		if (use && use->stack != w->nr_stacks) {
			use->stack = w->nr_stacks;
			return use;
		}
	}
	return NULL;
}

static void add_total(struct work *w, const struct profile_total *total)
{
	struct use *use = use_at(w, total->stack);
	uint32_t stack = total->stack;
	double weight = (double)total->weight;

	w->nr_stacks++;
	w->weight += weight;
	if (use) {
		use->self += weight;
		use->samples += total->samples;
	}
	while ((use = next_use(w, &stack)))
		use->total += weight;
}

static void add_totals(struct work *w)
{
	for (size_t i = 0; i < w->selection->nr_totals; i++) {
		const struct profile_total *total = &w->selection->totals[i];

		if (total->event == 0 && w->selection->threads[total->thread] &&
		    !profile_is_overhead(w->profile, total->stack))
			add_total(w, total);
	}
}

static void add_sites(struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_heap_sites; i++) {
		const struct profile_heap_site *site = &w->profile->heap_sites[i];
		uint32_t stack = site->stack;
		struct use *use;

		if (!w->selection->processes[site->process])
			continue;
		w->nr_stacks++;
		while ((use = next_use(w, &stack))) {
			use->allocations += site->allocations;
			use->allocated_bytes += site->allocated_bytes;
		}
	}
}

static void count_addresses(struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_addresses; i++) {
		const struct profile_address *address = &w->profile->addresses[i];
		const struct frame *frame = &w->chains->frames[w->chains->first[i]];

		if (address->kind != PROFILE_ADDRESS_CODE)
			continue;
		w->uses[address->module].addresses++;
		w->uses[address->module].unnamed +=
			w->chains->functions[frame->function].kind == FUNCTION_UNNAMED;
	}
}

static void fill(struct module_row *row, const struct work *w, const struct profile_module *module,
		 const char *no_cpu, const char *no_heap)
{
	const struct use *use = &w->uses[module->id];
	double all = w->weight > 0 ? w->weight : 1;

	*row = (struct module_row){
		.name = module->name,
		.path = module->path,
		.build_id = module->build_id,
		.self = figure_or_absent(no_cpu, use->self / all),
		.total = figure_or_absent(no_cpu, use->total / all),
		.samples = figure_or_absent(no_cpu, (double)use->samples),
		.allocations = figure_or_absent(no_heap, (double)use->allocations),
		.allocated_bytes = figure_or_absent(no_heap, (double)use->allocated_bytes),
		.addresses = use->addresses,
		.unnamed = use->unnamed,
		.names = profile_debug_name(module->debug),
		.debug_path = module->debug_path,
		.reason = module->reason,
	};
}

static int by_use(const void *a, const void *b)
{
	const struct module_row *m = *(const struct module_row *const *)a;
	const struct module_row *n = *(const struct module_row *const *)b;

	if (m->self.value != n->self.value)
		return m->self.value < n->self.value ? 1 : -1;
	if (m->allocations.value != n->allocations.value)
		return m->allocations.value < n->allocations.value ? 1 : -1;
	return m < n ? -1 : m > n;
}

static void list(struct module_table *table, const struct work *w, const char *no_cpu,
		 const char *no_heap)
{
	table->storage = xcalloc(w->profile->nr_modules + 1, sizeof(table->storage[0]));
	for (size_t i = 0; i < w->profile->nr_modules; i++) {
		const struct profile_module *module = &w->profile->modules[i];
		struct module_row *row = &table->storage[table->rows.nr];

		if (module->kind == PROFILE_MODULE_SELF ||
		    !(w->uses[i].total > 0 || w->uses[i].allocations))
			continue;
		fill(row, w, module, no_cpu, no_heap);
		vec_push(&table->rows, row);
	}
	if (table->rows.nr)
		qsort(table->rows.at, table->rows.nr, sizeof(table->rows.at[0]), by_use);
}

void module_table_analyze(struct module_table *table, const struct chains *chains,
			  const struct selection *selection, const struct cpu *cpu,
			  const struct heap *heap, struct intern *texts)
{
	const char *no_cpu = cpu->sampled ? NULL : cpu->reason ?: "nothing was sampled";
	const char *no_heap = heap->tracked && heap->followed ? NULL : heap->reason ?: "not known";
	struct work w = { .profile = chains->profile,
			  .chains = chains,
			  .selection = selection,
			  .uses = xcalloc(chains->profile->nr_modules + 1, sizeof(w.uses[0])) };

	*table = (struct module_table){ .reason = reasons_of_sides(texts, no_cpu, no_heap) };
	table->rows.absent = no_cpu && no_heap ? table->reason : NULL;
	if (!no_cpu)
		add_totals(&w);
	if (!no_heap)
		add_sites(&w);
	count_addresses(&w);
	list(table, &w, no_cpu, no_heap);
	free(w.uses);
}

void module_table_release(struct module_table *table)
{
	free(table->storage);
	free(table->rows.at);
	*table = (struct module_table){ 0 };
}

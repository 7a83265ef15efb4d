/* SPDX-License-Identifier: MIT */
#include "report/view/view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "report/view/names.h"
#include "report/view/sections.h"
#include "report/view/stacks.h"

#define FEW_FUNCTIONS 10
#define FEW_SITES 5
#define FEW_BUSY 2
#define SCREENFUL 40
#define SCREENFUL_OF_STACKS 10
#define BRIEF_FUNCTIONS 3
#define BRIEF_SITES 2

void section_more(struct page *page, const struct rows *rows, size_t shown)
{
	size_t more = rows->nr - shown + rows->left_out;

	page_begin(page);
	if (more)
		page_phrase(page, "and %s more: --limit all", units_count(more).text);
	if (rows->too_small)
		page_phrase(page, "%s%s below --min", more ? "" : "and ",
			    units_count(rows->too_small).text);
	page_end(page);
}

void section_none(struct page *page, const char *what, const struct rows *rows)
{
	if (rows->nr || rows->too_small)
		return;
	page_begin(page);
	page_phrase(page, "no %s are known", what);
	page_words(page, rows->absent ?: "none was seen");
	page_end(page);
}

/* --- summary --- */

static void print_sites(struct page *page, const struct rows *sites)
{
	static const struct column columns[] = {
		{ "at_peak_bytes", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "calls", COLUMN_NUMBER, false },
		{ "temporary_share", COLUMN_NUMBER, false },
		{ "stack", COLUMN_STACK, false },
		{ 0 },
	};

	page_table(page, sites, &site_fields, columns, sites->nr);
}

static bool has_row(const struct rows *rows, const void *row)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->at[i] == row)
			return true;
	return false;
}

/* Of one figure of the sites: those that have most of it, and no less than a thousandth. */
struct top {
	const struct rows *sites;
	size_t offset; /* of a uint64_t in struct heap_site */
	double whole;
	size_t few;
};

static void add_top(struct rows *rows, const struct analysis *a, const struct top *top)
{
	size_t added = 0;

	for (size_t i = 0; i < top->sites->nr && added < top->few; i++) {
		const char *site = top->sites->at[i];
		double part = (double)*(const uint64_t *)(site + top->offset);

		if (part < top->whole / 1000 || has_row(rows, site) ||
		    !has_row(&a->heap.sites, site))
			continue;
		vec_push(rows, site);
		added++;
	}
}

/* A line each. */
static void print_sites_brief(struct page *page, const struct rows *sites)
{
	for (size_t i = 0; i < sites->nr; i++) {
		const struct heap_site *site = sites->at[i];
		struct units_text bytes = units_size(site->at_peak_bytes);
		size_t used = PAGE_INDENT + strlen(bytes.text) + 1;
		char *stack = stack_fit(&site->stack,
					page->style.width > used ? page->style.width - used : 1);

		page_label(page, NULL);
		page_phrase(page, "%s %s", bytes.text, stack);
		page_end(page);
		free(stack);
	}
}

/* The sites that matter for the peak, then those that allocate most bytes, and most often. */
static void print_top_sites(struct page *page, const struct analysis *a, size_t few, size_t busy,
			    void (*print)(struct page *page, const struct rows *sites))
{
	const struct heap *heap = &a->heap;
	struct rows rows = { 0 };

	if (page->style.limit || page->style.sort) {
		for (size_t i = 0; i < page_limit(page, heap->sites.nr, few); i++)
			vec_push(&rows, heap->sites.at[i]);
	} else {
		double peak = heap->peak_bytes.absent ? 0 : heap->peak_bytes.value;
		const struct top tops[] = {
			{ &heap->sites, offsetof(struct heap_site, at_peak_bytes), peak, few },
			{ &a->large_sites, offsetof(struct heap_site, allocated_bytes),
			  (double)heap->allocated_bytes, busy },
			{ &a->busy_sites, offsetof(struct heap_site, calls),
			  (double)(heap->allocations + heap->reallocations), busy },
		};

		for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
			add_top(&rows, a, &tops[i]);
	}
	print(page, &rows);
	free(rows.at);
}

/* " FILE" as a shell wants it, if it is not the default one: whole, to be copied from there. */
static char *file_operand(const struct page *page)
{
	char *quoted, *operand;

	if (!page->style.file)
		return xstrdup("");
	quoted = command_fit(&page->style.file, 1, SIZE_MAX);
	operand = xasprintf(" %s", quoted);
	free(quoted);
	return operand;
}

static void print_pointers(struct page *page)
{
	static const char label[] = "more: cprof report ";
	const struct view *view = views + 1; /* the first is the summary itself */
	char *operand = file_operand(page);

	page_begin(page);
	page_phrase(page, "%s%s", label, view->name);
	page->indent = sizeof(label) - 1;
	while ((++view)->name) {
		page->reserved = view[1].name ? 0 : text_width(operand);
		page_phrase(page, "%s", view->name);
	}
	page_tinted(page, TINT_NONE, operand);
	page_end(page);
	free(operand);
}

/* By self, what has none says nothing. */
static size_t few_functions(const struct page *page, const struct analysis *a)
{
	size_t nr = a->cpu.functions.nr;

	return page->style.sort || nr < a->cpu.nr_sampled ? nr : a->cpu.nr_sampled;
}

static void print_summary(struct page *page, const struct analysis *a)
{
	section_header(page, a);
	page_blank(page);
	section_cpu(page, &a->cpu);
	section_functions(page, &a->cpu, page_limit(page, few_functions(page, a), FEW_FUNCTIONS));
	page_blank(page);
	section_heap(page, &a->heap);
	if (a->memory.seen)
		section_memory(page, &a->memory);
	print_top_sites(page, a, FEW_SITES, FEW_BUSY, print_sites);
	section_processes(page, a);
	page_blank(page);
	section_quality(page, a);
	print_pointers(page);
}

static void print_brief(struct page *page, const struct analysis *a)
{
	char *operand = file_operand(page);

	section_header(page, a);
	section_cpu_brief(page, &a->cpu);
	section_functions_brief(page, &a->cpu,
				page_limit(page, few_functions(page, a), BRIEF_FUNCTIONS));
	section_heap_brief(page, &a->heap);
	print_top_sites(page, a, BRIEF_SITES, 0, print_sites_brief);
	section_quality(page, a);
	page_begin(page);
	page_phrase(page, "more: cprof report");
	page_tinted(page, TINT_NONE, operand);
	page_end(page);
	free(operand);
}

/* --- one side --- */

/* A page that is one table, or one with something above it. */
static void print_table(struct page *page, const struct analysis *a, const struct rows *rows,
			void (*section)(struct page *page, const struct analysis *a, size_t nr))
{
	size_t shown = page_limit(page, rows->nr, SCREENFUL);

	section_header(page, a);
	page_blank(page);
	section(page, a, shown);
	section_more(page, rows, shown);
	page_blank(page);
	section_quality(page, a);
}

static void cpu_and_functions(struct page *page, const struct analysis *a, size_t nr)
{
	section_cpu(page, &a->cpu);
	section_functions(page, &a->cpu, nr);
}

static void print_functions(struct page *page, const struct analysis *a)
{
	print_table(page, a, &a->cpu.functions, cpu_and_functions);
}

static void print_callers(struct page *page, const struct analysis *a)
{
	print_table(page, a, &a->callers.rows, section_callers);
}

static void print_threads(struct page *page, const struct analysis *a)
{
	print_table(page, a, &a->threads.rows, section_threads);
}

static void print_modules(struct page *page, const struct analysis *a)
{
	print_table(page, a, &a->modules.rows, section_modules);
}

static void print_stacks(struct page *page, const struct analysis *a, const struct rows *sites,
			 void (*print)(struct page *page, const struct rows *sites, size_t nr))
{
	size_t shown = page_limit(page, sites->nr, SCREENFUL_OF_STACKS);

	section_header(page, a);
	page_blank(page);
	section_heap(page, &a->heap);
	if (sites == &a->heap.sites)
		section_heap_classes(page, &a->heap);
	print(page, sites, shown);
	if (shown < sites->nr + sites->left_out + sites->too_small)
		page_blank(page);
	section_more(page, sites, shown);
	page_blank(page);
	section_quality(page, a);
}

static void print_heap(struct page *page, const struct analysis *a)
{
	print_stacks(page, a, &a->heap.sites, stacks_at_peak);
}

static void print_leaks(struct page *page, const struct analysis *a)
{
	print_stacks(page, a, &a->leaks, stacks_live);
}

static void print_timeline(struct page *page, const struct analysis *a)
{
	const struct rows *slices = &a->heap.timeline.rows;

	section_header(page, a);
	page_blank(page);
	section_timeline(page, a);
	if (page->style.limit || page->style.sort) {
		page_blank(page);
		section_slices(page, slices, page_limit(page, slices->nr, SCREENFUL));
	}
	page_blank(page);
	section_quality(page, a);
}

static void print_quality(struct page *page, const struct analysis *a)
{
	section_header(page, a);
	page_blank(page);
	section_ledger(page, a);
}

/* --- the list --- */

#define ROWS(member) offsetof(struct analysis, member)

const struct view views[] = {
	{ "summary",
	  &analysis_fields,
	  print_summary,
	  { { ROWS(cpu.functions), &function_fields, "self" },
	    { ROWS(heap.sites), &site_fields, "at_peak_bytes" } } },
	{ "functions",
	  &functions_view_fields,
	  print_functions,
	  { { ROWS(cpu.functions), &function_fields, "self" } } },
	{ "callers",
	  &callers_view_fields,
	  print_callers,
	  { { ROWS(callers.rows), &caller_fields, "total" } } },
	{ "modules",
	  &modules_view_fields,
	  print_modules,
	  { { ROWS(modules.rows), &module_fields, "self" } } },
	{ "threads",
	  &threads_view_fields,
	  print_threads,
	  { { ROWS(threads.rows), &thread_fields, "share" } } },
	{ "heap",
	  &heap_view_fields,
	  print_heap,
	  { { ROWS(heap.sites), &site_fields, "at_peak_bytes" } } },
	{ "leaks",
	  &leaks_view_fields,
	  print_leaks,
	  { { ROWS(leaks), &site_fields, "leaked_bytes" } } },
	{ "timeline",
	  &timeline_view_fields,
	  print_timeline,
	  { { ROWS(heap.timeline.rows), &slice_fields, NULL } } },
	{ "quality",
	  &quality_view_fields,
	  print_quality,
	  { { ROWS(quality), &quality_fields, NULL } } },
	{ 0 },
};

const struct view brief_view = { "brief", &analysis_fields, print_brief, { { 0 } } };

const struct view *view_find(const char *name)
{
	for (const struct view *view = views; view->name; view++)
		if (!strcmp(view->name, name))
			return view;
	return NULL;
}

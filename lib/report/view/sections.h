/* SPDX-License-Identifier: MIT */
/*
 * sections - the parts that pages are put together from.
 */
#ifndef REPORT_VIEW_SECTIONS_H
#define REPORT_VIEW_SECTIONS_H

#include "report/view/page.h"

/* What was measured and how, and how it ended. */
void section_header(struct page *page, const struct analysis *analysis);

/* "1.19 s on CPU", if that is known; "shares are of page-faults", if they are not of time. */
void phrase_seconds(struct page *page, const struct cpu *cpu);
void phrase_shares(struct page *page, const struct cpu *cpu);

/* The figures of the two sides: two or three lines each. */
void section_cpu(struct page *page, const struct cpu *cpu);
/* In as few lines as it takes. */
void section_cpu_brief(struct page *page, const struct cpu *cpu);
void section_heap(struct page *page, const struct heap *heap);
/* How large the blocks were, and how long they lived. */
void section_heap_classes(struct page *page, const struct heap *heap);
/* Without churn. */
void section_heap_brief(struct page *page, const struct heap *heap);

/* What memory the kernel counted. */
void section_memory(struct page *page, const struct memory *memory);

/* The course of everything: a line of bars each. */
void section_timeline(struct page *page, const struct analysis *analysis);
/* The same as a table. */
void section_slices(struct page *page, const struct rows *slices, size_t nr);
void section_threads(struct page *page, const struct analysis *analysis, size_t nr);
/* And what would give the shown ones better names. */
void section_modules(struct page *page, const struct analysis *analysis, size_t nr);

void section_callers(struct page *page, const struct analysis *analysis, size_t nr);
void section_functions(struct page *page, const struct cpu *cpu, size_t nr);
/* On a line. */
void section_functions_brief(struct page *page, const struct cpu *cpu, size_t nr);
/* Nothing for a single process. */
void section_processes(struct page *page, const struct analysis *analysis);

/* What cprof cost, and the caveats. */
void section_quality(struct page *page, const struct analysis *analysis);

/* All caveats, and what they mean. */
void section_ledger(struct page *page, const struct analysis *analysis);

/* Instead of a table without rows: why it has none.  what: "threads". */
void section_none(struct page *page, const char *what, const struct rows *rows);

/* "and 312 more: --limit all · 7 below --min"; nothing if all were shown. */
void section_more(struct page *page, const struct rows *rows, size_t shown);

#endif

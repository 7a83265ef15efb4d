/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "report/view/sections.h"
#include "report/view/sparkline.h"

/* One figure of each slice, in the order of time. */
struct line {
	double *numbers;
	size_t nr, nr_known;
	size_t highest; /* the last of equal ones */
	double sum;
};

static struct line line_of(const struct history *history, size_t offset)
{
	struct line line = { .numbers = xcalloc(history->nr + 1, sizeof(double)),
			     .nr = history->nr };

	for (size_t i = 0; i < history->nr; i++) {
		const struct figure *figure =
			(const void *)((const char *)&history->slices[i] + offset);

		line.numbers[i] = figure->absent ? NAN : figure->value;
		if (figure->absent)
			continue;
		if (!line.nr_known++ || figure->value >= line.numbers[line.highest])
			line.highest = i;
		line.sum += figure->value;
	}
	return line;
}

static struct sparkline_scale scale_of(const struct page *page, size_t nr)
{
	return (struct sparkline_scale){ .nr = nr, .width = page->style.width - PAGE_INDENT };
}

static void print_line(struct page *page, const struct line *line, enum sparkline_of of,
		       enum tint tint)
{
	struct sparkline_scale scale = scale_of(page, line->nr);
	char *bars = sparkline(line->numbers, &scale, of);

	page_label(page, NULL);
	page_tinted(page, tint, bars);
	page_end(page);
	free(bars);
}

static struct units_text time_of(const struct history *history, size_t slice)
{
	return units_seconds(history->slices[slice].t_s);
}

/* Under the line, where the slice is. */
static void mark(struct page *page, const struct line *line, size_t slice, const char *text)
{
	struct sparkline_scale scale = scale_of(page, line->nr);
	int column = (int)sparkline_column(&scale, slice), length = (int)strlen(text);
	char *marked;

	if (column + 2 + length <= (int)scale.width)
		marked = xasprintf("%*s^ %s", column, "", text);
	else
		marked = xasprintf("%*s ^", column - 1, text);
	page_label(page, NULL);
	page_tinted(page, TINT_DIM, marked);
	page_end(page);
	free(marked);
}

/* --- the lines --------------------------------------------------------------------------------*/

static size_t slice_at(const struct history *history, double time_s)
{
	double place = (time_s - history->slices[0].t_s) / history->slices[0].duration_s;

	if (!(place > 0))
		return 0;
	return place < (double)history->nr ? (size_t)place : history->nr - 1;
}

static void print_heap(struct page *page, const struct heap *heap)
{
	const struct history *history = &heap->timeline;
	struct line line = line_of(history, offsetof(struct time_slice, max_live_bytes));

	section_heap_brief(page, heap);
	if (line.nr_known) {
		print_line(page, &line, SPARKLINE_MOST, TINT_NONE);
		if (heap->tracked && !heap->peak_time_s.absent)
			mark(page, &line, slice_at(history, heap->peak_time_s.value), "peak");
	}
	free(line.numbers);
}

static void print_allocations(struct page *page, const struct history *history)
{
	struct line count = line_of(history, offsetof(struct time_slice, allocations));
	struct line bytes = line_of(history, offsetof(struct time_slice, allocated_bytes));
	double slice_s = history->slices[0].duration_s;

	if (count.nr_known && count.sum > 0) {
		page_label(page, "ALLOC");
		page_phrase(page, "most %s/s, at %s",
			    units_short(count.numbers[count.highest] / slice_s).text,
			    time_of(history, count.highest).text);
		page_phrase(page, "most bytes %s/s, at %s",
			    units_size((uint64_t)(bytes.numbers[bytes.highest] / slice_s)).text,
			    time_of(history, bytes.highest).text);
		page_end(page);
		print_line(page, &count, SPARKLINE_MEAN, TINT_NONE);
	}
	free(count.numbers);
	free(bytes.numbers);
}

static void print_rss(struct page *page, const struct history *history, const struct memory *memory)
{
	struct line line = line_of(history, offsetof(struct time_slice, rss_bytes));

	section_memory(page, memory);
	if (line.nr_known)
		print_line(page, &line, SPARKLINE_MOST, TINT_NONE);
	free(line.numbers);
}

static void print_cpu(struct page *page, const struct history *history, const struct cpu *cpu)
{
	struct line busy = line_of(history, offsetof(struct time_slice, cpu_s));
	struct line samples = line_of(history, offsetof(struct time_slice, samples));

	page_label(page, "CPU");
	if (!samples.nr_known) {
		page_words(page, cpu->reason ?: "not sampled");
		page_end(page);
	} else {
		phrase_seconds(page, cpu);
		page_phrase(page, "%s samples", units_count((uint64_t)samples.sum).text);
		page_end(page);
		print_line(page, busy.nr_known ? &busy : &samples, SPARKLINE_MEAN, TINT_NONE);
	}
	free(busy.numbers);
	free(samples.numbers);
}

/* From when to when: under the ends of the lines. */
static void print_axis(struct page *page, const struct history *history)
{
	const struct time_slice *first = &history->slices[0], *last = first + history->nr - 1;
	struct sparkline_scale scale = scale_of(page, history->nr);
	struct units_text from =
		first->t_s > 0 ? units_seconds(first->t_s) : (struct units_text){ "0 s" };
	struct units_text to = units_seconds(last->t_s + last->duration_s);
	int room = (int)sparkline_columns(&scale) - (int)strlen(from.text);
	char *axis =
		xasprintf("%s%*s", from.text, room > (int)strlen(to.text) + 1 ? room : 0, to.text);

	page_label(page, NULL);
	page_tinted(page, TINT_DIM, axis);
	page_end(page);
	free(axis);
}

void section_timeline(struct page *page, const struct analysis *a)
{
	const struct history *history = &a->heap.timeline;

	print_heap(page, &a->heap);
	print_allocations(page, history);
	print_rss(page, history, &a->memory);
	print_cpu(page, history, &a->cpu);
	print_axis(page, history);
}

void section_slices(struct page *page, const struct rows *slices, size_t nr)
{
	static const struct column columns[] = {
		{ "t_s", COLUMN_NUMBER, false },
		{ "max_live_bytes", COLUMN_NUMBER, false },
		{ "live_bytes", COLUMN_NUMBER, false },
		{ "allocations", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "rss_bytes", COLUMN_NUMBER, false },
		{ "samples", COLUMN_NUMBER, false },
		{ "cpu_s", COLUMN_NUMBER, false },
		{ 0 },
	};

	page_table(page, slices, &slice_fields, columns, nr);
}

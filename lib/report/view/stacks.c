/* SPDX-License-Identifier: MIT */
#include "report/view/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/estimate.h"
#include "report/view/histograms.h"
#include "report/view/names.h"

#define INDENT 4
/* Of deeper stacks the middle is left out. */
#define INNERMOST 18
#define OUTERMOST 6
/* Frames that one round of a recursion may have. */
#define LONGEST_ROUND 16

/* "table.cc:31", or "" where it is not known. */
static char *location(const struct heap_place *place)
{
	char *clean, *made;

	if (!place->file)
		return xstrdup("");
	clean = text_clean(path_name(place->file));
	made = place->line ? xasprintf("%s:%u", clean, place->line) : xstrdup(clean);
	free(clean);
	return made;
}

static void print_place(struct page *page, const struct heap_place *place)
{
	size_t width = page->style.width - INDENT;
	char *where = location(place), *fitting = text_clip(where, width / 2);
	size_t used = text_width(fitting) + 2 + (place->inlined ? strlen(" (inlined)") : 0);
	char *name = name_fit(place->name, width > used ? width - used : 1);

	fprintf(page->out, "%*s", INDENT, "");
	page_tinted(page, TINT_NONE, name);
	page_tinted(page, TINT_DIM, place->inlined ? " (inlined)" : "");
	if (*fitting) {
		fputs("  ", page->out);
		page_tinted(page, TINT_DIM, fitting);
	}
	putc('\n', page->out);
	free(where);
	free(fitting);
	free(name);
}

/* A frame, or where place is NULL: that the `round` frames before come `times` more. */
struct line {
	const struct heap_place *place;
	size_t round, times;
};

/* How often the frames from inner on, inwards to outwards `round` of them, come again at once. */
static size_t times_again(const struct rows *frames, size_t inner, size_t round)
{
	size_t same = 0;

	while (same + round < inner &&
	       frames->at[inner - 1 - same] == frames->at[inner - 1 - same - round])
		same++;
	return same / round;
}

/* The shortest round that comes at least three times from inner on; else a single frame. */
static struct line recursion_at(const struct rows *frames, size_t inner)
{
	struct line line = { 0 };

	for (line.round = 1; line.round <= LONGEST_ROUND; line.round++) {
		line.times = times_again(frames, inner, line.round);
		if (line.times >= 2)
			return line;
	}
	return (struct line){ .round = 1 };
}

/* Into lines, which has room for all frames; how many these are. */
static size_t fold(struct line *lines, const struct rows *frames)
{
	size_t nr = 0;

	for (size_t inner = frames->nr - 1; inner;) {
		struct line again = recursion_at(frames, inner);

		for (size_t i = 0; i < again.round; i++)
			lines[nr++] = (struct line){ .place = frames->at[--inner] };
		if (again.times)
			lines[nr++] = again;
		inner -= again.times * again.round;
	}
	return nr;
}

static void print_line(struct page *page, const struct line *line)
{
	if (line->place)
		print_place(page, line->place);
	else if (line->round == 1)
		fprintf(page->out, "%*s" ELLIPSIS " %zu times more\n", INDENT, "", line->times);
	else
		fprintf(page->out, "%*s" ELLIPSIS " %zu times more, these %zu frames\n", INDENT, "",
			line->times, line->round);
}

/* That the lines from i up to end stand for. */
static size_t count_frames(const struct line *lines, size_t i, size_t end)
{
	size_t nr = 0;

	for (; i < end; i++)
		nr += lines[i].place ? 1 : lines[i].round * lines[i].times;
	return nr;
}

/* Innermost first, without the allocation function, which the line above names. */
static void print_stack(struct page *page, const struct rows *frames)
{
	struct line *lines = xcalloc(frames->nr, sizeof(lines[0]));
	size_t nr = fold(lines, frames);

	for (size_t i = 0; i < nr; i++) {
		if (nr > INNERMOST + OUTERMOST + 1 && i == INNERMOST) {
			i = nr - OUTERMOST;
			while (i < nr && !lines[i].place)
				i++;
			fprintf(page->out, "%*s" ELLIPSIS " %zu frames\n", INDENT, "",
				count_frames(lines, INNERMOST, i));
		}
		print_line(page, &lines[i]);
	}
	free(lines);
	page_begin(page);
}

static void say_calls(struct page *page, const char *before, uint64_t nr, const char *what)
{
	page_phrase(page, "%s%s %s%s", before, units_count(nr).text, what, nr == 1 ? "" : "s");
}

static void say_use(struct page *page, const struct heap_site *site)
{
	char *function = xasprintf("%s: %s", site->stack.at[site->stack.nr - 1],
				   site->error.allocations.absent ? "" : "about ");
	bool only_reallocates = site->reallocations && !site->allocations;

	if (!only_reallocates)
		say_calls(page, function, site->allocations, "allocation");
	if (site->reallocations)
		say_calls(page, only_reallocates ? function : "", site->reallocations,
			  "reallocation");
	page_phrase(page, "%s%s", units_size(site->allocated_bytes).text,
		    estimate_error(&site->error.allocated_bytes).text);
	free(function);
}

static void say_lifetime(struct page *page, const struct heap_site *site)
{
	if (site->temporary)
		page_phrase(page, "temporary %s", units_percent(site->temporary_share).text);
	if (!site->mean_lifetime_s.absent)
		page_phrase(page, "lived %s on average",
			    units_seconds(site->mean_lifetime_s.value).text);
	if (site->moved.value > 0)
		page_phrase(page, "moved %s, %s copied",
			    units_count((uint64_t)site->moved.value).text,
			    units_size((uint64_t)site->copied_bytes.value).text);
}

static void say_bytes(struct page *page, uint64_t bytes, uint64_t blocks,
		      const struct figure *error, const char *what)
{
	char *phrase =
		xasprintf("%s%s %s", units_size(bytes).text, estimate_error(error).text, what);
	char *number =
		xasprintf(" in %s block%s", units_count(blocks).text, blocks == 1 ? "" : "s");

	page_begin(page);
	page->indent = INDENT;
	page_tinted(page, TINT_BOLD, phrase);
	page_tinted(page, TINT_NONE, number);
	page->nr_phrases = 1;
	free(phrase);
	free(number);
}

/* A line with details of a site; one class says no more than the sums do. */
static void say_histogram(struct page *page, const char *before, const struct rows *classes,
			  void (*say)(struct page *page, const char *before,
				      const struct rows *classes))
{
	if (classes->nr < 2)
		return;
	page_begin(page);
	page->indent = INDENT;
	page_tinted(page, TINT_NONE, "    ");
	say(page, before, classes);
	page_end(page);
}

static void say_further(struct page *page, const struct heap_site *site)
{
	if (site->at_peak_slack_bytes.value > 0)
		page_phrase(page, "slack %s",
			    units_size((uint64_t)site->at_peak_slack_bytes.value).text);
	if (site->page_faults.value > 0)
		page_phrase(page, "%s page fault%s",
			    units_count((uint64_t)site->page_faults.value).text,
			    site->page_faults.value > 1 ? "s" : "");
	if (site->cross_thread_frees)
		page_phrase(page, "%s freed by other threads",
			    units_percent(site->cross_thread_share).text);
}

void stacks_at_peak(struct page *page, const struct rows *sites, size_t nr)
{
	for (size_t i = 0; i < nr && i < sites->nr; i++) {
		const struct heap_site *site = sites->at[i];

		page_blank(page);
		say_bytes(page, site->at_peak_bytes, site->at_peak_blocks,
			  &site->error.at_peak_bytes, "at peak");
		say_use(page, site);
		say_lifetime(page, site);
		say_further(page, site);
		page_end(page);
		say_histogram(page, "sizes ", &site->sizes, histograms_sizes);
		say_histogram(page, "lived ", &site->lifetimes, histograms_ages);
		print_stack(page, &site->frames);
	}
}

void stacks_live(struct page *page, const struct rows *sites, size_t nr)
{
	for (size_t i = 0; i < nr && i < sites->nr; i++) {
		const struct heap_site *site = sites->at[i];

		page_blank(page);
		say_bytes(page, site->leaked_bytes, site->leaked_blocks, &site->error.live_bytes,
			  "not freed");
		say_use(page, site);
		page_end(page);
		print_stack(page, &site->frames);
	}
}

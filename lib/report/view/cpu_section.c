/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/view/names.h"
#include "report/view/sections.h"

#define BRIEF_NAME 40 /* columns */

static const struct cpu_counter *counted(const struct cpu *cpu, const char *name)
{
	const struct cpu_counter *counter = cpu_counter(cpu, name);

	return counter && !counter->value.absent ? counter : NULL;
}

static void say_counter(struct page *page, const struct cpu *cpu, const char *name)
{
	const struct cpu_counter *counter = counted(cpu, name);

	if (counter)
		page_phrase(page, "%s %s", units_short(counter->value.value).text, name);
}

/* "branch misses 2.3 /1k instr (0.8 %)": of all branches, where those were counted. */
static void say_misses(struct page *page, const struct cpu *cpu, const char *what,
		       const struct figure *mpki, const char *name, const char *of)
{
	const struct cpu_counter *misses = counted(cpu, name), *all = counted(cpu, of);

	if (mpki->absent)
		return;
	if (misses && all && all->value.value > 0)
		page_phrase(page, "%s %s /1k instr (%s)", what, units_ratio(mpki->value).text,
			    units_percent(misses->value.value / all->value.value).text);
	else
		page_phrase(page, "%s %s /1k instr", what, units_ratio(mpki->value).text);
}

static void say_unsampled(struct page *page, const struct cpu *cpu)
{
	page_words(page, "not sampled");
	page_words(page, cpu->reason);
	page_end(page);
}

/* What was counted is the time in the kernel, too. */
static void say_user_only(struct page *page, const struct cpu *cpu)
{
	const struct figure *counted = &cpu->seconds, *sampled = &cpu->sampled_seconds;

	if (!sampled->absent && counted->value > sampled->value)
		page_phrase(page,
			    "%s of it sampled, not in the kernel (kernel.perf_event_paranoid)",
			    units_seconds(sampled->value).text);
	else
		page_phrase(page, "%swithout the kernel (kernel.perf_event_paranoid)",
			    sampled->absent ? "sampled " : "");
}

void phrase_seconds(struct page *page, const struct cpu *cpu)
{
	if (!cpu->seconds.absent)
		page_phrase(page, "%s on CPU%s", units_seconds(cpu->seconds.value).text,
			    cpu->seconds_with_overhead ? " (with cprof's part)" : "");
}

void phrase_shares(struct page *page, const struct cpu *cpu)
{
	if (cpu->sampled && !cpu->is_time)
		page_phrase(page, "shares are of %s", cpu->event);
}

static void say_totals(struct page *page, const struct cpu *cpu)
{
	phrase_seconds(page, cpu);
	say_counter(page, cpu, "cycles");
	say_counter(page, cpu, "instructions");
	if (!cpu->ipc.absent)
		page_phrase(page, "IPC %s", units_ratio(cpu->ipc.value).text);
	if (cpu->user_only)
		say_user_only(page, cpu);
	phrase_shares(page, cpu);
}

static void say_all_misses(struct page *page, const struct cpu *cpu)
{
	say_misses(page, cpu, "branch misses", &cpu->branch_mpki, "branch-misses", "branches");
	say_misses(page, cpu, "cache misses", &cpu->cache_mpki, "cache-misses", "cache-references");
}

/* Why there is no IPC, or what was sampled instead of what was asked for. */
static void say_reason(struct page *page, const struct cpu *cpu)
{
	if (!cpu->reason)
		return;
	page_label(page, NULL);
	page_words(page, cpu->reason);
	page_end(page);
}

void section_cpu(struct page *page, const struct cpu *cpu)
{
	page_label(page, "CPU");
	if (!cpu->sampled) {
		say_unsampled(page, cpu);
		return;
	}
	say_totals(page, cpu);
	page_end(page);
	if (!cpu->branch_mpki.absent || !cpu->cache_mpki.absent) {
		page_label(page, NULL);
		say_all_misses(page, cpu);
		page_end(page);
	}
	say_reason(page, cpu);
}

void section_cpu_brief(struct page *page, const struct cpu *cpu)
{
	page_label(page, "CPU");
	if (!cpu->sampled) {
		say_unsampled(page, cpu);
		return;
	}
	say_totals(page, cpu);
	say_all_misses(page, cpu);
	if (cpu->reason)
		page_words(page, cpu->reason);
	page_end(page);
}

/* "50.6 % Matrix::multiply (IPC 1.20)" */
static void say_function(struct page *page, const struct cpu_function *function)
{
	char *name = name_fit(function->name, BRIEF_NAME), ipc[48] = "";

	if (!function->ipc.absent)
		snprintf(ipc, sizeof(ipc), " (IPC %s)", units_ratio(function->ipc.value).text);
	page_phrase(page, "%s %s%s", units_percent(function->self).text, name, ipc);
	free(name);
}

void section_functions_brief(struct page *page, const struct cpu *cpu, size_t nr)
{
	page_label(page, NULL);
	for (size_t i = 0; i < nr; i++)
		say_function(page, cpu->functions.at[i]);
	page_end(page);
}

void section_functions(struct page *page, const struct cpu *cpu, size_t nr)
{
	static const struct column columns[] = {
		{ "rank", COLUMN_NUMBER, false },	{ "self", COLUMN_NUMBER, true },
		{ "error", COLUMN_NUMBER, false },	{ "total", COLUMN_NUMBER, false },
		{ "ipc", COLUMN_NUMBER, false },	{ "branch_mpki", COLUMN_NUMBER, false },
		{ "cache_mpki", COLUMN_NUMBER, false }, { "name", COLUMN_NAME, false },
		{ "module", COLUMN_WORD, false },	{ 0 },
	};

	/* Places are by self. */
	page_table(page, &cpu->functions, &function_fields,
		   page->style.sort && strcmp(page->style.sort, "self") != 0 ? columns + 1
									     : columns,
		   nr);
}

/* SPDX-License-Identifier: MIT */
#include "report/analyze/quality.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "report/analyze/unsampled.h"

#define MOST_DERIVED 9
#define MATERIAL_STALL 0.01   /* of the time of the run */
#define MATERIAL_UNNAMED 0.01 /* of the samples */

/* "1" of what happens to a recording once. */
static bool is_no_count(enum profile_quality_kind kind, uint64_t count)
{
	return count == 1 && (kind == PROFILE_SUBSTITUTED || kind == PROFILE_INTERRUPTED ||
			      kind == PROFILE_UNSAMPLED);
}

static struct figure share_of(const struct cpu *cpu, enum profile_quality_kind kind, uint64_t count,
			      const char *detail)
{
	uint64_t whole = 0;

	switch (kind) {
	case PROFILE_LOST:
		/* Lost records and heap events are no part of the samples. */
		if (detail && !strcmp(detail, PROFILE_LOST_SAMPLES) && count == cpu->lost)
			whole = cpu->samples + cpu->lost;
		break;
	case PROFILE_UNSAMPLED:
		if (!is_no_count(kind, count))
			whole = cpu->samples + cpu->overhead_samples + count;
		break;
	case PROFILE_TRUNCATED:
	case PROFILE_STITCHED:
	case PROFILE_NO_SYMBOL:
	case PROFILE_NO_DEBUG:
		whole = cpu->samples;
		break;
	default:
		break;
	}
	if (!whole || count > whole)
		return FIGURE_ABSENT("not a part of the samples");
	return FIGURE((double)count / (double)whole);
}

static struct quality_row *add(struct analysis *a, enum profile_quality_kind kind, uint64_t count,
			       const char *detail)
{
	struct quality_row *row = &a->quality_storage[a->quality.nr];

	*row = (struct quality_row){
		.kind = profile_quality_name(kind),
		.count = count,
		.detail = detail,
		.share = share_of(&a->cpu, kind, count, detail),
		.is_no_count = is_no_count(kind, count),
	};
	vec_push(&a->quality, row);
	return row;
}

/* As add(), unless there are no such cases or the recorder wrote of them. */
static void add_own(struct analysis *a, enum profile_quality_kind kind, uint64_t count,
		    const char *detail)
{
	if (count)
		add(a, kind, count, detail);
}

/* What the recorder counted of itself. */
static struct figure own_figure(const struct profile *profile, const char *detail, double unit)
{
	for (size_t i = 0; i < profile->nr_quality; i++) {
		const struct profile_quality *row = &profile->quality[i];

		if (row->kind == PROFILE_OVERHEAD && !strcmp(row->detail, detail))
			return FIGURE((double)row->count * unit);
	}
	return FIGURE_ABSENT("not known");
}

static bool has_kind(const struct profile *profile, enum profile_quality_kind kind)
{
	for (size_t i = 0; i < profile->nr_quality; i++)
		if (profile->quality[i].kind == kind)
			return true;
	return false;
}

static const char *keep(struct analysis *a, char *text)
{
	const char *kept = intern_text(&a->texts, intern_add(&a->texts, text));

	free(text);
	return kept;
}

static void add_unnamed(struct analysis *a)
{
	add_own(a, PROFILE_NO_SYMBOL, a->cpu.unnamed_samples,
		"samples in unnamed functions, all modules together");
}

static bool is_stall_material(const struct analysis *a)
{
	return !a->wall_s.absent && a->heap.stall_s > MATERIAL_STALL * a->wall_s.value;
}

/* Of all threads together. */
static const char *stall_text(struct analysis *a)
{
	return keep(a, xasprintf("the program's threads waited %s for the heap recorder",
				 units_seconds(a->heap.stall_s).text));
}

static void add_overhead(struct analysis *a)
{
	add_own(a, PROFILE_OVERHEAD, a->cpu.overhead_samples,
		"samples in cprof itself, in no other figure");
	if (a->heap.stall_s > 0)
		add(a, PROFILE_OVERHEAD, 1, stall_text(a))->is_no_count = true;
}

static void add_bounded(struct analysis *a, const struct profile *profile)
{
	if (!a->heap.tracked || has_kind(profile, PROFILE_BOUNDED))
		return;
	add_own(a, PROFILE_BOUNDED, a->heap.lost_events, "heap events were lost");
	add_own(a, PROFILE_BOUNDED, a->heap.late_events, "heap events came out of order");
	add_own(a, PROFILE_BOUNDED, a->heap.unknown_frees,
		"blocks were freed that were never seen allocated");
}

static bool is_off(const struct heap *heap)
{
	return heap->mode && !strcmp(heap->mode, "off");
}

/* The copy of a program that a fork makes and an exec replaces at once: nobody misses it. */
static bool is_replaced(const struct profile *profile, const struct process_row *row)
{
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (profile->processes[i].pid == row->pid &&
		    profile->processes[i].image == (uint32_t)row->image + 1)
			return true;
	return false;
}

/* Of an unfinished recording that is not known yet. */
static void add_untracked(struct analysis *a, const struct profile *profile)
{
	if (is_off(&a->heap) || !profile->run.complete || has_kind(profile, PROFILE_UNTRACKED))
		return;
	for (size_t i = 0; i < a->processes.nr; i++) {
		const struct process_row *process = a->processes.at[i];

		if (!process->tracked && !is_replaced(profile, process))
			add(a, PROFILE_UNTRACKED, 1, process->reason);
	}
}

/* Of stacks, the shim and what the allocator keeps there may be some. */
#define UNFITTING_BYTES (UINT64_C(16) << 20)
#define UNFITTING_TIMES 4

/* The most that it had of its own, resident at one time, by the kernel's count. */
static uint64_t most_anonymous(const struct profile *profile, uint32_t process)
{
	uint64_t most = 0;

	for (size_t i = 0; i < profile->nr_memory; i++)
		if (profile->memory[i].process == process &&
		    profile->memory[i].anonymous_bytes > most)
			most = profile->memory[i].anonymous_bytes;
	return most;
}

/* Far more memory than malloc gave out: what its allocator keeps is not so much. */
static void add_unfitting(struct analysis *a, const struct profile *profile,
			  const struct profile_heap *heap)
{
	uint64_t blocks = heap->peak_bytes + heap->inherited_bytes;
	uint64_t anonymous = most_anonymous(profile, heap->process);
	const struct profile_process *process = &profile->processes[heap->process];

	if (!process->executed || anonymous < blocks + UNFITTING_BYTES ||
	    anonymous / UNFITTING_TIMES < blocks)
		return;
	add(a, PROFILE_UNTRACKED, 1,
	    keep(a,
		 xasprintf("%s: the blocks of malloc are tracked, but were no more than %s of the "
			   "%s of memory that it has had of its own, stacks included: it may map "
			   "memory itself, or have an allocator of its own (python: "
			   "PYTHONMALLOC=malloc)",
			   process->nr_arguments ? process->arguments[0] : "a program",
			   units_size(blocks).text, units_size(anonymous).text)));
}

static void add_all_unfitting(struct analysis *a, const struct profile *profile)
{
	for (size_t i = 0; a->heap.followed && i < profile->nr_heaps; i++)
		if (profile->heaps[i].process != PROFILE_NONE)
			add_unfitting(a, profile, &profile->heaps[i]);
}

static void add_substituted(struct analysis *a, const struct profile *profile)
{
	if (a->cpu.substituted_for && !has_kind(profile, PROFILE_SUBSTITUTED))
		add(a, PROFILE_SUBSTITUTED, 1, a->cpu.reason);
}

static struct units_text period_text(const struct profile_event *event, double period)
{
	if (profile_unit_is_time(event->unit))
		return units_time((int64_t)period);
	return units_short(period);
}

static char *silent_text(const struct unsampled *unsampled)
{
	struct units_text threads = units_count(unsampled->nr_threads);

	if (!unsampled->nr_silent)
		return xasprintf("and %s were started", threads.text);
	return xasprintf("which %s of %s did not reach", units_count(unsampled->nr_silent).text,
			 threads.text);
}

static char *short_threads_text(const struct profile_event *event,
				const struct unsampled *unsampled)
{
	char *silent = silent_text(unsampled);
	char *text = xasprintf("the kernel gives each thread its first one after a whole period "
			       "(%s), %s; %s sees more",
			       period_text(event, unsampled->period).text, silent,
			       event->period ? "a shorter one (-c)" : "a higher frequency (-F)");

	free(silent);
	return text;
}

static void add_unsampled(struct analysis *a, const struct profile *profile)
{
	struct unsampled unsampled;
	char *text;

	unsampled_find(&unsampled, profile);
	if (!unsampled_is_material(&unsampled))
		return;
	if (unsampled.late)
		text = xstrdup("interrupts of the clock came late, as where a virtual machine has "
			       "to wait for its CPUs");
	else
		text = short_threads_text(profile->events, &unsampled);
	add(a, PROFILE_UNSAMPLED, (uint64_t)(unsampled.samples + 0.5), keep(a, text));
}

static void add_unfinished(struct analysis *a, const struct profile *profile)
{
	if (!profile->run.complete && !has_kind(profile, PROFILE_INTERRUPTED))
		add(a, PROFILE_INTERRUPTED, 1,
		    "the recording is not finished; what follows the last second is missing");
}

/* --- notes --- */

/* In the order of how much they spoil.  Missing lines are no news; the rest is said elsewhere. */
static const enum profile_quality_kind noted[] = {
	PROFILE_INTERRUPTED, PROFILE_LOST,	PROFILE_UNSAMPLED,
	PROFILE_BOUNDED,     PROFILE_UNTRACKED, PROFILE_TRUNCATED,
	PROFILE_UNREADABLE,  PROFILE_THROTTLED, PROFILE_SUBSTITUTED,
};

/* Why another event was sampled is said with the CPU's figures. */
static bool is_said(const struct analysis *a, const struct quality_row *row)
{
	return a->cpu.reason && row->detail && !strcmp(row->detail, a->cpu.reason);
}

static void put_note(struct analysis *a, struct quality_note note)
{
	struct quality_note *row = &a->note_storage[a->notes.nr];

	*row = note;
	vec_push(&a->notes, row);
}

static void note_kind(struct analysis *a, enum profile_quality_kind kind)
{
	const char *name = profile_quality_name(kind);
	struct quality_note note = { .kind = name };
	uint64_t most = 0;
	size_t nr = 0;

	for (size_t i = 0; i < a->quality.nr; i++) {
		const struct quality_row *row = a->quality.at[i];

		if (row->kind != name || is_said(a, row))
			continue;
		note.count += row->count;
		if (!nr++ || row->count > most) {
			most = row->count;
			note.detail = row->detail;
		}
	}
	if (!nr)
		return;
	note.others = nr - 1;
	note.share = share_of(&a->cpu, kind, note.count, note.detail);
	put_note(a, note);
}

/* The rows of the symbolization are of stacks; this is of samples that a row of functions has. */
static void note_unnamed(struct analysis *a)
{
	const struct cpu_function *most = NULL;

	for (size_t i = 0; i < a->cpu.functions.nr; i++) {
		const struct cpu_function *f = a->cpu.functions.at[i];

		if (f->unnamed && (!most || f->self > most->self))
			most = f;
	}
	if (!most || a->cpu.unnamed_share < MATERIAL_UNNAMED)
		return;
	put_note(a, (struct quality_note){
			    .kind = profile_quality_name(PROFILE_NO_SYMBOL),
			    .count = a->cpu.unnamed_samples,
			    .share = FIGURE(a->cpu.unnamed_share),
			    .detail = most->module ?: most->name,
		    });
}

static void note_stall(struct analysis *a)
{
	if (is_stall_material(a))
		put_note(a, (struct quality_note){
				    .kind = profile_quality_name(PROFILE_OVERHEAD),
				    .count = 1,
				    .share = FIGURE_ABSENT("not a part of the samples"),
				    .detail = stall_text(a),
			    });
}

static void list_notes(struct analysis *a)
{
	a->note_storage = xcalloc(ARRAY_SIZE(noted) + 2, sizeof(a->note_storage[0]));
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++)
		note_kind(a, noted[i]);
	note_stall(a);
	note_unnamed(a);
}

void quality_list(struct analysis *a, const struct profile *profile)
{
	a->quality_storage = xcalloc(profile->nr_quality + 2 * profile->nr_processes + MOST_DERIVED,
				     sizeof(a->quality_storage[0]));
	for (size_t i = 0; i < profile->nr_quality; i++)
		add(a, profile->quality[i].kind, profile->quality[i].count,
		    profile->quality[i].detail);
	a->recorder_s = own_figure(profile, PROFILE_OVERHEAD_CPU, 1e-6);
	a->shim_bytes = own_figure(profile, PROFILE_OVERHEAD_MEMORY, 1);
	add_unnamed(a);
	add_overhead(a);
	add_bounded(a, profile);
	add_untracked(a, profile);
	add_all_unfitting(a, profile);
	add_substituted(a, profile);
	add_unsampled(a, profile);
	add_unfinished(a, profile);
	list_notes(a);
}

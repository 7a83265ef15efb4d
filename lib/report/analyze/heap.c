/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "report/analyze/heap_counted.h"

struct work {
	struct heap *heap;
	const struct profile *profile;
	struct heap_places *places;
	const struct heap_scope *scope;
	double live_variance;
	const char *no_slack; /* why it is not known; NULL: it is */
	uint64_t slack_bytes, at_peak_slack_bytes;
	struct heap_classes lifetimes;
	struct map sites; /* hash of the list -> index + 1 */
	struct {
		struct site_work {
			struct heap_site *site;
			uint64_t lifetime_us, lifetime_blocks, slack_bytes;
			struct {
				double allocations, allocated, at_peak, live;
			} variance;
			struct heap_classes sizes, lifetimes;
		} * at;
		size_t nr, room;
	} all;
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* --- figures --- */

static void add_figures(struct work *w, const struct profile_heap *row)
{
	struct heap *heap = w->heap;

	w->live_variance += row->live_variance;
	heap->allocations += row->allocations;
	heap->frees += row->frees;
	heap->reallocations += row->reallocations;
	heap->allocated_bytes += row->allocated_bytes;
	heap->stall_s += (double)row->stall_us / 1e6;
	heap->lost_events += row->lost_events;
	heap->counted.allocations += row->counted_allocations;
	heap->counted.frees += row->counted_frees;
	heap->counted.reallocations += row->counted_reallocations;
	heap->counted.allocated_bytes += row->counted_bytes;
	if (!heap->followed)
		return;
	heap->freed_bytes += row->freed_bytes;
	heap->live_bytes += row->live_bytes;
	heap->live_blocks += row->live_blocks;
	heap->temporary += row->temporary;
	heap->inherited_bytes += row->inherited_bytes;
	heap->inherited_frees += row->inherited_frees;
	heap->page_faults = row->page_faults == PROFILE_UNKNOWN
				    ? FIGURE_ABSENT("not recorded (--page-faults)")
				    : FIGURE(heap->page_faults.value + (double)row->page_faults);
	heap->unknown_frees += row->unknown_frees;
	heap->late_events += row->late_events;
	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		heap->churn.classes[i].bytes += row->churn[i].bytes;
		heap->churn.classes[i].blocks += row->churn[i].blocks;
	}
}

static struct figure error_of(const struct heap *heap, double variance)
{
	if (heap->sample_bytes.absent)
		return FIGURE_ABSENT("counted, not estimated");
	return FIGURE(sqrt(variance));
}

static void set_no_peak(struct heap *heap, const char *reason)
{
	heap->peak_bytes = heap->peak_blocks = heap->peak_time_s = FIGURE_ABSENT(reason);
	heap->peak_bytes_error = heap->peak_most_bytes = FIGURE_ABSENT(reason);
}

static void set_peak(struct heap *heap, const struct profile_heap *row)
{
	if (!heap->followed) {
		set_no_peak(heap, heap->reason);
		return;
	}
	heap->peak_bytes = FIGURE((double)row->peak_bytes);
	heap->peak_blocks = FIGURE((double)row->peak_blocks);
	heap->peak_exact = row->peak_exact;
	heap->peak_most_bytes = row->peak_exact || row->peak_most_bytes == PROFILE_UNKNOWN
					? FIGURE_ABSENT("no bound")
					: FIGURE((double)row->peak_most_bytes);
	heap->peak_bytes_error = error_of(heap, row->peak_variance);
	heap->peak_time_s = row->peak_time_us == PROFILE_NO_TIME || !row->peak_bytes
				    ? FIGURE_ABSENT("there was no peak")
				    : FIGURE((double)row->peak_time_us / 1e6);
}

/* --- which rows --- */

static bool wants(const struct work *w, uint32_t process)
{
	if (w->scope->process == PROFILE_NONE)
		return w->scope->processes[process];
	return process == w->scope->process;
}

static bool wants_all(const struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_processes; i++)
		if (!wants(w, (uint32_t)i))
			return false;
	return true;
}

/* The only wanted process with figures, or NULL. */
static const struct profile_heap *only_row(const struct work *w)
{
	const struct profile_heap *found = NULL;

	for (size_t i = 0; i < w->profile->nr_heaps; i++) {
		const struct profile_heap *row = &w->profile->heaps[i];

		if (row->process == PROFILE_NONE || !wants(w, row->process))
			continue;
		if (found)
			return NULL;
		found = row;
	}
	return found;
}

static const struct profile_heap *tree_row(const struct work *w)
{
	if (!w->profile->nr_heaps || !wants_all(w))
		return NULL;
	return w->profile->heaps[0].process == PROFILE_NONE ? &w->profile->heaps[0] : NULL;
}

/* False: there are none. */
static bool find_figures(struct work *w)
{
	const struct profile_heap *only = only_row(w), *tree = tree_row(w);
	const struct profile_heap *row = w->scope->process == PROFILE_NONE ? tree ?: only : only ?: tree;
	bool found = false;

	w->heap->own_peak = row && row->process != PROFILE_NONE;
	if (row) {
		add_figures(w, row);
		set_peak(w->heap, row);
		return true;
	}

	set_no_peak(w->heap, NO_COMMON_PEAK);
	for (size_t i = 0; i < w->profile->nr_heaps; i++) {
		row = &w->profile->heaps[i];
		if (row->process == PROFILE_NONE || !wants(w, row->process))
			continue;
		add_figures(w, row);
		found = true;
	}
	w->heap->reason = w->heap->reason ?: NO_COMMON_PEAK;
	return found;
}

/* What an exec takes away is no leak. */
static void add_live_at_exec(struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_heaps; i++) {
		const struct profile_heap *row = &w->profile->heaps[i];

		if (row->process == PROFILE_NONE || !wants(w, row->process) ||
		    !w->profile->processes[row->process].replaced)
			continue;
		w->heap->live_at_exec_bytes += row->live_bytes;
		w->heap->live_at_exec_blocks += row->live_blocks;
	}
}

/* Temporary ones of a sample are estimated, so that of what was counted they may be more than all. */
static uint64_t allocations_like_temporary(const struct work *w)
{
	uint64_t sum = 0;

	if (w->heap->sample_bytes.absent)
		return w->heap->allocations;
	for (size_t i = 0; i < w->profile->nr_heap_sites; i++)
		if (wants(w, w->profile->heap_sites[i].process))
			sum += w->profile->heap_sites[i].allocations;
	return sum;
}

static void finish_figures(const struct work *w)
{
	static const double bounds[PROFILE_NR_LIFETIMES - 1] = { 1e-5, 1e-3, 0.1 };
	struct heap *heap = w->heap;
	struct heap_churn *churn = &heap->churn;

	if (heap->allocated_bytes > heap->live_bytes)
		churn->bytes = heap->allocated_bytes - heap->live_bytes;
	churn->share = heap->allocated_bytes ? FIGURE(share(churn->bytes, heap->allocated_bytes))
					     : FIGURE_ABSENT("nothing was allocated");
	heap->temporary_share = share(heap->temporary, allocations_like_temporary(w));
	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		bool bounded = i < ARRAY_SIZE(bounds);

		churn->classes[i].below_s = bounded ? FIGURE(bounds[i]) : FIGURE_ABSENT("no bound");
		vec_push(&churn->by_lifetime, &churn->classes[i]);
	}
}

/* --- what the allocator added --- */

static const char *why_no_slack(struct work *w, const struct profile_heap *row)
{
	char *why;

	if (!row->allocator)
		return "whose malloc it is, is not known";
	why = xasprintf("how large %s makes blocks is not known", row->allocator);

	const char *kept = arena_strdup(&w->heap->arena, why);

	free(why);
	return kept;
}

/* All that allocated anything must be known. */
static void find_allocator(struct work *w)
{
	const struct profile_heap *found = NULL;
	bool is_one = true;

	for (size_t i = 0; i < w->profile->nr_heaps; i++) {
		const struct profile_heap *row = &w->profile->heaps[i];

		if (row->process == PROFILE_NONE || !wants(w, row->process) || !row->allocations)
			continue;
		if (!row->slack_known)
			w->no_slack = why_no_slack(w, row);
		is_one &= !found || (found->allocator && row->allocator &&
				     !strcmp(found->allocator, row->allocator));
		found = row;
	}
	if (found && is_one)
		w->heap->allocator = found->allocator;
	if (!found)
		w->no_slack = "nothing was allocated";
}

static struct figure slack(const struct work *w, uint64_t bytes)
{
	return w->no_slack ? FIGURE_ABSENT(w->no_slack) : FIGURE((double)bytes);
}

/* --- sizes and lifetimes of all --- */

static struct heap_size *size_of(struct work *w, uint64_t most_bytes)
{
	struct rows *sizes = &w->heap->sizes;

	for (size_t i = 0; i < sizes->nr; i++) {
		const struct heap_size *size = sizes->at[i];

		if (size->most_bytes == most_bytes)
			return (struct heap_size *)size;
	}
	return NULL;
}

static void add_size(struct work *w, const struct profile_heap_size *row)
{
	struct heap_size *size = size_of(w, row->most_bytes);

	size->bytes += row->bytes;
	size->slack_bytes = slack(w, (uint64_t)size->slack_bytes.value + row->slack_bytes);
	size->slack_share = w->no_slack
				    ? size->slack_bytes
				    : FIGURE(share((uint64_t)size->slack_bytes.value, size->bytes));
	w->slack_bytes += row->slack_bytes;
}

static void list_sizes(struct work *w)
{
	const struct profile_heap_size *rows = w->profile->heap_sizes;
	struct heap_classes classes = { 0 };

	for (size_t i = 0; i < w->profile->nr_heap_sizes; i++)
		if (wants(w, rows[i].process))
			*heap_classes_at(&classes, rows[i].most_bytes) += rows[i].blocks;
	heap_classes_sizes(&classes, &w->heap->arena, &w->heap->sizes);
	heap_classes_release(&classes);
	for (size_t i = 0; i < w->profile->nr_heap_sizes; i++)
		if (wants(w, rows[i].process))
			add_size(w, &rows[i]);
	w->heap->slack_bytes = slack(w, w->slack_bytes);
}

/* --- sites --- */

static uint64_t hash_list(const uint32_t *list, size_t nr)
{
	uint64_t hash = nr;

	for (size_t i = 0; i < nr; i++)
		hash = map_hash(hash ^ list[i]);
	return hash;
}

static struct heap_site *new_site(const struct work *w, const uint32_t *list, size_t nr)
{
	struct arena *arena = &w->heap->arena;
	struct heap_site *site = arena_alloc(arena, sizeof(*site));
	const void **frames = arena_alloc(arena, nr * sizeof(frames[0]));
	const char **names = arena_alloc(arena, nr * sizeof(names[0]));

	for (size_t i = 0; i < nr; i++) {
		const struct heap_place *place = heap_places_get(w->places, list[i]);

		frames[i] = place;
		names[i] = place->name;
	}
	*site = (struct heap_site){
		.frames = { .at = frames, .nr = nr, .room = nr },
		.stack = { names, nr },
	};
	return site;
}

static bool is_list(const struct work *w, const struct heap_site *site, const uint32_t *list,
		    size_t nr)
{
	if (site->frames.nr != nr)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (site->frames.at[i] != heap_places_get(w->places, list[i]))
			return false;
	return true;
}

/* The site with this list.  Lists of equal hash get the next free key. */
static struct site_work *site_of(struct work *w, const uint32_t *list, size_t nr)
{
	struct site_work *site;

	for (uint64_t key = hash_list(list, nr);; key++) {
		bool added;
		uint64_t *index = map_add(&w->sites, key, &added);

		if (added) {
			*index = w->all.nr;
			site = vec_add(&w->all);
			site->site = new_site(w, list, nr);
			return site;
		}
		site = &w->all.at[*index];
		if (is_list(w, site->site, list, nr))
			return site;
	}
}

/* Of a sample the two halves of a reallocation are not known together. */
static struct figure moves(const struct work *w, struct figure sum, uint64_t more)
{
	return w->heap->sample_bytes.absent ? FIGURE(sum.value + (double)more)
					    : FIGURE_ABSENT("moves are not seen in a sample");
}

static struct figure faults(const struct work *w, struct figure sum, uint64_t more)
{
	return w->heap->page_faults.absent ? w->heap->page_faults
					   : FIGURE(sum.value + (double)more);
}

static void add_site(struct work *w, const struct profile_heap_site *row)
{
	size_t nr;
	const uint32_t *list = heap_places_of_stack(w->places, row->stack, row->allocator, &nr);
	struct site_work *work = site_of(w, list, nr);
	struct heap_site *site = work->site;

	site->allocations += row->allocations;
	site->frees += row->frees;
	site->reallocations += row->reallocations;
	site->allocated_bytes += row->allocated_bytes;
	site->freed_bytes += row->freed_bytes;
	site->at_peak_bytes += w->heap->own_peak ? row->at_peak_bytes : row->at_tree_peak_bytes;
	site->at_peak_blocks += w->heap->own_peak ? row->at_peak_blocks : row->at_tree_peak_blocks;
	site->live_bytes += row->live_bytes;
	site->live_blocks += row->live_blocks;
	if (!w->profile->processes[row->process].replaced) {
		site->leaked_bytes += row->live_bytes;
		site->leaked_blocks += row->live_blocks;
	}
	site->temporary += row->temporary;
	site->cross_thread_frees += row->cross_thread_frees;
	site->page_faults = faults(w, site->page_faults, row->page_faults);
	w->heap->page_faults_in_blocks =
		faults(w, w->heap->page_faults_in_blocks, row->page_faults);
	site->moved = moves(w, site->moved, row->moved);
	site->copied_bytes = moves(w, site->copied_bytes, row->copied_bytes);
	w->heap->moved = moves(w, w->heap->moved, row->moved);
	w->heap->copied_bytes = moves(w, w->heap->copied_bytes, row->copied_bytes);
	work->slack_bytes +=
		w->heap->own_peak ? row->at_peak_slack_bytes : row->at_tree_peak_slack_bytes;
	heap_classes_add(&work->sizes, &row->sizes);
	heap_classes_add(&work->lifetimes, &row->lifetimes);
	heap_classes_add(&w->lifetimes, &row->lifetimes);
	work->lifetime_us += row->lifetime_us;
	work->lifetime_blocks += row->lifetime_blocks;
	work->variance.allocations += row->allocations_variance;
	work->variance.allocated += row->allocated_variance;
	work->variance.at_peak +=
		w->heap->own_peak ? row->at_peak_variance : row->at_tree_peak_variance;
	work->variance.live += row->live_variance;
}

static void finish_classes(struct work *w, struct site_work *work)
{
	struct heap_site *site = work->site;

	w->at_peak_slack_bytes += work->slack_bytes;
	site->at_peak_slack_bytes = slack(w, work->slack_bytes);
	heap_classes_sizes(&work->sizes, &w->heap->arena, &site->sizes);
	heap_classes_ages(&work->lifetimes, &w->heap->arena, &site->lifetimes);
	heap_classes_release(&work->sizes);
	heap_classes_release(&work->lifetimes);
}

static void finish_site(struct work *w, struct site_work *work)
{
	struct heap_site *site = work->site;

	site->calls = site->allocations + site->reallocations;
	site->temporary_share = share(site->temporary, site->allocations);
	site->cross_thread_share = share(site->cross_thread_frees, site->frees);
	site->error.allocations = error_of(w->heap, work->variance.allocations);
	site->error.allocated_bytes = error_of(w->heap, work->variance.allocated);
	site->error.at_peak_bytes = error_of(w->heap, work->variance.at_peak);
	site->error.live_bytes = error_of(w->heap, work->variance.live);
	if (work->lifetime_blocks)
		site->mean_lifetime_s =
			FIGURE((double)work->lifetime_us / 1e6 / (double)work->lifetime_blocks);
	else
		site->mean_lifetime_s = FIGURE_ABSENT("none was freed");
	finish_classes(w, work);
	vec_push(&w->heap->sites, site);
}

static int by_peak(const void *a, const void *b)
{
	const struct heap_site *s = *(const struct heap_site *const *)a;
	const struct heap_site *t = *(const struct heap_site *const *)b;

	if (s->at_peak_bytes != t->at_peak_bytes)
		return s->at_peak_bytes < t->at_peak_bytes ? 1 : -1;
	if (s->allocated_bytes != t->allocated_bytes)
		return s->allocated_bytes < t->allocated_bytes ? 1 : -1;
	return s->calls < t->calls ? 1 : s->calls > t->calls ? -1 : 0;
}

static void list_sites(struct work *w)
{
	struct rows *sites = &w->heap->sites;

	for (size_t i = 0; i < w->profile->nr_heap_sites; i++)
		if (wants(w, w->profile->heap_sites[i].process))
			add_site(w, &w->profile->heap_sites[i]);

	vec_each(&w->all, work) finish_site(w, work);
	heap_classes_ages(&w->lifetimes, &w->heap->arena, &w->heap->lifetimes);
	heap_classes_release(&w->lifetimes);
	w->heap->at_peak_slack_bytes = w->heap->peak_bytes.absent
					       ? FIGURE_ABSENT(w->heap->peak_bytes.absent)
					       : slack(w, w->at_peak_slack_bytes);
	if (sites->nr)
		qsort(sites->at, sites->nr, sizeof(sites->at[0]), by_peak);
}

/* --- the whole --- */

/* Whether the heap of the run was tracked is written at its end, and why not; that may not have
 * come. */
static bool is_tracked(const struct profile *profile)
{
	for (size_t i = 0; !profile->run.complete && i < profile->nr_processes; i++)
		if (profile->processes[i].tracked)
			return true;
	return profile->run.heap_tracked;
}

static const char *why_untracked(const struct profile *profile)
{
	return profile->run.complete ? "the program's allocations were not tracked"
				     : "the recording has not come as far as the heap's figures";
}

static const char *find_why_untracked(const struct profile *profile, uint32_t process)
{
	const char *reason = profile->run.heap_reason;
	bool tracked = is_tracked(profile);

	if (process != PROFILE_NONE) {
		tracked = tracked && profile->processes[process].tracked;
		reason = profile->processes[process].untracked_reason ?: reason;
	}
	return tracked ? NULL : reason ?: why_untracked(profile);
}

static bool is_followed(const struct profile *profile)
{
	return !profile->run.heap_mode || strcmp(profile->run.heap_mode, "counts") != 0;
}

const char *heap_why_unfollowed(const struct profile *profile, uint32_t process)
{
	const char *untracked = find_why_untracked(profile, process);

	if (untracked || is_followed(profile))
		return untracked;
	return "operations were only counted (--heap=counts): no peak, no stacks";
}

static void describe(struct heap *heap, const struct profile *profile, uint32_t process)
{
	heap->mode = profile->run.heap_mode;
	heap->tracked = !find_why_untracked(profile, process);
	heap->followed = is_followed(profile);
	heap->reason = heap->sites.absent = heap_why_unfollowed(profile, process);
	heap->sample_bytes = profile->run.heap_sample_bytes
				     ? FIGURE((double)profile->run.heap_sample_bytes)
				     : FIGURE_ABSENT("not a sample");
}

void heap_analyze(struct heap *heap, const struct profile *profile, struct heap_places *places,
		  const struct heap_scope *scope)
{
	struct work w = {
		.heap = heap,
		.profile = profile,
		.places = places,
		.scope = scope,
	};

	*heap = (struct heap){ 0 };
	describe(heap, profile, scope->process);
	if (!heap->tracked)
		return;
	if (!find_figures(&w)) {
		heap->tracked = false;
		heap->reason = heap->sites.absent = "no figures were received";
		return;
	}
	heap->counted.difference = heap_counted_difference(heap);
	if (!heap->followed) {
		heap->live_bytes_error = FIGURE_ABSENT(heap->reason);
		return;
	}
	heap->live_bytes_error = error_of(heap, w.live_variance);
	heap->live_exact = !heap->lost_events && heap->sample_bytes.absent;
	add_live_at_exec(&w);
	finish_figures(&w);
	find_allocator(&w);
	list_sizes(&w);
	heap_handoffs_list(&heap->handoffs, profile, scope, &heap->arena);
	if (!scope->no_sites)
		list_sites(&w);
	map_release(&w.sites);
	vec_free(&w.all);
}

void heap_release(struct heap *heap)
{
	arena_release(&heap->arena);
	free(heap->sites.at);
	history_release(&heap->timeline);
	free(heap->churn.by_lifetime.at);
	*heap = (struct heap){ 0 };
}

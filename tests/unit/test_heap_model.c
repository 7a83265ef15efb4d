/* SPDX-License-Identifier: MIT */
/* The heap model against brute force, on random programs. */
#include "record/heap/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "heap_oracle.h"

struct trace {
	struct oracle oracle;
	struct heap_model *model;
	struct heap_event event[EVENTS];
	size_t nr; /* not yet given to the model */
	uint64_t random, time_ns;
	bool in_realloc[LANES];
	int images, sites, lanes;
};

static unsigned int pick(struct trace *t, unsigned int below)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(t->random >> 33) % below;
}

static void give(struct trace *t)
{
	heap_model_apply(t->model, t->event, t->nr);
	t->nr = 0;
}

static void add_image(struct trace *t)
{
	uint32_t image = heap_model_image(t->model);
	int lanes = 1 + (int)pick(t, 5);

	cr_assert_eq(image, (uint32_t)t->images);
	t->oracle.image[image].is_glibc = pick(t, 3);
	if (t->oracle.image[image].is_glibc)
		heap_model_glibc(t->model, image, 4096);
	for (int i = 0; i < lanes; i++) {
		uint32_t lane = heap_model_lane(t->model, image);
		/* The fifth lane is a signal handler's on the fourth thread. */
		int thread = t->images * 4 + (i < 4 ? i : 3);

		cr_assert_lt(lane, LANES);
		heap_model_thread(t->model, lane, thread, i < 4);
		t->oracle.lane_image[lane] = t->images;
		t->oracle.lane_thread[lane] = thread;
		t->in_realloc[lane] = false;
		if ((int)lane >= t->lanes)
			t->lanes = (int)lane + 1;
	}
	for (int i = 1 + (int)pick(t, 6); i > 0; i--) {
		cr_assert_eq(heap_model_site(t->model, image), (uint32_t)t->sites);
		t->oracle.site[t->sites++].image = t->images;
	}
	t->images++;
}

static uint32_t pick_site(struct trace *t, int image)
{
	uint32_t site;

	do
		site = pick(t, (unsigned int)t->sites);
	while (t->oracle.site[site].image != image);
	return site;
}

/* Sites have favourites, as real ones do; some blocks are large enough for pages of their own. */
static uint64_t pick_size(struct trace *t, uint32_t site)
{
	if (pick(t, 3))
		return 24 * (site % 4);
	return pick(t, 6) ? pick(t, 80) : 131000 + 4000 * pick(t, 4) + pick(t, 100);
}

static void emit(struct trace *t, uint32_t lane, enum heap_op op, uint64_t address)
{
	static const unsigned int step_ns[] = { 0, 500, 7000, 90000, 3000000, 70000000 };
	struct heap_event *e = &t->event[t->nr++];

	t->time_ns += pick(t, 1 + step_ns[pick(t, 6)]);
	*e = (struct heap_event){ .address = address,
				  .time_ns = t->time_ns,
				  .lane = lane,
				  .op = op,
				  .site = pick_site(t, t->oracle.lane_image[lane]) };
	e->size = pick_size(t, e->site);
	oracle_apply(&t->oracle, e);
	if (t->nr == EVENTS || !pick(t, 40))
		give(t);
}

/* Few addresses, so that they are reused a lot; 8 bytes apart, far apart, or at pages. */
static uint64_t pick_address(struct trace *t)
{
	if (!pick(t, 4))
		return 0x7010 + 0x1000 * pick(t, 4);
	return 0x5000 + 8 * pick(t, 6) + ((uint64_t)pick(t, 2) << 30);
}

/* A realloc whose old address is somebody else's by now did not fail. */
static bool can_fail(const struct oracle *o, uint32_t lane)
{
	const struct oracle_block *held = &o->block[o->lane_block[lane]];

	if (o->lane_block[lane] < 0)
		return true;
	for (int i = 0; i < BLOCKS; i++)
		if (o->block[i].live && i != o->lane_block[lane] &&
		    o->block[i].image == held->image && o->block[i].address == held->address)
			return false;
	return true;
}

static void step(struct trace *t)
{
	struct oracle *o = &t->oracle;
	uint32_t lane = pick(t, (unsigned int)t->lanes);
	int image = o->lane_image[lane];
	uint64_t address = pick_address(t);
	bool known = oracle_find(o, image, address) >= 0;
	unsigned int dice = pick(t, 8);

	if (o->image[image].ended)
		return;
	if (t->in_realloc[lane] && dice < 5) {
		t->in_realloc[lane] = false;
		if (dice < 2 && can_fail(o, lane))
			emit(t, lane, HEAP_REALLOC_FAILED, 0);
		else if (known || dice == 2)
			emit(t, lane, HEAP_REALLOC_FREED, 0);
		else
			emit(t, lane, HEAP_REALLOC_DONE, address);
	} else if (!known && dice < 7)
		emit(t, lane, HEAP_ALLOC, address);
	else if (t->in_realloc[lane] || dice % 2)
		emit(t, lane, HEAP_FREE, address);
	else {
		t->in_realloc[lane] = true;
		emit(t, lane, HEAP_REALLOC_BEGIN, address);
	}
}

static void end_image(struct trace *t, int image)
{
	if (t->oracle.image[image].ended)
		return;
	give(t);
	heap_model_end(t->model, (uint32_t)image, t->time_ns);
	oracle_end(&t->oracle, image, t->time_ns);
}

static void check_histograms(const struct trace *t, uint32_t site)
{
	const struct oracle_site *s = &t->oracle.site[site];
	uint64_t sizes[SIZE_CLASSES] = { 0 }, lifetimes[LIFETIME_CLASSES] = { 0 };

	heap_model_site_histograms(t->model, site, sizes, lifetimes);
	cr_assert_arr_eq(sizes, s->sizes, sizeof(sizes));
	cr_assert_arr_eq(lifetimes, s->lifetimes, sizeof(lifetimes));
}

static void check_sites(struct trace *t, int image)
{
	const struct oracle *o = &t->oracle;
	const struct oracle_moment now = oracle_now(o, image);
	const struct oracle_moment *peak = &o->image[image].peak;

	for (int i = 0; i < t->sites; i++) {
		const struct oracle_site *s = &o->site[i];
		struct profile_heap_site f;

		if (s->image != image)
			continue;
		heap_model_site_figures(t->model, (uint32_t)i, &f);
		check_histograms(t, (uint32_t)i);
		cr_assert_eq(f.cross_thread_frees, s->handed);
		cr_assert_eq(f.moved, s->moved);
		cr_assert_eq(f.copied_bytes, s->copied);
		cr_assert_eq(f.at_peak_slack_bytes, peak->site_slack[i]);
		cr_assert_eq(f.at_tree_peak_slack_bytes, o->peak.site_slack[i]);
		cr_assert_eq(f.allocations, s->allocations);
		cr_assert_eq(f.frees, s->frees);
		cr_assert_eq(f.reallocations, s->reallocations);
		cr_assert_eq(f.allocated_bytes, s->allocated);
		cr_assert_eq(f.freed_bytes, s->freed);
		cr_assert_eq(f.temporary, s->temporary);
		cr_assert_eq(f.lifetime_us, s->lifetime_ns / 1000);
		cr_assert_eq(f.lifetime_blocks, s->frees);
		cr_assert_eq(f.live_bytes, now.site_bytes[i]);
		cr_assert_eq(f.live_blocks, now.site_blocks[i]);
		cr_assert_eq(f.at_peak_bytes, peak->site_bytes[i]);
		cr_assert_eq(f.at_peak_blocks, peak->site_blocks[i]);
		cr_assert_eq(f.at_tree_peak_bytes, o->peak.site_bytes[i]);
		cr_assert_eq(f.at_tree_peak_blocks, o->peak.site_blocks[i]);
	}
}

static void check_peak(const struct profile_heap *f, const struct oracle_moment *peak)
{
	cr_assert_eq(f->peak_bytes, peak->bytes);
	cr_assert_eq(f->peak_blocks, peak->blocks);
	if (f->allocations)
		cr_assert_eq(f->peak_time_us, (int64_t)(peak->time_ns / 1000));
	cr_assert(f->peak_exact);
}

static void check_image(struct trace *t, int image, struct profile_heap *sum)
{
	const struct oracle_image *o = &t->oracle.image[image];
	const struct oracle_moment now = oracle_now(&t->oracle, image);
	struct profile_heap f, sites = { 0 };
	struct histogram_sum sizes_asked[SIZE_CLASSES];

	heap_model_figures(t->model, (uint32_t)image, &f);
	for (int i = 0; i < t->sites; i++) {
		const struct oracle_site *s = &t->oracle.site[i];

		if (s->image != image)
			continue;
		sites.allocations += s->allocations;
		sites.frees += s->frees;
		sites.reallocations += s->reallocations;
		sites.allocated_bytes += s->allocated;
		sites.freed_bytes += s->freed;
		sites.temporary += s->temporary;
	}
	cr_assert_eq(f.allocations, sites.allocations);
	cr_assert_eq(f.frees, sites.frees);
	cr_assert_eq(f.reallocations, sites.reallocations);
	cr_assert_eq(f.allocated_bytes, sites.allocated_bytes);
	cr_assert_eq(f.freed_bytes, sites.freed_bytes);
	cr_assert_eq(f.temporary, sites.temporary);
	cr_assert_eq(f.live_bytes, now.bytes);
	cr_assert_eq(f.live_blocks, now.blocks);
	cr_assert_eq(f.unknown_frees, o->unknown_frees);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(f.churn[i].bytes, o->churn_bytes[i]);
		cr_assert_eq(f.churn[i].blocks, o->churn_blocks[i]);
	}
	heap_model_sizes(t->model, (uint32_t)image, sizes_asked);
	for (unsigned int i = 0; i < SIZE_CLASSES; i++) {
		cr_assert_eq(sizes_asked[i].blocks, o->sizes[i].blocks);
		cr_assert_eq(sizes_asked[i].bytes, o->sizes[i].bytes);
		cr_assert_eq(sizes_asked[i].slack_bytes, o->sizes[i].slack_bytes);
	}
	cr_assert_eq(heap_model_duplicates(t->model, (uint32_t)image), 0);
	check_peak(&f, &o->peak);
	sum->allocations += f.allocations;
	sum->live_bytes += f.live_bytes;
	sum->freed_bytes += f.freed_bytes;
}

/* Taken once, at the end, so these are all slices; test_timeline.c has the rest. */
static void check_timeline(struct trace *t, uint32_t image)
{
	struct timeline_slices slices = heap_model_timeline(t->model, image);
	struct profile_heap f, sum = { 0 };

	heap_model_figures(t->model, image, &f);
	for (size_t i = 0; i < slices.nr; i++) {
		sum.allocations += slices.at[i].allocations;
		sum.allocated_bytes += slices.at[i].allocated_bytes;
		if (slices.at[i].max_live_bytes > sum.peak_bytes)
			sum.peak_bytes = slices.at[i].max_live_bytes;
	}
	cr_assert_eq(sum.allocations, f.allocations);
	cr_assert_eq(sum.allocated_bytes, f.allocated_bytes);
	cr_assert_eq(sum.peak_bytes, f.peak_bytes);
}

static void check_timelines(struct trace *t)
{
	struct timeline_slices slices = heap_model_timeline(t->model, PROFILE_NONE);
	struct oracle_moment now = oracle_now(&t->oracle, -1);

	cr_assert_eq(slices.nr ? slices.at[slices.nr - 1].live_bytes : 0, now.bytes);
	for (int i = 0; i < t->images; i++)
		check_timeline(t, (uint32_t)i);
}

static void check_thread(const struct trace *t, const struct profile_heap_thread *f)
{
	const struct oracle_thread *o = &t->oracle.thread[f->tid];

	cr_assert_eq(f->allocations, o->allocations);
	cr_assert_eq(f->frees, o->frees);
	cr_assert_eq(f->reallocations, o->reallocations);
	cr_assert_eq(f->allocated_bytes, o->allocated);
	cr_assert_eq(f->freed_bytes, o->freed);
	cr_assert_eq(f->temporary, o->temporary);
}

static void check_threads(const struct trace *t, int image)
{
	uint64_t frees = 0;
	struct profile_heap whole;

	for (size_t i = 0; i < heap_model_nr_threads(t->model, (uint32_t)image); i++) {
		struct profile_heap_thread f;

		heap_model_thread_figures(t->model, (uint32_t)image, i, &f);
		frees += f.frees;
		if (f.tid >= 0)
			check_thread(t, &f);
		else
			cr_assert_eq(f.allocations + f.frees + f.reallocations, 0);
	}
	heap_model_figures(t->model, (uint32_t)image, &whole);
	cr_assert_eq(frees, whole.frees);
}

/* The oracle's threads are each of one image, four of each. */
static size_t oracle_nr_handoffs(const struct oracle *o, int image)
{
	size_t nr = 0;

	for (int from = image * 4; from < image * 4 + 4; from++)
		for (int to = image * 4; to < image * 4 + 4; to++)
			nr += from != to && o->thread[to].handed[from];
	return nr;
}

static void check_handoffs(const struct trace *t, int image)
{
	size_t nr = heap_model_nr_handoffs(t->model, (uint32_t)image);

	cr_assert_eq(nr, oracle_nr_handoffs(&t->oracle, image));
	for (size_t i = 0; i < nr; i++) {
		struct profile_heap_handoff f = heap_model_handoff(t->model, (uint32_t)image, i);
		const struct oracle_thread *o = &t->oracle.thread[f.to_tid];

		cr_assert_neq(f.from_tid, f.to_tid);
		cr_assert_eq(f.frees, o->handed[f.from_tid]);
		cr_assert_eq(f.freed_bytes, o->handed_bytes[f.from_tid]);
	}
}

static void check(struct trace *t)
{
	struct profile_heap tree, sum = { 0 };

	give(t);
	for (int i = 0; i < t->images; i++) {
		check_image(t, i, &sum);
		check_sites(t, i);
		check_threads(t, i);
		check_handoffs(t, i);
	}
	heap_model_figures(t->model, PROFILE_NONE, &tree);
	check_peak(&tree, &t->oracle.peak);
	cr_assert_eq(tree.allocations, sum.allocations);
	cr_assert_eq(tree.live_bytes, sum.live_bytes);
	cr_assert_eq(tree.freed_bytes, sum.freed_bytes);
}

static void run(uint64_t seed)
{
	struct trace *t = xcalloc(1, sizeof(*t));

	t->random = seed;
	t->model = heap_model_new();
	add_image(t);
	for (int i = 0; i < EVENTS; i++) {
		step(t);
		if (t->images < IMAGES && !pick(t, 80))
			add_image(t);
		if (!pick(t, 150))
			end_image(t, (int)pick(t, (unsigned int)t->images));
		if (!pick(t, 30))
			check(t);
	}
	check(t);
	check_timelines(t);
	heap_model_free(t->model);
	free(t);
}

Test(heap_model, equals_brute_force_on_random_programs)
{
	for (uint64_t seed = 1; seed <= 2000; seed++)
		run(seed);
}

Test(heap_model, survives_any_order_of_events_and_keeps_its_sums)
{
	struct trace *t = xcalloc(1, sizeof(*t));
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model);
	struct profile_heap_site site, sum = { 0 };

	for (int i = 0; i < 3; i++) {
		heap_model_lane(model, image);
		heap_model_site(model, image);
	}
	for (int i = 0; i < 100000; i++) {
		const struct heap_event event = {
			.op = pick(t, HEAP_REALLOC_FREED + 1),
			.address = 8 + 8 * pick(t, 50),
			.size = pick(t, 1000),
			.time_ns = pick(t, 1000000), /* even backwards */
			.site = pick(t, 3),
			.lane = pick(t, 3),
		};

		heap_model_apply(model, &event, 1);
	}

	struct profile_heap f;

	heap_model_figures(model, image, &f);

	for (uint32_t i = 0; i < 3; i++) {
		heap_model_site_figures(model, i, &site);
		sum.live_bytes += site.live_bytes;
		sum.live_blocks += site.live_blocks;
		sum.at_peak_bytes += site.at_peak_bytes;
		sum.at_peak_blocks += site.at_peak_blocks;
	}
	cr_assert_eq(f.allocations - f.frees, f.live_blocks);
	cr_assert_eq(f.allocated_bytes - f.freed_bytes, f.live_bytes);
	cr_assert_eq(sum.live_bytes, f.live_bytes);
	cr_assert_eq(sum.live_blocks, f.live_blocks);
	cr_assert_eq(sum.at_peak_bytes, f.peak_bytes);
	cr_assert_eq(sum.at_peak_blocks, f.peak_blocks);
	cr_assert_gt(heap_model_duplicates(model, image), 0);
	heap_model_free(model);
	free(t);
}

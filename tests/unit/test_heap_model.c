/* SPDX-License-Identifier: MIT */
/*
 * The heap model against a brute-force oracle, which keeps a list of blocks, adds everything up
 * anew after each event, and copies all of it whenever the sum is at least what it ever was.
 */
#include "record/heap/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "store/classes.h"

enum { IMAGES = 4, SITES = 24, LANES = 20, THREADS = 16, EVENTS = 400, BLOCKS = 128 };

/* --- oracle -----------------------------------------------------------------------------------*/

struct oracle_block {
	bool live, inflight;
	int image, site, thread;
	uint64_t address, size, born_ns;
	long made_by; /* the operation */
};

struct oracle_moment {
	uint64_t bytes, blocks, time_ns;
	uint64_t site_bytes[SITES], site_blocks[SITES], site_slack[SITES];
};

struct oracle_site {
	int image;
	uint64_t allocations, frees, reallocations, allocated, freed, temporary, lifetime_ns;
	uint64_t handed, moved, copied;
	uint64_t sizes[SIZE_CLASSES], lifetimes[LIFETIME_CLASSES];
};

struct oracle_image {
	bool ended;
	uint64_t unknown_frees, changed_ns;
	uint64_t churn_bytes[4], churn_blocks[4];
	struct heap_size_class sizes[SIZE_CLASSES];
	bool is_glibc;
	struct oracle_moment peak;
};

struct oracle_thread {
	uint64_t allocations, frees, reallocations, allocated, freed, temporary;
	uint64_t handed[THREADS], handed_bytes[THREADS]; /* by who allocated it */
};

struct oracle {
	struct oracle_thread thread[THREADS];
	struct oracle_block block[BLOCKS];
	struct oracle_site site[SITES];
	struct oracle_image image[IMAGES];
	struct oracle_moment peak;
	uint64_t changed_ns;
	int lane_image[LANES], lane_thread[LANES], lane_block[LANES]; /* -1: unknown */
	long operations, last_operation[THREADS];
};

static bool oracle_is_mapped(uint64_t address, uint64_t size)
{
	return size > 131048 && address % 4096 == 16;
}

/* Blocks of 24, 40, 56 ... bytes; in pages of their own as many as such a block fits into. */
static uint64_t oracle_slack(const struct oracle *o, int image, uint64_t address, uint64_t size)
{
	uint64_t usable = 24, pages = 4096 - 16;

	if (!o->image[image].is_glibc)
		return 0;
	while (usable < size)
		usable += 16;
	while (pages < usable)
		pages += 4096;
	return (oracle_is_mapped(address, size) ? pages : usable) - size;
}

static void oracle_ask(struct oracle *o, int image, int site, uint64_t address, uint64_t size)
{
	struct heap_size_class *class;
	int i = 0;

	while (size > UINT64_C(16) << i)
		i++;
	o->site[site].sizes[i]++;
	class = &o->image[image].sizes[i];
	class->blocks++;
	class->bytes += size;
	class->slack_bytes += oracle_slack(o, image, address, size);
}

static int oracle_lifetime(uint64_t ns)
{
	uint64_t below = 1000;
	int i = 0;

	for (; ns >= below && i < LIFETIME_CLASSES - 1; below *= 10)
		i++;
	return i;
}

static struct oracle_moment oracle_now(const struct oracle *o, int image)
{
	struct oracle_moment now = { 0 };

	for (int i = 0; i < BLOCKS; i++) {
		const struct oracle_block *b = &o->block[i];

		if (!b->live || (image >= 0 ? b->image != image : o->image[b->image].ended))
			continue;
		now.bytes += b->size;
		now.blocks++;
		now.site_bytes[b->site] += b->size;
		now.site_blocks[b->site]++;
		now.site_slack[b->site] += oracle_slack(o, b->image, b->address, b->size);
	}
	now.time_ns = image >= 0 ? o->image[image].changed_ns : o->changed_ns;
	return now;
}

static void oracle_look(struct oracle *o)
{
	struct oracle_moment now = oracle_now(o, -1);

	if (now.bytes >= o->peak.bytes)
		o->peak = now;
	for (int i = 0; i < IMAGES; i++) {
		now = oracle_now(o, i);
		if (now.bytes >= o->image[i].peak.bytes)
			o->image[i].peak = now;
	}
}

static int oracle_find(const struct oracle *o, int image, uint64_t address)
{
	for (int i = 0; i < BLOCKS; i++)
		if (o->block[i].live && !o->block[i].inflight && o->block[i].image == image &&
		    o->block[i].address == address)
			return i;
	return -1;
}

static int oracle_class(uint64_t ns)
{
	return ns < 10000 ? 0 : ns < 1000000 ? 1 : ns < 100000000 ? 2 : 3;
}

static struct oracle_thread *thread_of(struct oracle *o, const struct heap_event *e)
{
	return &o->thread[o->lane_thread[e->lane]];
}

static void oracle_alloc(struct oracle *o, const struct heap_event *e)
{
	int i = 0;

	while (o->block[i].live)
		i++;
	cr_assert(i < BLOCKS);
	o->block[i] = (struct oracle_block){ .live = true,
					     .image = o->lane_image[e->lane],
					     .site = (int)e->site,
					     .thread = o->lane_thread[e->lane],
					     .address = e->address,
					     .size = e->size,
					     .born_ns = e->time_ns,
					     .made_by = ++o->operations };
	o->last_operation[o->lane_thread[e->lane]] = o->operations;
	o->site[e->site].allocations++;
	o->site[e->site].allocated += e->size;
	oracle_ask(o, o->lane_image[e->lane], (int)e->site, e->address, e->size);
	thread_of(o, e)->allocations++;
	thread_of(o, e)->allocated += e->size;
}

static void oracle_free(struct oracle *o, const struct heap_event *e, int i)
{
	struct oracle_image *image = &o->image[o->lane_image[e->lane]];
	long *last = &o->last_operation[o->lane_thread[e->lane]];

	o->operations++;
	if (i < 0)
		image->unknown_frees++;
	else {
		struct oracle_block *b = &o->block[i];
		struct oracle_site *s = &o->site[b->site];

		b->live = b->inflight = false;
		s->frees++;
		s->handed += b->thread != o->lane_thread[e->lane];
		thread_of(o, e)->handed[b->thread]++;
		thread_of(o, e)->handed_bytes[b->thread] += b->size;
		s->freed += b->size;
		s->lifetime_ns += e->time_ns - b->born_ns;
		s->lifetimes[oracle_lifetime(e->time_ns - b->born_ns)]++;
		s->temporary += *last == b->made_by;
		thread_of(o, e)->frees++;
		thread_of(o, e)->freed += b->size;
		thread_of(o, e)->temporary += *last == b->made_by;
		image->churn_bytes[oracle_class(e->time_ns - b->born_ns)] += b->size;
		image->churn_blocks[oracle_class(e->time_ns - b->born_ns)]++;
	}
	*last = o->operations;
}

static void oracle_realloc(struct oracle *o, const struct heap_event *e, int i)
{
	if (i < 0) { /* becomes known now, and is no candidate for a temporary */
		o->image[o->lane_image[e->lane]].unknown_frees++;
		oracle_alloc(o, e);
		o->last_operation[o->lane_thread[e->lane]] = ++o->operations;
		return;
	}

	struct oracle_block *b = &o->block[i];
	struct oracle_site *s = &o->site[e->site];

	s->reallocations++;
	s->allocated += e->size;
	s->freed += b->size;
	s->moved += b->address != e->address;
	if (b->address != e->address &&
	    !(o->image[b->image].is_glibc && oracle_is_mapped(b->address, b->size) &&
	      oracle_is_mapped(e->address, e->size)))
		s->copied += b->size < e->size ? b->size : e->size;
	oracle_ask(o, b->image, (int)e->site, e->address, e->size);
	thread_of(o, e)->reallocations++;
	thread_of(o, e)->allocated += e->size;
	thread_of(o, e)->freed += b->size;
	o->image[b->image].churn_bytes[oracle_class(e->time_ns - b->born_ns)] += b->size;
	b->inflight = false;
	b->site = (int)e->site;
	b->thread = o->lane_thread[e->lane];
	b->address = e->address;
	b->size = e->size;
	b->made_by = -1;
	o->last_operation[o->lane_thread[e->lane]] = ++o->operations;
}

static void oracle_apply(struct oracle *o, const struct heap_event *e)
{
	int image = o->lane_image[e->lane];
	int *held = &o->lane_block[e->lane];
	int i = oracle_find(o, image, e->address);
	bool changes = true;

	if (e->op == HEAP_ALLOC)
		oracle_alloc(o, e);
	else if (e->op == HEAP_FREE) {
		oracle_free(o, e, i);
		changes = i >= 0;
	} else if (e->op == HEAP_REALLOC_BEGIN) {
		*held = i;
		if (i >= 0)
			o->block[i].inflight = true;
		changes = false;
	} else if (e->op == HEAP_REALLOC_DONE)
		oracle_realloc(o, e, *held);
	else if (e->op == HEAP_REALLOC_FREED) {
		oracle_free(o, e, *held);
		changes = *held >= 0;
	} else {
		if (*held >= 0)
			o->block[*held].inflight = false;
		changes = false;
	}
	if (changes)
		o->changed_ns = o->image[image].changed_ns = e->time_ns;
	oracle_look(o);
}

static void oracle_end(struct oracle *o, int image, uint64_t time_ns)
{
	o->image[image].ended = true;
	o->changed_ns = time_ns;
	oracle_look(o);
}

/* --- random programs --------------------------------------------------------------------------*/

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
	for (unsigned int i = 0; i < SIZE_CLASSES; i++) {
		struct heap_size_class size = heap_model_size(t->model, (uint32_t)image, i);

		cr_assert_eq(size.blocks, o->sizes[i].blocks);
		cr_assert_eq(size.bytes, o->sizes[i].bytes);
		cr_assert_eq(size.slack_bytes, o->sizes[i].slack_bytes);
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

static struct profile_heap figures_of(const struct heap_model *model, uint32_t image)
{
	struct profile_heap f;

	heap_model_figures(model, image, &f);
	return f;
}

static void put(struct heap_model *model, uint32_t lane, enum heap_op op, uint64_t address,
		uint64_t size, uint32_t site)
{
	const struct heap_event event = {
		.address = address, .size = size, .site = site, .lane = lane, .op = op
	};

	heap_model_apply(model, &event, 1);
}

/* A thread that frees what all others allocated, one block of each and two of the last. */
Test(heap_model, keeps_as_many_pairs_of_threads_as_fit_and_the_sum_of_the_others)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model), site = heap_model_site(model, image);
	uint32_t taker = heap_model_lane(model, image);
	const int threads = 3000;
	struct profile_heap_site of_site;
	uint64_t pairs = 0;
	bool others = false;

	heap_model_thread(model, taker, 7, true);
	for (int i = 0; i < threads; i++) {
		uint32_t lane = heap_model_lane(model, image);

		heap_model_thread(model, lane, 1000 + i, true);
		put(model, lane, HEAP_ALLOC, 0x1000, 10, site);
		put(model, taker, HEAP_FREE, 0x1000, 0, 0);
	}
	for (size_t i = 0; i < heap_model_nr_handoffs(model, image); i++) {
		struct profile_heap_handoff f = heap_model_handoff(model, image, i);

		pairs += f.frees;
		cr_assert_eq(f.freed_bytes, 10 * f.frees);
		others |= f.from_tid == PROFILE_OTHER_THREADS &&
			  f.to_tid == PROFILE_OTHER_THREADS && f.frees == 3000 - 2048;
	}
	heap_model_site_figures(model, site, &of_site);
	cr_expect_eq(pairs, (uint64_t)threads);
	cr_expect_eq(of_site.cross_thread_frees, (uint64_t)threads);
	cr_expect(others);
	heap_model_free(model);
}

static uint64_t faults_of(const struct heap_model *model, uint32_t site)
{
	struct profile_heap_site f;

	heap_model_site_figures(model, site, &f);
	return f.page_faults;
}

Test(heap_model, charges_page_faults_to_the_block_around_them)
{
	struct heap_model *model = heap_model_new();

	heap_model_follow_faults(model);

	uint32_t image = heap_model_image(model), lane = heap_model_lane(model, image);
	uint32_t small = heap_model_site(model, image), large = heap_model_site(model, image);

	put(model, lane, HEAP_ALLOC, 0x10000, 100, small);
	put(model, lane, HEAP_ALLOC, 0x20010, 0x1000000, large);
	cr_expect(heap_model_fault(model, image, 0x10000 + 99));
	cr_expect_not(heap_model_fault(model, image, 0x10000 + 100), "behind it");
	cr_expect(heap_model_fault(model, image, 0x20008), "what the allocator writes before it");
	cr_expect(heap_model_fault(model, image, 0x20010 + 0xffffff));
	cr_expect_not(heap_model_fault(model, image, 0x20010 + 0x1000000));
	put(model, lane, HEAP_REALLOC_BEGIN, 0x20010, 0, 0);
	cr_expect_not(heap_model_fault(model, image, 0x20010));
	put(model, lane, HEAP_REALLOC_DONE, 0x5000010, 0x2000000, small);
	cr_expect_not(heap_model_fault(model, image, 0x30000));
	cr_expect(heap_model_fault(model, image, 0x5000010 + 0x1ffffff));
	put(model, lane, HEAP_FREE, 0x5000010, 0, 0);
	cr_expect_not(heap_model_fault(model, image, 0x5000010 + 0x1000));
	heap_model_fault_elsewhere(model, image);

	cr_expect_eq(faults_of(model, small), 2);
	cr_expect_eq(faults_of(model, large), 2);
	cr_expect_eq(figures_of(model, image).page_faults, 5);
	heap_model_end(model, image, 0);
	heap_model_free(model);
}

Test(heap_model, does_not_know_of_page_faults_that_nobody_tells_of)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model);

	cr_expect_eq(figures_of(model, image).page_faults, PROFILE_UNKNOWN);
	cr_expect_eq(figures_of(model, PROFILE_NONE).page_faults, PROFILE_UNKNOWN);
	heap_model_free(model);
}

/* --- what no correct program does -------------------------------------------------------------*/

Test(heap_model, keeps_what_a_child_has_from_its_parents_apart)
{
	struct heap_model *model = heap_model_new();
	uint32_t parent = heap_model_image(model), child = heap_model_image(model);
	uint32_t grandchild = heap_model_image(model);
	uint32_t site[] = { heap_model_site(model, parent), heap_model_site(model, child) };
	uint32_t lane[] = { heap_model_lane(model, parent), heap_model_lane(model, child),
			    heap_model_lane(model, grandchild) };
	struct profile_heap f;

	for (uint64_t i = 1; i <= 4; i++)
		put(model, lane[0], HEAP_ALLOC, 0x1000 * i, 100 * i, site[0]);
	heap_model_inherit(model, child, heap_model_fork(model, parent));
	put(model, lane[0], HEAP_FREE, 0x1000, 0, 0); /* the parent's only */

	put(model, lane[1], HEAP_FREE, 0x1000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_BEGIN, 0x2000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_DONE, 0x9000, 7, site[1]);
	put(model, lane[1], HEAP_REALLOC_BEGIN, 0x3000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_FAILED, 0, 0, 0);
	put(model, lane[1], HEAP_ALLOC, 0x1000, 50, site[1]);
	heap_model_figures(model, child, &f);
	cr_assert_eq(f.inherited_bytes, 1000);
	cr_assert_eq(f.inherited_frees, 2);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.frees, 0);
	cr_assert_eq(f.allocated_bytes, 57);
	cr_assert_eq(f.peak_bytes, 57);
	cr_assert_eq(f.unknown_frees, 0);

	heap_model_inherit(model, grandchild, heap_model_fork(model, child));
	heap_model_end(model, child, 0);
	put(model, lane[2], HEAP_FREE, 0x1000, 0, 0);
	put(model, lane[2], HEAP_FREE, 0x3000, 0, 0);
	heap_model_figures(model, grandchild, &f);
	cr_assert_eq(f.inherited_bytes, 57 + 700);
	cr_assert_eq(f.inherited_frees, 2);

	heap_model_figures(model, parent, &f);
	cr_assert_eq(f.live_bytes, 900);
	cr_assert_eq(f.frees, 1);
	heap_model_figures(model, PROFILE_NONE, &f);
	cr_assert_eq(f.live_bytes, 957);
	cr_assert_eq(f.peak_bytes, 1000, "only what is somebody's own");
	heap_model_free(model);
}

Test(heap_model, forgets_an_image_that_held_nothing_at_the_peak)
{
	struct heap_model *model = heap_model_new();
	uint32_t a = heap_model_image(model), b = heap_model_image(model), site, lane;
	struct profile_heap_site s;
	struct profile_heap f;

	site = heap_model_site(model, a);
	lane = heap_model_lane(model, a);
	put(model, lane, HEAP_ALLOC, 0x1000, 100, site);
	cr_assert_not(heap_model_is_settled(model, a), "it lives");
	heap_model_end(model, a, 0);
	cr_assert_not(heap_model_is_settled(model, a), "its block is the peak");

	lane = heap_model_lane(model, b);
	put(model, lane, HEAP_ALLOC, 0x1000, 100, heap_model_site(model, b));
	cr_assert(heap_model_is_settled(model, a), "that of two equal peaks is the later one");
	heap_model_retire(model, a);
	heap_model_figures(model, PROFILE_NONE, &f);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.live_bytes, 200);
	cr_assert_eq(f.peak_bytes, 100);

	cr_assert_eq(heap_model_image(model), a);
	cr_assert_eq(heap_model_site(model, a), site);
	heap_model_site_figures(model, site, &s);
	cr_assert_eq(s.allocations, 0);
	heap_model_figures(model, a, &f);
	cr_assert_eq(f.allocations, 0);
	heap_model_free(model);
}

Test(heap_model, takes_a_block_allocated_twice_as_freed_in_between)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model);
	uint32_t lane = heap_model_lane(model, image);
	uint32_t site = heap_model_site(model, image);
	const struct heap_event events[] = {
		{ .op = HEAP_ALLOC, .address = 0x10, .size = 100, .site = site, .lane = lane },
		{ .op = HEAP_ALLOC, .address = 0x10, .size = 30, .site = site, .lane = lane },
	};

	heap_model_apply(model, events, ARRAY_SIZE(events));

	struct profile_heap f = figures_of(model, image);

	cr_assert_eq(heap_model_duplicates(model, image), 1);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.frees, 1);
	cr_assert_eq(f.live_bytes, 30);
	cr_assert_eq(f.live_blocks, 1);
	cr_assert_eq(f.peak_bytes, 100);
	cr_assert_not(f.peak_exact, "the first block may have been gone long before");
	heap_model_free(model);
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

	struct profile_heap f = figures_of(model, image);

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

Test(heap_model, calls_no_peak_exact_when_events_came_late_or_never)
{
	struct heap_model *model = heap_model_new();
	uint32_t late = heap_model_image(model), lost = heap_model_image(model);
	uint32_t clean = heap_model_image(model);

	cr_assert(figures_of(model, PROFILE_NONE).peak_exact);
	heap_model_late(model, late, 1);
	heap_model_lost(model, lost, 7);

	cr_assert_not(figures_of(model, late).peak_exact);
	cr_assert_not(figures_of(model, lost).peak_exact);
	cr_assert(figures_of(model, clean).peak_exact);
	cr_assert_not(figures_of(model, PROFILE_NONE).peak_exact);
	cr_assert_eq(figures_of(model, PROFILE_NONE).lost_events, 7);
	heap_model_free(model);
}

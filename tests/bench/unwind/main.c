/* SPDX-License-Identifier: MIT */
/*
 * usage: bench_unwind [ROUNDS]
 * What it costs to walk a stack, as lines of
 *
 *	group TAB variant TAB figure TAB nanoseconds
 *
 * Of CPU time, the least of ROUNDS (30) batches in turn: what disturbs one makes it slower only.
 */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "samplers.h"
#include "stack.h"
#include "walkers.h"

enum {
	BATCH = 2000, /* walks that are timed at once */
	CHANGED =
		3,  /* calls that differ from one walk to the next; the one that walks makes four */
	PATHS = 64, /* of those calls */
	SAMPLE_FRAMES = 30,
	SAMPLES = 16,
	WALKERS_MAX = 8,
	FIRST_CALLS = 11, /* counting frames would not be the first walk */
};

static int rounds = 30;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void keep_least(double *least, double ns)
{
	if (!*least || ns < *least)
		*least = ns;
}

static void show(const char *group, const char *variant, const char *figure, double ns)
{
	printf("%s\t%s\t%s\t%.2f\n", group, variant, figure, ns);
}

/* --- walks of the own stack ------------------------------------------------------------------- */

struct times {
	double unchanged, changed, all_new;
};

struct bench {
	const struct walker *walker;
	struct times *least;
	struct path inner[PATHS];
};

static void walk_once(void *arg)
{
	((const struct bench *)arg)->walker->walk();
}

/* The callers of this function stay. */
static void time_walks(void *arg)
{
	struct bench *bench = arg;
	const struct walker *walker = bench->walker;
	double start;

	walker->walk();
	start = now_ns();
	for (int i = 0; i < BATCH; i++)
		walker->walk();
	keep_least(&bench->least->unchanged, (now_ns() - start) / BATCH);

	start = now_ns();
	for (int i = 0; i < BATCH; i++) {
		if (walker->forget)
			walker->forget();
		walker->walk();
	}
	keep_least(&bench->least->all_new, (now_ns() - start) / BATCH);
}

/* In an order that nobody predicts: else a CPU learns it where nothing is walked, and forgets it where
 * something is, and the program's own calls are charged to the walk. */
static void time_changes(void *arg)
{
	static uint32_t order[BATCH], seed;
	struct bench *bench = arg;
	double start;

	for (int i = 0; i < BATCH; i++) {
		seed = seed * 1664525 + 1013904223;
		order[i] = (seed >> 16) % PATHS;
	}
	start = now_ns();
	for (int i = 0; i < BATCH; i++)
		path_descend(&bench->inner[order[i]], CHANGED, walk_once, bench);
	keep_least(&bench->least->changed, (now_ns() - start) / BATCH);
}

static void count_frames(void *arg)
{
	void *frames[PATH_MAX_CALLS];

	*(int *)arg = backtrace(frames, PATH_MAX_CALLS) - 1;
}

/* Calls that make the stack of the last one's caller `depth` frames deep. */
static inline __attribute__((always_inline)) int calls_to(int depth)
{
	struct path path = path_make(0);
	int nr = 0;

	path_descend(&path, 0, count_frames, &nr);
	return depth - nr;
}

NOINLINE static void walk_own(const char *group, int depth)
{
	static struct bench bench;
	struct times times[WALKERS_MAX + 1] = { 0 }, *none = &times[walkers_nr()];
	int calls = calls_to(depth);

	for (uint32_t i = 0; i < PATHS; i++)
		bench.inner[i] = path_make(i + 1);
	for (int round = 0; round < rounds; round++) {
		struct path path = path_make((uint32_t)round % 4);

		for (size_t i = 0; i <= walkers_nr(); i++) {
			bench.walker = i < walkers_nr() ? &walkers[i] : &walkers_none;
			bench.least = &times[i];
			path_descend(&path, calls, time_walks, &bench);
			/* Those of the way there and two of this file's. */
			path_descend(&path, calls - CHANGED - 2, time_changes, &bench);
		}
	}
	for (size_t i = 0; i < walkers_nr(); i++) {
		show(group, walkers[i].name, "same_ns", times[i].unchanged - none->unchanged);
		show(group, walkers[i].name, "changed_ns", times[i].changed - none->changed);
		show(group, walkers[i].name, "new_ns", times[i].all_new - none->all_new);
		show(group, walkers[i].name, "frame_ns",
		     (times[i].all_new - none->all_new) / depth);
	}
}

static void walk_first(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < walkers_nr(); i++) {
		double start = now_ns();

		walkers[i].walk();
		show("first", walkers[i].name, "first_ns", now_ns() - start);
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

static struct sample samples[SAMPLES];

static void take(void *arg)
{
	sample_take(arg);
}

/* All of them have as many frames, two of which are those that take them. */
NOINLINE static void take_samples(void)
{
	int calls = calls_to(SAMPLE_FRAMES) - 2;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct path path = path_make(i);

		path_descend(&path, calls, take, &samples[i]);
	}
}

static void walk_all_once(const struct sampler *sampler, void *state)
{
	for (int i = 0; i < SAMPLES; i++) {
		size_t nr = sampler->walk(state, &samples[i]);

		if (nr != SAMPLE_FRAMES) {
			fprintf(stderr, "bench_unwind: %s: a sample of %zu frames\n", sampler->name,
				nr);
			exit(1);
		}
	}
}

static void time_sampler(const struct sampler *sampler, struct times *least)
{
	void *state = sampler->new_state();
	double start;

	walk_all_once(sampler, state);
	start = now_ns();
	for (int i = 0; i < BATCH; i++)
		sampler->walk(state, &samples[0]);
	keep_least(&least->unchanged, (now_ns() - start) / BATCH);
	start = now_ns();
	for (int i = 0; i < BATCH; i++)
		sampler->walk(state, &samples[i % SAMPLES]);
	keep_least(&least->all_new, (now_ns() - start) / BATCH);
	sampler->free(state);
}

NOINLINE static void walk_samples(void)
{
	struct times times[SAMPLERS_NR] = { 0 };

	samplers_init();
	take_samples();
	for (size_t i = 0; i < SAMPLERS_NR; i++) {
		void *state = samplers[i].new_state();
		double start = now_ns();

		samplers[i].walk(state, &samples[0]);
		show("first", samplers[i].name, "first_ns", now_ns() - start);
		samplers[i].free(state);
	}
	for (int round = 0; round < (rounds + 3) / 4; round++)
		for (size_t i = 0; i < SAMPLERS_NR; i++)
			time_sampler(&samplers[i], &times[i]);
	for (size_t i = 0; i < SAMPLERS_NR; i++) {
		show("sample", samplers[i].name, "same_ns", times[i].unchanged);
		show("sample", samplers[i].name, "new_ns", times[i].all_new);
		show("sample", samplers[i].name, "frame_ns", times[i].all_new / SAMPLE_FRAMES);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (size_t i = 0; i < walkers_nr(); i++)
		if (!walkers[i].is_there()) {
			fprintf(stderr, "bench_unwind: not there: %s\n", walkers[i].name);
			return 1;
		}
	struct path path = path_make(0);

	path_descend(&path, FIRST_CALLS, walk_first, NULL);
	walk_own("15", 15);
	walk_own("60", 60);
	walk_samples();
	return 0;
}

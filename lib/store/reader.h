/* SPDX-License-Identifier: MIT */
/*
 * reader - gets a profile out of its file.
 *
 *	struct profile *profile;
 *
 *	if (profile_open(&profile, "cprof.data", &err) < 0)
 *		return err.code;
 *	for (size_t i = 0; i < profile->nr_modules; i++)
 *		use(&profile->modules[i]);		// modules[i].id == i
 *	profile_free(profile);
 *
 * The file is data from outside: it is opened read-only and defensively, its schema is compared
 * with ours, and every id in it is checked, so that what profile_open() returns can be indexed
 * without further checks; parents of processes form no circles.  Messages: not there, empty, not a
 * profile, truncated or damaged (ERR_FORMAT), of another format version (ERR_VERSION).
 *
 * A recording in progress is read as of its last commit.  What a recorder that was killed within a
 * commit left behind is rolled back in a copy; nothing is ever written to the file or beside it.
 */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "base/error.h"
#include "store/profile.h"

/* Text that writer_put_meta() put. */
struct profile_meta {
	const char *key;
	const char *value;
};

struct profile {
	const char *path; /* NULL: the profile is in memory only */
	struct profile_run run;
	bool symbolized;  /* names have been resolved */
	bool in_progress; /* a recorder was writing it as it was read */
	struct profile_meta *meta;
	size_t nr_meta;

	/* Indexed by id. */
	struct profile_event *events;
	size_t nr_events;
	struct profile_process *processes;
	size_t nr_processes;
	struct profile_thread *threads;
	size_t nr_threads;
	struct profile_module *modules;
	size_t nr_modules;
	struct profile_address *addresses;
	size_t nr_addresses;
	struct profile_stack *stacks;
	size_t nr_stacks;
	struct profile_function *functions;
	size_t nr_functions;

	/* In memory only; those of a file are many: profile_each_sample(). */
	struct profile_sample *samples;
	size_t nr_samples;

	/* Of a file, what the totals are made of. */
	struct profile_first_sample *first_samples;
	size_t nr_first_samples;
	struct profile_sample_sum *sample_sums; /* by first */
	size_t nr_sample_sums;

	struct profile_total *totals;
	size_t nr_totals;
	struct profile_heap *heaps; /* the whole tree, if there, first */
	size_t nr_heaps;
	struct profile_heap_site *heap_sites;
	size_t nr_heap_sites;
	struct profile_heap_thread *heap_threads; /* by process, then tid */
	size_t nr_heap_threads;
	struct profile_heap_handoff *heap_handoffs; /* by process, then the threads */
	size_t nr_heap_handoffs;
	struct profile_heap_size *heap_sizes; /* by process, then size */
	size_t nr_heap_sizes;
	struct profile_slice *slices; /* by process, the whole tree first, then time */
	size_t nr_slices;
	struct profile_memory *memory; /* by process, then time */
	size_t nr_memory;
	struct profile_quality *quality;
	size_t nr_quality;

	/*
	 * Sorted by (address, depth): those of address a are frames[first_frame[a]] up to, not
	 * including, frames[first_frame[a + 1]].  An address without names has none.
	 */
	struct profile_frame *frames;
	size_t nr_frames;
	uint32_t *first_frame; /* nr_addresses + 1 */
};

int profile_open(struct profile **profile, const char *path, struct error *err);
void profile_free(struct profile *profile);

/* NULL if there is none of this key. */
const char *profile_meta_value(const struct profile *profile, const char *key);

/*
 * Whether what this stack was doing was cprof's own work, which counts in no percentage: its
 * innermost frame outside the kernel is in a module of PROFILE_MODULE_SELF.
 */
bool profile_is_overhead(const struct profile *profile, uint32_t stack);

/*
 * Calls use() for each sample in the order of time, until it returns non-zero; that is returned.
 * Only those that were there at profile_open().
 */
int profile_each_sample(const struct profile *profile,
			int (*use)(void *context, const struct profile_sample *sample),
			void *context, struct error *err);

#endif

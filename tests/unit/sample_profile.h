/* SPDX-License-Identifier: MIT */
/*
 * sample_profile - a small profile that has everything: every kind of row, absent values, text that
 * is not UTF-8, numbers that need 64 bits.
 */
#ifndef TESTS_UNIT_SAMPLE_PROFILE_H
#define TESTS_UNIT_SAMPLE_PROFILE_H

#include "store/writer.h"

extern const struct profile_run sample_run;
extern const struct profile_event sample_events[2];
extern const struct profile_process sample_processes[2];
extern const struct profile_thread sample_threads[2];
extern const struct profile_module sample_modules[3];
extern const struct profile_address sample_addresses[5];
extern const struct profile_stack sample_stacks[5];
extern const struct profile_first_sample sample_first_samples[3];
extern const struct profile_later_sample sample_later_samples[4];
extern const struct profile_sample_sum sample_sample_sums[2];
extern const struct profile_sample sample_samples[7];
extern const struct profile_total sample_totals[3];
extern const struct profile_heap sample_heaps[2];
extern const struct profile_heap_site sample_heap_sites[1];
extern const struct profile_heap_size sample_heap_sizes[3];
extern const struct profile_heap_thread sample_heap_threads[2];
extern const struct profile_heap_handoff sample_heap_handoffs[2];
extern const struct profile_slice sample_slices[3];
extern const struct profile_memory sample_memory[2];
extern const struct profile_function sample_functions[2];
extern const struct profile_frame sample_frames[3];
extern const struct profile_quality sample_quality[2];

/* All of it into an open transaction. */
void sample_profile_put(struct writer *writer);
void sample_profile_write(const char *path);

/* These fail the test if they fail. */
struct writer *sample_profile_writer(const char *path);
void sample_profile_commit(struct writer *writer);

/* For .init and .fini: the working directory becomes an empty one below /tmp, then is removed. */
void enter_test_folder(void);
void leave_test_folder(void);

#endif

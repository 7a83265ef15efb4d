/* SPDX-License-Identifier: MIT */
#include "report/analyze/unsampled.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "toy_profile.h"

enum { MS = 1000000 };

/* Threads that use so much each, and the samples that those have which get to any. */
struct threads {
	unsigned int nr, nr_sampled;
	double used_ms;
	uint64_t samples;
};

static struct toy *run(struct threads threads)
{
	struct toy *toy = toy_new();
	struct profile_event *event = toy_event(toy, "cpu-clock", "ns");
	uint32_t stack = toy_stack(toy, "main", NULL);

	event->frequency_hz = 1000;
	event->value = threads.nr * threads.used_ms * MS;
	for (unsigned int i = 1; i < threads.nr; i++)
		toy_thread(toy, 0, (int)(1000 + i), "worker");
	for (uint32_t i = 0; i < threads.nr_sampled; i++)
		toy_sample_thread(toy, stack, i, "cpu-clock", threads.samples, MS);
	return toy;
}

static struct unsampled find(struct toy *toy)
{
	struct unsampled unsampled;

	unsampled_find(&unsampled, toy_profile(toy));
	toy_free(toy);
	return unsampled;
}

static bool is_material(struct threads threads)
{
	struct unsampled unsampled = find(run(threads));

	return unsampled_is_material(&unsampled);
}

static const struct threads short_ones = {
	.nr = 200, .nr_sampled = 20, .used_ms = 0.5, .samples = 1
};

Test(unsampled, is_what_was_counted_beyond_the_samples)
{
	struct unsampled found = find(run(short_ones));

	cr_expect(epsilon_eq(dbl, found.period, 1e6, 1e-6));
	cr_expect(epsilon_eq(dbl, found.samples, 80, 1e-6));
	cr_expect(epsilon_eq(dbl, found.share, 0.8, 1e-6));
	cr_expect(eq(u64, found.nr_threads, 200));
	cr_expect(eq(u64, found.nr_silent, 180));
	cr_expect(unsampled_is_material(&found));
}

Test(unsampled, is_no_matter_of_programs_whose_threads_run_for_long)
{
	cr_expect(is_material((struct threads){ 200, 200, 2.0, 1 }));
	cr_expect_not(is_material((struct threads){ 200, 200, 10.0, 9 }));
	cr_expect_not(is_material((struct threads){ 1, 1, 1.0, 0 }), "one thread");
	cr_expect_not(is_material((struct threads){ 20, 0, 0.5, 0 }), "10 ms in all");
	cr_expect_not(is_material((struct threads){ 0 }));
}

Test(unsampled, is_more_where_interrupts_come_late)
{
	struct unsampled found = find(run((struct threads){ 2, 2, 400.0, 250 }));

	cr_expect(found.late);
	cr_expect(epsilon_eq(dbl, found.samples, 300, 1e-6));
	cr_expect(unsampled_is_material(&found));
	cr_expect_not(find(run(short_ones)).late);
	cr_expect_not(is_material((struct threads){ 2, 2, 400.0, 350 }), "an eighth");
}

Test(unsampled, is_not_told_of_samples_that_got_lost)
{
	static const struct {
		enum profile_quality_kind kind;
		const char *detail;
	} others[] = {
		{ PROFILE_THROTTLED, "too many interrupts" },
		{ PROFILE_INTERRUPTED, "the recording was ended" },
		{ PROFILE_LOST, PROFILE_LOST_SAMPLES },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct toy *toy = run(short_ones);

		toy_quality(toy, others[i].kind, 1, others[i].detail);
		cr_expect(eq(dbl, find(toy).samples, 0));
	}
}

Test(unsampled, is_not_told_where_more_is_counted_than_is_sampled)
{
	static const char *const names[] = { "cpu-clock:u", "cpu-time" };
	struct toy *toy = run(short_ones);

	toy_run(toy)->user_only = true;
	cr_expect(eq(dbl, find(toy).samples, 0));
	for (size_t i = 0; i < 2; i++) {
		toy = toy_new();
		toy_event(toy, names[i], "ns")->value = 100.0 * MS;
		for (int tid = 1001; tid < 1200; tid++)
			toy_thread(toy, 0, tid, "worker");
		cr_expect(eq(dbl, find(toy).samples, 0), "%s", names[i]);
	}
}

Test(unsampled, takes_the_period_that_was_asked_for)
{
	struct toy *toy = toy_new();
	struct profile_event *event = toy_event(toy, "cycles", "cycles");

	event->period = 1000;
	event->value = 50000;
	for (int tid = 1001; tid < 1100; tid++)
		toy_thread(toy, 0, tid, "worker");
	cr_expect(epsilon_eq(dbl, find(toy).samples, 50, 1e-6));
}

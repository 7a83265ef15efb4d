/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/events/ladder.h"

/* A kernel as a test wants it. */
struct machine {
	int refuses_all;	/* errno; 0: does not */
	bool is_lenient;	/* by its sysctl and without a filter of system calls */
	bool refuses_kernel;	/* with EACCES */
	bool has_pmu;		/* hardware events */
	int most_precise;	/* precise_ip above it is EOPNOTSUPP */
	bool precise_is_lonely; /* precise leaders take no hardware members (EINVAL) */
	uint64_t missing;	/* bit: PERF_COUNT_HW_* that the PMU has not */
	int counters;		/* hardware events in a group; 0: no limit */

	int nr_open, hardware_open, leader_precise;
};

static int refusal(struct machine *machine, const struct perf_event_attr *attr, int group_fd)
{
	if (machine->refuses_all)
		return machine->refuses_all;
	if (machine->refuses_kernel && !attr->exclude_kernel)
		return EACCES;
	if (attr->type == PERF_TYPE_SOFTWARE)
		return 0;
	if (!machine->has_pmu || machine->missing >> attr->config & 1)
		return ENOENT;
	if (attr->precise_ip > machine->most_precise)
		return EOPNOTSUPP;
	if (group_fd >= 0 && machine->precise_is_lonely && machine->leader_precise)
		return EINVAL;
	if (group_fd >= 0 && machine->counters && machine->hardware_open >= machine->counters)
		return EINVAL;
	return 0;
}

static int fake_open(void *context, const struct perf_event_attr *attr, int group_fd)
{
	struct machine *machine = context;
	int refused = refusal(machine, attr, group_fd);

	cr_assert(eq(int, group_fd < 0, (int)attr->disabled), "only a leader starts disabled");
	if (refused)
		return -refused;
	if (group_fd < 0) {
		machine->hardware_open = 0;
		machine->leader_precise = attr->precise_ip;
	}
	machine->hardware_open += attr->type != PERF_TYPE_SOFTWARE;
	return 100 + machine->nr_open++;
}

static void fake_close(void *context, int fd)
{
	(void)fd;
	((struct machine *)context)->nr_open--;
}

static struct event_types wanted;
static struct ladder ladder;

static int climb_list(struct machine *machine, const char *list, struct error *err)
{
	static const struct sampling sampling = { .frequency_hz = 997,
						  .call_graph = CALL_GRAPH_STACKS,
						  .stack_bytes = SAMPLING_STACK_BYTES };
	bool is_strict = !machine->is_lenient;
	struct access access = { .paranoid = is_strict && machine->refuses_all == EACCES ? 3 : 2,
				 .seccomp = is_strict && machine->refuses_all == EPERM,
				 .has_pmu = machine->has_pmu };
	struct ladder_probe probe = { fake_open, fake_close, machine };
	int ret;

	cr_assert(eq(int, event_types_parse(&wanted, list, err), 0));
	ret = ladder_climb(&ladder, &wanted, &sampling, &access, &probe, err);
	cr_assert(eq(int, machine->nr_open, 0), "nothing stays open");
	return ret;
}

static int climb(struct machine *machine)
{
	struct error err = ERROR_INIT;

	return climb_list(machine, event_types_default, &err);
}

static void end(void)
{
	ladder_release(&ladder);
	event_types_release(&wanted);
}

TestSuite(ladder, .fini = end);

Test(ladder, with_everything_there_nothing_is_given_up)
{
	struct machine machine = { .has_pmu = true, .most_precise = 3 };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(sz, ladder.nr, 4));
	cr_assert(eq(sz, ladder.nr_sampled, 4));
	cr_assert(eq(str, (char *)ladder.events[0].type->name, (char *)"cycles"));
	cr_assert(eq(int, ladder.limits.precise, 2));
	cr_assert(not(ladder.limits.user_only));
	cr_assert(zero(ptr, ladder.events[0].reason));
}

Test(ladder, takes_the_precision_there_is)
{
	struct machine machine = { .has_pmu = true, .most_precise = 1 };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(int, ladder.limits.precise, 1));
	cr_assert(eq(sz, ladder.nr_sampled, 4));
}

Test(ladder, members_are_worth_more_than_precision)
{
	struct machine machine = { .has_pmu = true, .most_precise = 3, .precise_is_lonely = true };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(int, ladder.limits.precise, 0));
	cr_assert(eq(sz, ladder.nr_sampled, 4));
}

Test(ladder, precision_is_not_given_up_for_a_member_that_is_missing_anyway)
{
	struct machine machine = { .has_pmu = true,
				   .most_precise = 2,
				   .missing = 1 << PERF_COUNT_HW_CACHE_MISSES };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(int, ladder.limits.precise, 2));
	cr_assert(eq(sz, ladder.nr_sampled, 3));
	cr_assert(eq(int, ladder.events[3].state, LADDER_NOT_SUPPORTED));
	cr_assert(eq(str, (char *)ladder.events[3].type->name, (char *)"cache-misses"));
	cr_assert(eq(str, ladder.events[3].reason,
		     (char *)"the PMU of this CPU offers no 'cache-misses'"));
}

Test(ladder, members_that_do_not_fit_are_left_out_from_the_end)
{
	struct machine machine = { .has_pmu = true, .counters = 2 };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(sz, ladder.nr_sampled, 2));
	cr_assert(eq(str, (char *)ladder.events[1].type->name, (char *)"instructions"));
	cr_assert(not(zero(ptr, ladder.events[2].reason)));
}

Test(ladder, an_ordinary_user_samples_user_code)
{
	struct machine machine = { .has_pmu = true, .most_precise = 2, .refuses_kernel = true };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(ladder.limits.user_only);
	cr_assert(eq(int, ladder.limits.precise, 2));
	cr_assert(eq(sz, ladder.nr_sampled, 4));
}

Test(ladder, without_a_pmu_the_clock_is_sampled_under_its_own_name)
{
	struct machine machine = { .refuses_kernel = true };

	cr_assert(eq(int, climb(&machine), 0));
	cr_assert(eq(sz, ladder.nr_sampled, 1));
	cr_assert(eq(str, (char *)ladder.events[0].type->name, (char *)"cpu-clock"));
	cr_assert(eq(str, (char *)ladder.events[0].substituted_for, (char *)"cycles"));
	cr_assert(eq(str, ladder.events[0].reason,
		     (char *)"no hardware PMU (perf offers no 'cycles' here, as in most VMs): "
			     "sampled cpu-clock; IPC not available"));
	cr_assert(ladder.limits.user_only);

	cr_assert(eq(sz, ladder.nr, 5));
	for (size_t i = 1; i < ladder.nr; i++) {
		cr_assert(eq(int, ladder.events[i].state, LADDER_NOT_SUPPORTED));
		cr_assert(not(zero(ptr, ladder.events[i].reason)));
	}
}

Test(ladder, software_members_stay_with_the_clock)
{
	struct machine machine = { 0 };
	struct error err = ERROR_INIT;

	cr_assert(eq(int, climb_list(&machine, "cycles,cpu-clock,page-faults,cs", &err), 0));
	cr_assert(eq(sz, ladder.nr_sampled, 3));
	cr_assert(eq(str, (char *)ladder.events[1].type->name, (char *)"page-faults"));
	cr_assert(eq(str, (char *)ladder.events[2].type->name, (char *)"context-switches"));
	cr_assert(eq(sz, ladder.nr, 4), "the clock is not there twice");
}

static void expect_refusal_by(struct machine machine, const char *message)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, climb_list(&machine, event_types_default, &err), ERR_REFUSED));
	cr_assert(eq(int, err.code, ERR_REFUSED));
	cr_assert(strstr(err.message, message) != NULL, "'%s' in: %s", message, err.message);
	cr_assert(ne(str, err.hint, (char *)""));
	end();
}

static void expect_refusal(int errno_value, const char *message)
{
	expect_refusal_by((struct machine){ .refuses_all = errno_value }, message);
}

Test(ladder, names_the_sysctl_that_refuses)
{
	expect_refusal(EACCES, "kernel.perf_event_paranoid is 3");
}

Test(ladder, names_the_filter_that_refuses)
{
	expect_refusal(EPERM, "seccomp");
}

Test(ladder, names_the_limit_of_files)
{
	expect_refusal(EMFILE, "file descriptors");
}

Test(ladder, names_what_it_was_told_where_nothing_known_refuses)
{
	expect_refusal_by((struct machine){ .refuses_all = EACCES, .is_lenient = true },
			  "perf_event_open is refused: Permission denied");
	expect_refusal_by((struct machine){ .refuses_all = EPERM, .is_lenient = true },
			  "perf_event_open is refused: Operation not permitted");
}

Test(ladder, what_no_one_expects_is_not_supported)
{
	struct machine machine = { .refuses_all = ENOMEM };
	struct error err = ERROR_INIT;

	cr_assert(eq(int, climb_list(&machine, event_types_default, &err), ERR_UNSUPPORTED));
	cr_assert(eq(int, err.code, ERR_UNSUPPORTED));
	cr_assert(eq(str, err.message, (char *)"open event 'cycles': Cannot allocate memory"));
}

Test(ladder, a_kernel_without_perf_is_not_a_refusal)
{
	struct machine machine = { .refuses_all = ENOSYS };
	struct error err = ERROR_INIT;

	cr_assert(eq(int, climb_list(&machine, event_types_default, &err), ERR_UNSUPPORTED));
	cr_assert(eq(str, err.message, (char *)"this kernel is built without perf events"));
}

Test(ladder, an_event_of_the_kernel_is_not_sampled_without_the_kernel)
{
	struct machine machine = { .has_pmu = true, .most_precise = 3, .refuses_kernel = true };
	struct error err = ERROR_INIT;

	cr_assert(eq(int, climb_list(&machine, "cycles:k", &err), ERR_REFUSED));
	cr_expect(ne(ptr, strstr(err.message, "'cycles:k' is of the kernel"), NULL), "%s",
		  err.message);
	end();
	cr_assert(eq(int, climb_list(&machine, "cycles,instructions:k", &err), 0));
	cr_expect(eq(sz, ladder.nr_sampled, 1));
	cr_expect(eq(int, ladder.events[1].state, LADDER_NOT_PERMITTED));
}

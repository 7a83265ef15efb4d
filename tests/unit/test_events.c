/* SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "arch/perf_regs.h"
#include "record/events/cpus.h"
#include "record/events/event_types.h"
#include "record/events/sampling.h"

static struct event_types types;
static struct cpus cpus;

static void end(void)
{
	event_types_release(&types);
	cpus_release(&cpus);
}

TestSuite(event_types, .fini = end);
TestSuite(cpus, .fini = end);

Test(event_types, keeps_the_order_and_resolves_aliases)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, event_types_parse(&types, "faults,cpu-clock,cs", &err), 0));
	cr_assert(eq(sz, types.nr, 3));
	cr_assert(eq(str, (char *)types.at[0].name, (char *)"page-faults"));
	cr_assert(eq(str, (char *)types.at[1].name, (char *)"cpu-clock"));
	cr_assert(eq(str, (char *)types.at[1].unit, (char *)"ns"));
	cr_assert(eq(str, (char *)types.at[2].name, (char *)"context-switches"));
}

Test(event_types, an_unknown_name_gets_a_suggestion)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, event_types_parse(&types, "cylces", &err), ERR_USAGE));
	cr_assert(eq(str, err.message, (char *)"there is no event 'cylces'"));
	cr_assert(eq(str, err.hint, (char *)"did you mean 'cycles'?"));
}

Test(event_types, refuses_empty_and_double_names)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, event_types_parse(&types, "", &err), ERR_USAGE));
	cr_assert(eq(int, event_types_parse(&types, "cycles,", &err), ERR_USAGE));
	event_types_release(&types);
	cr_assert(eq(int, event_types_parse(&types, "page-faults,faults", &err), ERR_USAGE));
}

Test(event_types, the_default_list_is_known)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, event_types_parse(&types, event_types_default, &err), 0));
	cr_assert(eq(str, (char *)types.at[0].name, (char *)"cycles"));
}

/* The only event of the list, or one without a name and the error's code in config. */
static struct event_type event_of(const char *list)
{
	struct error err = ERROR_INIT;

	if (event_types_parse(&types, list, &err) < 0 || types.nr != 1)
		return (struct event_type){ .config = (uint64_t)err.code };
	return types.at[0];
}

Test(event_types, modifiers_say_what_is_counted)
{
	struct event_type user = event_of("cpu-cycles:u");

	cr_assert(eq(str, (char *)user.name, (char *)"cycles:u"));
	cr_assert(user.exclude_kernel && !user.exclude_user);
	end();
	cr_assert(event_of("cycles:k").exclude_user);
	end();
	cr_assert(not(event_of("cycles:uk").exclude_kernel));
	end();
	cr_assert(eq(u64, event_of("cycles:p").config, (uint64_t)ERR_USAGE));
}

Test(event_types, a_raw_code_is_hexadecimal)
{
	struct event_type raw = event_of("r01C2:u");

	cr_assert(eq(u32, raw.type, PERF_TYPE_RAW));
	cr_assert(eq(u64, raw.config, 0x1c2));
	cr_assert(raw.exclude_kernel);
	end();
	cr_assert(eq(u64, event_of("r").config, (uint64_t)ERR_USAGE));
	end();
	cr_assert(eq(u64, event_of("r12345678901234567").config, (uint64_t)ERR_USAGE));
}

Test(event_types, braces_make_groups)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, event_types_parse(&types, "cs,{cycles,branches}:u,{faults}", &err), 0));
	cr_assert(eq(sz, types.nr, 4));
	cr_assert(eq(u32, types.at[0].group, 0));
	cr_assert(eq(u32, types.at[1].group, 1));
	cr_assert(eq(u32, types.at[2].group, 1));
	cr_assert(eq(u32, types.at[3].group, 2));
	cr_assert(types.at[2].exclude_kernel && !types.at[3].exclude_kernel);
	cr_assert(eq(str, (char *)types.at[2].name, (char *)"branches:u"));
}

Test(event_types, refuses_braces_that_do_not_match)
{
	static const char *const bad[] = { "{cycles",	 "cycles}", "{cycles,{cs}}", "{}",
					   "{cycles}cs", "a/b",	    "{cs}:x",	     "{cycles},",
					   "cs:",	 "{cs}:",   "software/cs/:" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = ERROR_INIT;

		cr_expect(eq(int, event_types_parse(&types, bad[i], &err), ERR_USAGE), "%s",
			  bad[i]);
		end();
	}
}

Test(event_types, the_software_pmu_of_sysfs_is_known)
{
	if (access("/sys/bus/event_source/devices/software/type", R_OK))
		cr_skip_test("no perf events in sysfs");
	struct event_type type = event_of("software/config=2/u");

	cr_assert(eq(str, (char *)type.name, (char *)"software/config=2/u"));
	cr_assert(eq(u32, type.type, PERF_TYPE_SOFTWARE));
	cr_assert(eq(u64, type.config, PERF_COUNT_SW_PAGE_FAULTS));
	cr_assert(type.exclude_kernel);
}

Test(event_types, names_that_only_libpfm_has_are_those_of_the_kernels_events)
{
#ifndef HAVE_PFM
	cr_skip_test("built without libpfm");
#endif
	struct event_type type = event_of("perf::PERF_COUNT_SW_PAGE_FAULTS:u");

	cr_assert(eq(u32, type.type, PERF_TYPE_SOFTWARE));
	cr_assert(eq(u64, type.config, PERF_COUNT_SW_PAGE_FAULTS));
	cr_assert(type.exclude_kernel);
}

static struct perf_event_attr attr_of(const char *name, struct sampling sampling,
				      struct sampling_limits limits)
{
	struct perf_event_attr attr;

	sampling_attr(&attr, event_type_find(name), true, &sampling, &limits);
	return attr;
}

Test(sampling, misses_are_sampled_at_a_quarter_of_the_rate)
{
	struct sampling sampling = { .frequency_hz = 1000 };
	struct sampling_limits limits = { 0 };

	cr_assert(eq(u64, attr_of("cycles", sampling, limits).sample_freq, 1000));
	cr_assert(eq(u64, attr_of("cache-misses", sampling, limits).sample_freq, 250));
	sampling.frequency_hz = 1;
	cr_assert(eq(u64, attr_of("cache-misses", sampling, limits).sample_freq, 1));
}

Test(sampling, no_event_carries_the_values_of_others)
{
	struct sampling sampling = { .frequency_hz = 997, .call_graph = CALL_GRAPH_STACKS };
	struct perf_event_attr attr = attr_of("cycles", sampling, (struct sampling_limits){ 0 });

	cr_assert(zero(u64, attr.sample_type & PERF_SAMPLE_READ));
	cr_assert(zero(u64, attr.read_format & PERF_FORMAT_GROUP));
}

Test(sampling, by_period_only_clocks_and_hardware_say_their_period)
{
	struct sampling sampling = { .period = 1000 };
	struct perf_event_attr faults =
		attr_of("page-faults", sampling, (struct sampling_limits){ 0 });
	struct perf_event_attr clock =
		attr_of("cpu-clock", sampling, (struct sampling_limits){ 0 });

	cr_assert(sampling_period_is_fixed(&faults));
	cr_assert(not(sampling_period_is_fixed(&clock)));
}

Test(sampling, kernel_frames_are_asked_for_where_kernel_code_is_sampled)
{
	struct sampling sampling = { .frequency_hz = 997,
				     .call_graph = CALL_GRAPH_STACKS,
				     .stack_bytes = 1024 };
	struct perf_event_attr all = attr_of("cycles", sampling, (struct sampling_limits){ 0 });
	struct perf_event_attr user =
		attr_of("cycles", sampling, (struct sampling_limits){ .user_only = true });

	cr_assert(not(zero(u64, all.sample_type & PERF_SAMPLE_CALLCHAIN)));
	cr_assert(eq(int, all.exclude_callchain_kernel, 0));
	cr_assert(eq(int, user.exclude_callchain_kernel, 1));
	cr_assert(eq(int, user.exclude_kernel, 1));
	cr_assert(eq(u64, user.sample_regs_user, ARCH_PERF_MASK));
	cr_assert(eq(u32, user.sample_stack_user, 1024));
}

Test(cpus, reads_ranges)
{
	cr_assert(eq(int, cpus_parse(&cpus, "0-2,7,10-11\n"), 0));
	cr_assert(eq(sz, cpus.nr, 6));
	cr_assert(eq(int, cpus.at[2], 2));
	cr_assert(eq(int, cpus.at[5], 11));
}

Test(cpus, refuses_what_is_no_list)
{
	static const char *const bad[] = { "", "a", "1-", "1,,2", "1-x", "1 2", "0-99999999999" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect(eq(int, cpus_parse(&cpus, bad[i]), -1), "%s", bad[i]);
}

Test(cpus, finds_those_of_this_machine)
{
	cpus_online(&cpus);
	cr_assert(gt(sz, cpus.nr, 0));
}

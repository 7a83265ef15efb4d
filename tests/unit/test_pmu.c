/* SPDX-License-Identifier: MIT */
/* A sysfs of our own, as Intel's PMUs have it. */
#include "record/events/pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static char root[] = "/tmp/cprof-pmu-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	cr_assert(ne(ptr, file, NULL));
	fputs(text, file);
	fclose(file);
}

static void make_root(void)
{
	cr_assert(ne(ptr, mkdtemp(root), NULL));
	put("cpu/type", "4\n");
	put("cpu/format/event", "config:0-7\n");
	put("cpu/format/umask", "config:8-15\n");
	put("cpu/format/inv", "config:23\n");
	put("cpu/format/split", "config:0-3,32-35\n");
	put("cpu/format/ldlat", "config1:0-15\n");
	put("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put("power/type", "21\n");
	put("power/cpumask", "0\n");
	put("power/format/event", "config:0-7\n");
	put("power/events/energy-pkg", "event=0x02\n");
	put("power/events/energy-pkg.unit", "Joules\n");
	put("power/events/energy-pkg.scale", "2.5e-10\n");
	put("damaged/type", "x\n");
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	cr_assert(zero(int, system(command)));
}

TestSuite(pmu, .init = make_root, .fini = remove_root);

static struct error err;

static struct event_type encoded(const char *pmu, const char *terms)
{
	struct event_type type;

	cr_assert(zero(int, pmu_encode(&type, root, pmu, terms, &err)), "%s", err.message);
	return type;
}

Test(pmu, puts_terms_where_the_format_says)
{
	struct event_type type = encoded("cpu", "event=0xc2,umask=0x01,inv,ldlat=30");

	cr_assert(eq(u32, type.type, 4));
	cr_assert(eq(u64, type.config, 0x8001c2));
	cr_assert(eq(u64, type.config1, 30));
}

Test(pmu, spreads_a_term_over_several_ranges)
{
	cr_assert(eq(u64, encoded("cpu", "split=0xab").config, 0xa0000000b));
}

Test(pmu, takes_whole_words_as_well)
{
	cr_assert(eq(u64, encoded("cpu", "config=0x1234").config, 0x1234));
	cr_assert(eq(u64, encoded("cpu", "config2=7").config2, 7));
}

Test(pmu, knows_events_by_name_and_terms_may_follow)
{
	struct event_type type = encoded("cpu", "mem-loads,ldlat=5");

	cr_assert(eq(u64, type.config, 0x1cd));
	cr_assert(eq(u64, type.config1, 5));
	cr_assert(not(type.system_wide));
}

Test(pmu, reads_unit_and_scale)
{
	struct event_type type = encoded("power", "energy-pkg");

	cr_assert(eq(str, (char *)type.unit, (char *)"Joules"));
	cr_assert(ieee_ulp_eq(dbl, type.scale, 2.5e-10, 4));
	cr_assert(type.system_wide);
	free((char *)type.unit);
}

Test(pmu, refuses_what_is_not_there_or_does_not_fit)
{
	static const char *const bad[][2] = {
		{ "gpu", "event=1" },	       { "cpu", "evnt=1" },  { "cpu", "event=0x100" },
		{ "cpu", "event=" },	       { "cpu", "event=x" }, { "cpu", "event=-1" },
		{ "cpu", "no-such-event" },    { "cpu", "" },	     { "damaged", "config=1" },
		{ "cpu/../cpu", "config=1" },  { "..", "config=1" }, { "cpu", "../type" },
		{ "power", "energy-pkg,foo" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct event_type type;

		cr_expect(eq(int, pmu_encode(&type, root, bad[i][0], bad[i][1], &err), ERR_USAGE),
			  "%s/%s/", bad[i][0], bad[i][1]);
	}
}

Test(pmu, lists_the_events_of_all)
{
	size_t nr;
	char **names = pmu_events(root, &nr);

	cr_assert(eq(sz, nr, 2));
	cr_assert(eq(str, names[0], (char *)"cpu/mem-loads/"));
	cr_assert(eq(str, names[1], (char *)"power/energy-pkg/"));
	free(names[0]);
	free(names[1]);
	free(names);
}

/* SPDX-License-Identifier: MIT */
#include "record/output.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"

static void expect(const char *pattern, const char *wanted)
{
	struct error err = ERROR_INIT;
	char *path;

	cr_assert(eq(int, output_expand(&path, pattern, 4711, &err), 0));
	cr_assert(eq(str, path, wanted));
	free(path);
}

Test(output, is_a_name_as_it_is)
{
	expect("cprof.data", "cprof.data");
	expect("", "");
}

Test(output, puts_in_pid_and_host)
{
	struct utsname host;
	char *wanted;

	uname(&host);
	wanted = xasprintf("/x/4711-%s-4711", host.nodename);
	expect("/x/%p-%h-%p", wanted);
	free(wanted);
}

Test(output, has_a_way_to_write_a_percent_sign)
{
	expect("100%%.%p", "100%.4711");
	expect("%%p", "%p");
}

static void expect_refusal(const char *pattern)
{
	struct error err = ERROR_INIT;
	char *path;

	cr_assert(eq(int, output_expand(&path, pattern, 1, &err), ERR_USAGE));
	cr_assert(zero(ptr, path));
}

Test(output, refuses_other_letters)
{
	expect_refusal("a%d");
	expect_refusal("%");
	expect_refusal("a%p%");
}

/* SPDX-License-Identifier: MIT */
#include "record/image_facts.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static struct image_facts facts;

static void end(void)
{
	image_facts_release(&facts);
}

TestSuite(image_facts, .fini = end);

static size_t own_arguments_size(void)
{
	char text[4096];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t size = file ? fread(text, 1, sizeof(text), file) : 0;

	cr_assert(file && size < sizeof(text));
	fclose(file);
	return size;
}

/* As setproctitle() does: the kernel shows what stands where the arguments were. */
static void overwrite_arguments(const char *text, size_t size)
{
	size_t room = own_arguments_size();

	cr_assert(lt(sz, size + 2, room));
	memset(program_invocation_name, 0, room);
	memcpy(program_invocation_name, text, size);
}

Test(image_facts, the_zeros_after_a_title_are_no_arguments)
{
	static const char title[] = "a\0\0b c";

	overwrite_arguments(title, sizeof(title));
	image_facts_read(&facts, getpid(), NULL);
	cr_assert(gt(sz, facts.nr_arguments, 4));
	image_facts_drop_padding(&facts);

	cr_assert(eq(sz, facts.nr_arguments, 3));
	cr_assert(eq(str, facts.arguments[0], (char *)"a"));
	cr_assert(eq(str, facts.arguments[1], (char *)""));
	cr_assert(eq(str, facts.arguments[2], (char *)"b c"));
}

Test(image_facts, a_title_without_text_leaves_one_argument)
{
	overwrite_arguments("", 0);
	image_facts_read(&facts, getpid(), NULL);
	image_facts_drop_padding(&facts);
	cr_assert(eq(sz, facts.nr_arguments, 1));
}

static void from_arguments(char *const *arguments, size_t nr)
{
	facts.arguments = xcalloc(nr, sizeof(*facts.arguments));
	for (size_t i = 0; i < nr; i++)
		facts.arguments[i] = xstrdup(arguments[i]);
	facts.nr_arguments = nr;
}

Test(image_facts, one_empty_argument_at_the_end_was_given)
{
	char *given[] = { (char *)"grep", (char *)"-r", (char *)"" };

	from_arguments(given, ARRAY_SIZE(given));
	image_facts_drop_padding(&facts);
	cr_assert(eq(sz, facts.nr_arguments, 3));
}

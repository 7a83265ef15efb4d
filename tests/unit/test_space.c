/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/space.h"

/* Modules without a file: an address in them is the offset in the file. */
static char name_a[] = "a", name_b[] = "b";
static struct module a = { .id = 0, .path = name_a };
static struct module b = { .id = 1, .path = name_b };

/* One line: "a 1000-3000 +0" for each mapping. */
static const char *text_of(const struct space *space)
{
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < space->nr; i++)
		at += (size_t)snprintf(
			text + at, sizeof(text) - at, "%s%s %lx-%lx +%lx", i ? ", " : "",
			space->at[i].module->path, (unsigned long)space->at[i].start,
			(unsigned long)space->at[i].end, (unsigned long)space->at[i].pgoff);
	return text;
}

#define expect_text(space, text) cr_expect_str_eq(text_of(space), text)

Test(space, finds_what_is_mapped_and_nothing_else)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x3000, 0, &a);
	space_map(&space, 0x5000, 0x6000, 0, &b);
	cr_expect(eq(ptr, (void *)space_find(&space, 0xfff), NULL));
	cr_expect(eq(ptr, space_find(&space, 0x1000)->module, &a));
	cr_expect(eq(ptr, space_find(&space, 0x2fff)->module, &a));
	cr_expect(eq(ptr, (void *)space_find(&space, 0x3000), NULL));
	cr_expect(eq(ptr, space_find(&space, 0x5fff)->module, &b));
	cr_expect(eq(ptr, (void *)space_find(&space, UINT64_MAX), NULL));
	space_release(&space);
}

Test(space, gives_addresses_in_the_file)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x3000, 0x7000, &a);
	cr_expect(eq(u64, mapping_address(space_find(&space, 0x1234), 0x1234), 0x7234));
	space_release(&space);
}

Test(space, splits_a_mapping_that_another_covers_in_the_middle)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x9000, 0, &a);
	space_map(&space, 0x3000, 0x4000, 0x100, &b);
	expect_text(&space, "a 1000-3000 +0, b 3000-4000 +100, a 4000-9000 +3000");
	cr_expect(eq(u64, mapping_address(space_find(&space, 0x8000), 0x8000), 0x7000));
	space_release(&space);
}

Test(space, cuts_what_another_overlaps_at_either_end)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x3000, 0, &a);
	space_map(&space, 0x4000, 0x6000, 0, &a);
	space_map(&space, 0x2000, 0x5000, 0, &b);
	expect_text(&space, "a 1000-2000 +0, b 2000-5000 +0, a 5000-6000 +1000");
	space_release(&space);
}

Test(space, replaces_what_another_covers_whole)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x2000, 0, &a);
	space_map(&space, 0x2000, 0x3000, 0, &a);
	space_map(&space, 0x3000, 0x4000, 0, &a);
	space_map(&space, 0x1000, 0x4000, 0x40, &b);
	expect_text(&space, "b 1000-4000 +40");
	space_map(&space, 0x1000, 0x4000, 0x80, &a);
	expect_text(&space, "a 1000-4000 +80");
	space_release(&space);
}

Test(space, is_copied_by_a_fork_and_then_lives_on_its_own)
{
	struct space parent = { 0 }, child = { 0 };

	space_map(&parent, 0x1000, 0x2000, 0, &a);
	space_map(&child, 0x9000, 0xa000, 0, &b);
	space_copy(&child, &parent);
	space_map(&parent, 0x1000, 0x2000, 0, &b);
	expect_text(&child, "a 1000-2000 +0");
	expect_text(&parent, "b 1000-2000 +0");
	space_copy(&child, &child);
	expect_text(&child, "a 1000-2000 +0");
	space_release(&parent);
	space_release(&child);
}

Test(space, is_empty_after_exec)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x2000, 0, &a);
	space_clear(&space);
	cr_expect(eq(ptr, (void *)space_find(&space, 0x1000), NULL));
	space_map(&space, 0x3000, 0x4000, 0, &b);
	expect_text(&space, "b 3000-4000 +0");
	space_release(&space);
}

Test(space, ignores_mappings_that_make_no_sense)
{
	struct space space = { 0 };

	space_map(&space, 0x1000, 0x1000, 0, &a);
	space_map(&space, 0x2000, 0x1000, 0, &a);
	cr_expect(eq(sz, space.nr, 0));
	space_release(&space);
}

/* Against an array with a byte of its own for each page. */
Test(space, agrees_with_an_array_of_pages_over_random_mappings)
{
	enum { PAGES = 64 };
	struct module modules[8] = { 0 };
	struct {
		struct module *module;
		uint64_t address;
	} pages[PAGES] = { 0 };
	struct space space = { 0 };

	srand(1);
	for (int i = 0; i < 5000; i++) {
		uint64_t start = (uint64_t)rand() % PAGES;
		uint64_t end = start + 1 + (uint64_t)rand() % (PAGES - start);
		struct module *module = &modules[rand() % 8];
		uint64_t pgoff = (uint64_t)(rand() % 1000) << 12;

		space_map(&space, start << 12, end << 12, pgoff, module);
		for (uint64_t page = start; page < end; page++) {
			pages[page].module = module;
			pages[page].address = pgoff + ((page - start) << 12);
		}
		for (uint64_t page = 0; page < PAGES; page++) {
			const struct mapping *mapping = space_find(&space, page << 12);

			cr_assert(eq(ptr, mapping ? mapping->module : NULL, pages[page].module));
			if (mapping)
				cr_assert(eq(u64, mapping_address(mapping, page << 12),
					     pages[page].address));
		}
	}
	space_release(&space);
}

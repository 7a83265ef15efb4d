/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/stacks/module_cfi.h"

static struct modules modules;
static char path[] = "/tmp/cprof-test-XXXXXX";

static void release(void)
{
	modules_release(&modules);
	unlink(path);
}

TestSuite(module_cfi, .fini = release);

static struct module_cfi load(const char *file)
{
	struct module_cfi cfi;

	module_cfi_load(&cfi, module_get(&modules, &(struct module_request){ .path = file }));
	return cfi;
}

/* Copies our own executable, changed by the function. */
static void copy_self(void (*change)(uint8_t *bytes, size_t size))
{
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	struct stat st;

	fstat(from, &st);
	size_t size = (size_t)st.st_size;
	uint8_t *bytes = xmalloc(size);
	cr_assert(eq(int, (int)read(from, bytes, size), (int)size));
	change(bytes, size);
	cr_assert(eq(int, (int)write(to, bytes, size), (int)size));
	free(bytes);
	close(from);
	close(to);
}

/* Takes away the segment, but not the section, .eh_frame_hdr. */
static void hide_hdr(uint8_t *bytes, size_t size)
{
	Elf64_Ehdr *ehdr = (void *)bytes;
	Elf64_Phdr *phdr = (void *)(bytes + ehdr->e_phoff);

	(void)size;
	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			phdr[i].p_type = PT_NULL;
}

/* Says that the table in .eh_frame_hdr is not there. */
static void omit_table(uint8_t *bytes, size_t size)
{
	Elf64_Ehdr *ehdr = (void *)bytes;
	Elf64_Phdr *phdr = (void *)(bytes + ehdr->e_phoff);

	(void)size;
	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			bytes[phdr[i].p_offset + 3] = 0xff; /* DW_EH_PE_omit */
}

/* Of the functions that `indexed` has, all of it in memory. */
static void expect_same_rows(struct module_cfi *one, const struct module_cfi *indexed)
{
	struct unwind_function function;
	uint64_t offset = 0;
	size_t nr = 0;

	while (unwind_cfi_next(&indexed->image, &offset, &function)) {
		uint64_t middle = function.start + (function.end - function.start) / 2;
		struct unwind_row a, b;

		module_cfi_find(one, middle, &a);
		unwind_cfi_find(&indexed->image, middle, &b);
		cr_assert(eq(u64, a.start, b.start));
		cr_assert(eq(u64, a.end, b.end));
		cr_assert(eq(u32, a.rule, b.rule));
		module_cfi_find(one, function.end, &a);
		unwind_cfi_find(&indexed->image, function.end, &b);
		cr_assert(eq(u32, a.rule, b.rule));
		nr++;
	}
	cr_expect(gt(sz, nr, 100));
}

static void expect_same_as_self(void)
{
	struct module_cfi self = load("/proc/self/exe"), copy = load(path);

	cr_expect(unwind_hdr_is_searchable(&copy.image));
	expect_same_rows(&self, &copy);
	module_cfi_release(&self);
	module_cfi_release(&copy);
}

Test(module_cfi, makes_an_index_for_a_file_without_eh_frame_hdr)
{
	copy_self(hide_hdr);
	expect_same_as_self();
}

Test(module_cfi, makes_an_index_where_the_table_is_omitted)
{
	copy_self(omit_table);
	expect_same_as_self();
}

static void change_nothing(uint8_t *bytes, size_t size)
{
	(void)bytes;
	(void)size;
}

extern const char __executable_start[];

/* The address in the file of a function of ours. */
static uint64_t address_of_ours(const struct module_cfi *cfi)
{
	return (uintptr_t)change_nothing - (uintptr_t)__executable_start +
	       cfi->module->elf.loads[0].address;
}

Test(module_cfi, reads_what_is_said_of_a_function_when_it_is_asked_for)
{
	copy_self(change_nothing);
	struct module_cfi copy = load(path);
	struct unwind_row row;
	size_t table = module_cfi_bytes(&copy), one;

	cr_expect(le(sz, table, copy.image.hdr.size));
	module_cfi_find(&copy, address_of_ours(&copy), &row);
	cr_expect(ne(int, unwind_rule_kind(row.rule), UNWIND_RULE_NONE));
	cr_expect(ne(int, unwind_rule_kind(row.rule), UNWIND_RULE_DAMAGED));
	one = module_cfi_bytes(&copy);
	cr_expect(gt(sz, one, table));
	cr_expect(lt(sz, one - table, copy.image.frame.size / 2));
	module_cfi_find(&copy, row.start, &row);
	cr_expect(eq(sz, module_cfi_bytes(&copy), one));
	module_cfi_release(&copy);
}

Test(module_cfi, keeps_what_it_has_of_a_file_that_is_cut_short)
{
	copy_self(change_nothing);
	struct module_cfi copy = load(path);
	uint64_t address = address_of_ours(&copy);
	struct unwind_row before, after;

	module_cfi_find(&copy, address, &before);
	cr_assert(zero(int, truncate(path, 0)));
	module_cfi_find(&copy, address, &after);
	cr_expect(eq(u32, after.rule, before.rule));
	while (unwind_rule_kind(after.rule) != UNWIND_RULE_DAMAGED && after.end != UINT64_MAX)
		module_cfi_find(&copy, after.end, &after);
	cr_expect(eq(int, unwind_rule_kind(after.rule), UNWIND_RULE_DAMAGED));
	module_cfi_release(&copy);
}

Test(module_cfi, knows_that_a_segment_of_code_starts_with_a_function)
{
	struct module_cfi self = load("/proc/self/exe");
	const struct elf_part *part = self.module->elf.loads;

	while (!part->executable)
		part++;
	cr_expect(module_cfi_is_entry(&self, part->address));
	cr_expect(not(module_cfi_is_entry(&self, part->address - 1)));
	module_cfi_release(&self);
}

static void destroy_hdr(uint8_t *bytes, size_t size)
{
	Elf64_Ehdr *ehdr = (void *)bytes;
	Elf64_Phdr *phdr = (void *)(bytes + ehdr->e_phoff);

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			phdr[i].p_offset = size - 1;
}

Test(module_cfi, is_empty_where_the_file_lies)
{
	struct unwind_row row;

	copy_self(destroy_hdr);
	struct module_cfi copy = load(path);
	unwind_cfi_find(&copy.image, 0x10000, &row);
	cr_expect(eq(u32, row.rule, 0));
	cr_expect(eq(sz, module_cfi_bytes(&copy), 0));
	module_cfi_release(&copy);
}

Test(module_cfi, is_empty_without_a_file)
{
	struct module_cfi cfi = load("/nonexistent/lib.so");
	struct unwind_row row;

	unwind_cfi_find(&cfi.image, 0x1000, &row);
	cr_expect(eq(u32, row.rule, 0));
	module_cfi_release(&cfi);
}

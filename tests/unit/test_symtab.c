/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "symbolize/symtab.h"

static void add(struct symtab *tab, uint64_t start, uint64_t size, const char *name, int bind,
		int type)
{
	GElf_Sym sym = {
		.st_value = start,
		.st_size = size,
		.st_info = (unsigned char)GELF_ST_INFO(bind, type),
		.st_shndx = 1,
	};

	symtab_add(tab, &sym, name, false, UINT64_MAX);
}

static void add_function(struct symtab *tab, uint64_t start, uint64_t size, const char *name)
{
	add(tab, start, size, name, STB_GLOBAL, STT_FUNC);
}

static void build(struct symtab *tab)
{
	struct extents none = { 0 };

	symtab_build(tab, &none);
}

static const char *name_at(const struct symtab *tab, uint64_t address)
{
	const struct symbol *symbol = symtab_find(tab, address);

	return symbol ? symbol->name : "(none)";
}

#define expect_name(tab, address, name) \
	cr_assert(eq(str, (char *)name_at(tab, address), (char *)(name)))

Test(symtab, names_the_addresses_inside_a_symbol_and_no_others)
{
	struct symtab tab = { 0 };

	add_function(&tab, 0x1000, 0x10, "first");
	add_function(&tab, 0x1020, 0x10, "second");
	build(&tab);
	expect_name(&tab, 0xfff, "(none)");
	expect_name(&tab, 0x1000, "first");
	expect_name(&tab, 0x100f, "first");
	expect_name(&tab, 0x1010, "(none)");
	expect_name(&tab, 0x102f, "second");
	expect_name(&tab, 0x1030, "(none)");
	cr_assert(eq(u64, symtab_gap_start(&tab, 0x1018), 0x1010));
	symtab_release(&tab);
}

Test(symtab, an_inner_symbol_names_its_part_and_the_outer_one_the_rest)
{
	struct symtab tab = { 0 };

	add_function(&tab, 0x1000, 0x40, "memmove");
	add_function(&tab, 0x1010, 0x10, "memmove_tail");
	build(&tab);
	expect_name(&tab, 0x100f, "memmove");
	expect_name(&tab, 0x1010, "memmove_tail");
	expect_name(&tab, 0x1020, "memmove");
	symtab_release(&tab);
}

Test(symtab, takes_the_alias_that_users_know)
{
	struct symtab tab = { 0 };

	add(&tab, 0x1000, 8, "__GI___libc_write", STB_LOCAL, STT_FUNC);
	add(&tab, 0x1000, 8, "__libc_write", STB_GLOBAL, STT_FUNC);
	add(&tab, 0x1000, 8, "write", STB_WEAK, STT_FUNC);
	add(&tab, 0x1000, 8, "__write", STB_WEAK, STT_FUNC);
	add(&tab, 0x2000, 8, "cfree@GLIBC_2.2.5", STB_GLOBAL, STT_FUNC);
	add(&tab, 0x2000, 8, "free", STB_GLOBAL, STT_FUNC);
	add(&tab, 0x2000, 8, "__libc_free", STB_GLOBAL, STT_FUNC);
	add(&tab, 0x3000, 8, "__EI_old", STB_LOCAL, STT_FUNC);
	add(&tab, 0x3000, 8, "old@GLIBC_2.2.5", STB_GLOBAL, STT_FUNC);
	build(&tab);
	expect_name(&tab, 0x1004, "write");
	expect_name(&tab, 0x2000, "free");
	expect_name(&tab, 0x3000, "old@GLIBC_2.2.5");
	cr_assert(eq(sz, symbol_name_length(symtab_find(&tab, 0x3000)), 3));
	symtab_release(&tab);
}

Test(symtab, of_aliases_that_differ_in_spelling_only_the_preferred_one_is_taken)
{
	struct symtab tab = { 0 };

	add_function(&tab, 0x1000, 8, "a");
	add_function(&tab, 0x1000, 8, "folded_with_a");
	add_function(&tab, 0x1000, 8, "__hidden_name");
	build(&tab);
	cr_assert(eq(str, (char *)symtab_at(&tab, 0x1000, NULL)->name, "a"));
	cr_assert(eq(str, (char *)symtab_at(&tab, 0x1000, "folded_with_a")->name, "folded_with_a"));
	cr_assert(eq(str, (char *)symtab_at(&tab, 0x1000, "__hidden_name")->name, "a"));
	cr_assert_null(symtab_at(&tab, 0x1001, NULL));
	symtab_release(&tab);
}

Test(symtab, leaves_out_what_is_not_code)
{
	struct symtab tab = { 0 };
	GElf_Sym undefined = { .st_value = 0x1000,
			       .st_size = 8,
			       .st_info = GELF_ST_INFO(STB_GLOBAL, STT_FUNC) };

	symtab_add(&tab, &undefined, "undefined", false, UINT64_MAX);
	add(&tab, 0x1000, 8, "variable", STB_GLOBAL, STT_OBJECT);
	add(&tab, 0x1000, 8, "per_thread", STB_GLOBAL, STT_TLS);
	add(&tab, 0x1000, 8, "file.c", STB_LOCAL, STT_FILE);
	add(&tab, 0x1000, 8, "$x", STB_LOCAL, STT_NOTYPE);
	add(&tab, 0x1000, 8, "$d.17", STB_LOCAL, STT_NOTYPE);
	add(&tab, 0x1000, 8, ".L17", STB_LOCAL, STT_NOTYPE);
	add(&tab, UINT64_MAX - 4, 8, "wraps", STB_LOCAL, STT_FUNC);
	build(&tab);
	cr_assert(eq(sz, tab.at.nr, 0));
	symtab_release(&tab);
}

Test(symtab, a_symbol_without_size_names_nothing_where_no_function_is_known)
{
	struct symtab tab = { 0 };

	add_function(&tab, 0x1000, 0, "assembly");
	build(&tab);
	expect_name(&tab, 0x1000, "(none)");
	symtab_release(&tab);
}

/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

static void expect(const char *symbol, const char *name)
{
	char *text = demangle(symbol);

	cr_assert_not_null(text, "%s is not demangled", symbol);
	cr_assert(eq(str, text, (char *)name));
	free(text);
}

Test(demangle, cpp_keeps_parameters)
{
	expect("_ZN5Index6lookupERK3Key", "Index::lookup(Key const&)");
	expect("_ZNSt6vectorIiSaIiEE9push_backEOi",
	       "std::vector<int, std::allocator<int> >::push_back(int&&)");
}

Test(demangle, cpp_parts_of_a_function_are_marked)
{
	expect("_ZN3foo3barEv.cold", "foo::bar() [clone .cold]");
}

Test(demangle, legacy_rust_loses_its_hash)
{
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	expect("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$"
	       "3fmt17h0123456789abcdefE",
	       "<alloc::string::String as core::fmt::Display>::fmt");
}

Test(demangle, v0_rust)
{
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

Test(demangle, d)
{
	expect("_D4test3funFiZv", "test.fun(int)");
}

Test(demangle, leaves_other_names_alone)
{
	const char *const names[] = { "malloc", "_start", "_Z",	    "_R",  "_ZN",
				      "",	"_",	  "Z3foov", "_Zzz" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_null(demangle(names[i]), "%s", names[i]);
}

static void expect_base(const char *symbol, const char *base)
{
	size_t length = clone_base_length(symbol);

	cr_assert(eq(sz, length, strlen(base)), "%s", symbol);
	cr_assert(zero(i32, strncmp(symbol, base, length)));
}

Test(demangle, finds_the_function_a_clone_was_made_of)
{
	expect_base("foo", "foo");
	expect_base("foo.cold", "foo");
	expect_base("foo.part.0", "foo");
	expect_base("foo.constprop.1.isra.0.cold", "foo");
	expect_base("foo.lto_priv.12", "foo");
	expect_base("foo.llvm.1234567890", "foo");
	expect_base("_ZN3fooEv.part.3", "_ZN3fooEv");
}

Test(demangle, keeps_dots_that_are_part_of_the_name)
{
	expect_base("_ZN30_$LT$alloc..string..String$GT$3fmtE",
		    "_ZN30_$LT$alloc..string..String$GT$3fmtE");
	expect_base("main.init", "main.init");
	expect_base(".cold", ".cold");
	expect_base("", "");
}

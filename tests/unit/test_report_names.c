/* SPDX-License-Identifier: MIT */
#include "report/view/names.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/text.h"
#include "same_text.h"

Test(report_names, what_fits_stays_as_it_is)
{
	same(name_fit("main", 4), "main");
	same(name_fit("std::map<int, int>::at(int const&)", 34),
	     "std::map<int, int>::at(int const&)");
}

Test(report_names, what_does_not_fit_loses_the_dullest_parts_first)
{
	static const char *const name = "std::vector<int, std::allocator<int> > ns::Table<Key, "
					"Value>::find<long>(long const&, int) const";

	same(name_fit(name, 70), "std::vector<…> ns::Table<…>::find<…>(long const&, int) const");
	same(name_fit(name, 50), "ns::Table<…>::find<…>(long const&, int) const");
	same(name_fit(name, 30), "ns::Table<…>::find<…>(…)");
	same(name_fit(name, 23), "ns::Table<…>::find<…>");
	same(name_fit(name, 10), "ns::T…d<…>");
}

Test(report_names, operators_and_odd_names_keep_their_meaning)
{
	same(name_brief("operator new(unsigned long)"), "operator new");
	same(name_brief("bool operator< <int>(X<int> const&, X<int> const&)"), "operator< <int>");
	same(name_brief("Fn::operator()(int) const"), "Fn::operator()");
	same(name_brief("operator()"), "operator()");
	same(name_brief("Ptr<Widget>::operator->()"), "Ptr<…>::operator->");
	same(name_brief("(anonymous namespace)::run(int)"), "(anonymous namespace)::run");
	same(name_brief("main::{lambda(int)#1}::operator()(int) const"),
	     "main::{lambda(int)#1}::operator()");
	same(name_brief("<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
	     "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
	same(name_brief("core::ptr::drop_in_place<alloc::string::String>"),
	     "core::ptr::drop_in_place<…>");
	same(name_brief("… 120 frames"), "… 120 frames");
	same(name_brief("libfoo.so.1+0x2a340"), "libfoo.so.1+0x2a340");
	same(name_brief("unbalanced<(("), "unbalanced<((");
	same(name_brief(""), "");
}

Test(report_names, a_stack_shows_its_innermost_frames_and_its_root)
{
	static const char *const names[] = {
		"main",	 "load_table", "parse(char*)", "Table::insert(int)", "Vector<Key>::grow()",
		"malloc"
	};
	struct texts stack = { names, 6 };

	same(stack_fit(&stack, 80),
	     "Vector<Key>::grow < Table::insert < parse < load_table < main");
	same(stack_fit(&stack, 60), "Vector<Key>::grow < Table::insert < parse < … < main");
	same(stack_fit(&stack, 44), "Vector<Key>::grow < Table::insert < … < main");
	same(stack_fit(&stack, 43), "Vector<Key>::grow < Table::insert < …");
	same(stack_fit(&stack, 36), "Vector<…::grow < Table::insert < …");
	same(stack_fit(&stack, 33), "Vector<Key>::grow < … < main");
	same(stack_fit(&stack, 22), "Vector<Key>::grow < …");
	same(stack_fit(&stack, 12), "Vector…:grow");
}

/* Where all stacks begin alike, that says nothing. */
Test(report_names, a_stack_shows_a_second_frame_rather_than_its_root)
{
	static const char *const names[] = { "Py_BytesMain",	       "_PyEval_EvalFrameDefault",
					     "encoder_listencode_obj", "float_repr",
					     "PyUnicode_New",	       "malloc" };
	struct texts stack = { names, 6 };

	same(stack_fit(&stack, 45), "PyUnicode_New < float_repr < … < Py_BytesMain");
	same(stack_fit(&stack, 44), "PyUnicode_New < float_repr < …");
	same(stack_fit(&stack, 29), "PyUnicode_New < …");
	same(stack_fit(&stack, 30), "PyUnicode_New < float_repr < …");
}

Test(report_names, a_stack_begins_at_who_wanted_the_memory)
{
	static const char *const plumbing[] = {
		"main",
		"Index::Index(unsigned long)",
		"void std::vector<int, std::allocator<int> >::assign<long>(int)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"operator new(unsigned long)",
		"malloc",
	};
	static const char *const wrapped[] = { "main", "new_node", "xmalloc", "malloc" };
	static const char *const thread[] = { "libstdc++.so.6+0xd4490",
					      "std::thread::_State_impl<int>::_M_run()", "work",
					      "std::string::append(char)", "malloc" };
	static const char *const only[] = { "std::locale::classic()", "operator new(unsigned long)",
					    "malloc" };
	struct texts stack = { plumbing, 6 }, library = { only, 3 };
	struct texts threaded = { thread, 5 };
	struct texts wrapper = { wrapped, 4 };

	same(stack_fit(&stack, 80), "Index::Index < main");
	same(stack_fit(&wrapper, 80), "new_node < main");
	same(stack_fit(&threaded, 80), "work");
	same(stack_fit(&library, 80), "operator new < std::locale::classic");
}

Test(report_names, a_recursion_takes_no_room_of_its_callers)
{
	static const char *const deep[] = {
		"main", "walk", "f", "f", "f", "f", "f", "g", "malloc"
	};
	static const char *const twice[] = { "main", "f", "f", "malloc" };
	static const char *const outermost[] = { "f", "f", "f", "malloc" };
	struct texts stack = { deep, 9 }, pair = { twice, 4 }, root = { outermost, 4 };

	same(stack_fit(&stack, 80), "g < f < … < walk < main");
	same(stack_fit(&stack, 18), "g < f < … < main");
	same(stack_fit(&pair, 80), "f < f < main");
	same(stack_fit(&root, 80), "f < f < f");
}

Test(report_names, a_stack_of_one_frame_is_that_frame)
{
	static const char *const names[] = { "worker", "calloc" };
	struct texts stack = { names, 2 }, nothing = { names + 1, 1 };

	same(stack_fit(&stack, 80), "worker");
	same(stack_fit(&nothing, 80), "calloc");
}

Test(report_names, a_stack_never_exceeds_its_width)
{
	const char *names[300];
	struct texts stack = { names, 300 };

	for (size_t i = 0; i < 300; i++)
		names[i] = i % 3 ? "f" : "a_rather_long_function_name(with, arguments)";
	for (size_t width = 1; width < 120; width++) {
		char *line = stack_fit(&stack, width);

		cr_expect(le(sz, text_width(line), width), "%s", line);
		free(line);
	}
}

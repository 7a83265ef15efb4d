/* SPDX-License-Identifier: MIT */
#include "report/analyze/module_table.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/analyze/analysis.h"
#include "toy_profile.h"

#define near(figure, expected) cr_expect(lt(dbl, fabs((figure).value - (expected)), 1e-9))

static const struct module_row *row(const struct analysis *analysis, const char *name)
{
	for (size_t i = 0; i < analysis->modules.rows.nr; i++) {
		const struct module_row *row = analysis->modules.rows.at[i];

		if (!strcmp(row->name, name))
			return row;
	}
	return NULL;
}

static void analyze(struct analysis *analysis, struct selection *selection, struct toy *toy)
{
	const struct profile *profile = toy_profile(toy);

	cr_assert(eq(int, selection_init(selection, profile, &(struct select_options){ 0 }, NULL),
		     0));
	analysis_init(analysis, profile, selection, &(struct analysis_options){ 0 });
}

static void release(struct analysis *analysis, struct selection *selection, struct toy *toy)
{
	analysis_release(analysis);
	selection_release(selection);
	toy_free(toy);
}

Test(report_modules, a_module_counts_once_in_a_stack_however_often_it_is_on_it)
{
	struct toy *toy = toy_new();
	struct selection selection;
	struct analysis a;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "app:main", "libc:qsort", "app:compare", NULL), "cycles", 60,
		   10);
	toy_sample(toy, toy_stack(toy, "app:main", "libc:?12", NULL), "cycles", 40, 10);
	toy_sample(toy, toy_stack(toy, "app:main", "shim:walk", NULL), "cycles", 900, 10);
	toy_module_kind(toy, "shim", PROFILE_MODULE_SELF);
	analyze(&a, &selection, toy);

	cr_assert(eq(sz, a.modules.rows.nr, 2));
	cr_expect(eq(ptr, (void *)a.modules.rows.at[0], (void *)row(&a, "app")));
	near(row(&a, "app")->self, 0.6);
	near(row(&a, "app")->total, 1);
	near(row(&a, "app")->samples, 60);
	near(row(&a, "libc")->self, 0.4);
	near(row(&a, "libc")->total, 1);
	cr_expect(eq(u64, row(&a, "libc")->addresses, 2));
	cr_expect(eq(u64, row(&a, "libc")->unnamed, 1));
	release(&a, &selection, toy);
}

Test(report_modules, allocations_belong_to_all_modules_on_their_stack)
{
	struct toy *toy = toy_new();
	struct selection selection;
	struct profile_heap_site *site;
	struct analysis a;

	toy_heap(toy, 0);
	site = toy_site(toy, 0, toy_stack(toy, "app:main", "libx:load", "app:grow", NULL),
			PROFILE_MALLOC);
	site->allocations = 3;
	site->allocated_bytes = 48;
	site = toy_site(toy, 0, toy_stack(toy, "app:main", NULL), PROFILE_MALLOC);
	site->allocations = 1;
	site->allocated_bytes = 100;
	analyze(&a, &selection, toy);

	near(row(&a, "app")->allocations, 4);
	near(row(&a, "app")->allocated_bytes, 148);
	near(row(&a, "libx")->allocations, 3);
	near(row(&a, "libx")->allocated_bytes, 48);
	cr_expect(ne(ptr, (void *)row(&a, "app")->self.absent, NULL));
	release(&a, &selection, toy);
}

/* SPDX-License-Identifier: MIT */
#include "shim/operators.h"

#include <stdbool.h>
#include <string.h>

#include "shim/exports.h"
#include "shim/real.h"

/* The linker knows where the section is. */
extern struct operator_hook __start_cprof_operators __attribute__((visibility("hidden"), weak));
extern struct operator_hook __stop_cprof_operators __attribute__((visibility("hidden"), weak));

static bool is_allocators(const void *function)
{
	const void *allocator;

	memcpy(&allocator, &real.malloc, sizeof(allocator));
	return function && real_are_together(function, allocator);
}

/* What is in front of `next`. */
static operator_function *choose(struct operator_hook *op, const void *next, bool is_counted)
{
	memcpy(&op->next, &next, sizeof(op->next));
	return is_counted ? op->counted : next ? op->next : op->plain;
}

void operators_find(void)
{
	const void *new = real_next("_Znwm"); /* of an unsigned long: without it there is no C++ */
	bool any = is_allocators(new);

	for (struct operator_hook *op = &__start_cprof_operators; op < &__stop_cprof_operators;
	     op++) {
		const void *next = new ? real_next(op->name) : NULL;

		op->call = choose(op, next, any && is_allocators(next));
	}
	if (!any && &__start_cprof_operators)
		exports_hide("_Z");
}

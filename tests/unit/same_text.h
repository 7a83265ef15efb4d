/* SPDX-License-Identifier: MIT */
/* same - that text which is to be freed is the expected one. */
#ifndef TESTS_UNIT_SAME_TEXT_H
#define TESTS_UNIT_SAME_TEXT_H

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define same(made, expected)                           \
	do {                                           \
		char *made_ = (made);                  \
		cr_expect(eq(str, made_, (expected))); \
		free(made_);                           \
	} while (0)

#endif

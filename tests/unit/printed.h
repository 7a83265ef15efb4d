/* SPDX-License-Identifier: MIT */
/* printed - a report of a toy profile as text, which is to be freed. */
#ifndef TESTS_UNIT_PRINTED_H
#define TESTS_UNIT_PRINTED_H

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/report.h"
#include "toy_profile.h"

char *printed(struct toy *toy, const struct report_options *options);

#define says(toy, options, part)                                            \
	do {                                                                \
		char *text_ = printed(toy, options);                        \
		cr_expect(ne(ptr, strstr(text_, part), NULL), "%s", text_); \
		free(text_);                                                \
	} while (0)

#define says_no(toy, options, part)                                         \
	do {                                                                \
		char *text_ = printed(toy, options);                        \
		cr_expect(eq(ptr, strstr(text_, part), NULL), "%s", text_); \
		free(text_);                                                \
	} while (0)

#endif

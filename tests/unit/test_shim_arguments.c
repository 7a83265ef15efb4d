/* SPDX-License-Identifier: MIT */
#include "shim/arguments.h"

#include <criterion/criterion.h>

static char environment[] = "what follows";

static void collect(struct arguments *arguments, char **next, const char *first, ...)
{
	static char *room[ARGUMENTS_ROOM_MAX / sizeof(char *)];
	va_list list;

	va_start(list, first);
	cr_assert(arguments_room(&list) <= sizeof(room));
	cr_assert(arguments_collect(arguments, first, &list, room));
	*next = va_arg(list, char *);
	va_end(list);
}

Test(shim_arguments, are_an_array_and_what_follows_them_is_next)
{
	struct arguments arguments;
	char *next;

	collect(&arguments, &next, "ls", "-l", "/", (char *)NULL, environment);
	cr_assert_str_eq(arguments.all[0], "ls");
	cr_assert_str_eq(arguments.all[1], "-l");
	cr_assert_str_eq(arguments.all[2], "/");
	cr_assert_null(arguments.all[3]);
	cr_assert_eq(next, environment);
	arguments_release(&arguments);
}

Test(shim_arguments, may_be_just_the_first)
{
	struct arguments arguments;
	char *next;

	collect(&arguments, &next, "ls", (char *)NULL, environment);
	cr_assert_str_eq(arguments.all[0], "ls");
	cr_assert_null(arguments.all[1]);
	cr_assert_eq(next, environment);
	arguments_release(&arguments);
}

#define EIGHT(x) x, x, x, x, x, x, x, x
#define SIXTY_FOUR(x) EIGHT(x), EIGHT(x), EIGHT(x), EIGHT(x), EIGHT(x), EIGHT(x), EIGHT(x), EIGHT(x)

/* 257 and the end, where 255 and that fit. */
Test(shim_arguments, may_be_more_than_fit)
{
	struct arguments arguments;
	char *next, *x = environment;

	collect(&arguments, &next, "first", SIXTY_FOUR(x), SIXTY_FOUR(x), SIXTY_FOUR(x),
		SIXTY_FOUR(x), (char *)NULL, environment);
	cr_assert_gt(arguments.mapped_bytes, 0);
	for (int i = 1; i <= 256; i++)
		cr_assert_eq(arguments.all[i], x);
	cr_assert_null(arguments.all[257]);
	cr_assert_eq(next, environment);
	arguments_release(&arguments);
}

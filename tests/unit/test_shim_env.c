/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/env.h"
#include "shim/filter.h"
#include "shim/real.h"
#include "shim/wire.h"

#define HEAP WIRE_ENV "=/proc/1/fd/5"
#define ASAN WIRE_ASAN_ENV "=" WIRE_ASAN_OPTIONS

static struct env env;
static char preload[2048]; /* LD_PRELOAD=<the shim> */

static void set_up(void)
{
	setenv(WIRE_ENV, "/proc/1/fd/5", 1);
	cr_assert(env_remember());
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", real_own_path());
}

static void tear_down(void)
{
	env_release(&env);
}

TestSuite(shim_env, .init = set_up, .fini = tear_down);

/* In just as much room as it says to need. */
static char *const *made(char *const envp[])
{
	static char rooms[4][ENV_ROOM_MAX];
	static unsigned int nr;
	char *room = rooms[nr++ % 4];

	cr_assert(le(sz, env_room(envp), ENV_ROOM_MAX));
	memset(room, 'x', ENV_ROOM_MAX);

	char *const *got = env_for(&env, envp, room);

	for (size_t i = env_room(envp); i < ENV_ROOM_MAX; i++)
		cr_assert(eq(chr, room[i], 'x'));
	return got;
}

static const char *value(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (!strncmp(*envp, name, strlen(name)) && (*envp)[strlen(name)] == '=')
			return *envp;
	return "";
}

static size_t count(char *const *envp)
{
	size_t nr = 0;

	while (envp[nr])
		nr++;
	return nr;
}

Test(shim_env, a_bare_environment_gets_all_variables)
{
	char *bare[] = { "PATH=/bin", NULL };
	char *const *got = made(bare);

	cr_expect(eq(sz, count(got), 4));
	cr_expect(eq(str, (char *)value(got, WIRE_ASAN_ENV), ASAN));
	cr_expect(eq(str, (char *)value(got, "PATH"), "PATH=/bin"));
	cr_expect(eq(str, (char *)value(got, "LD_PRELOAD"), preload));
	cr_expect(eq(str, (char *)value(got, WIRE_ENV), HEAP));
}

Test(shim_env, no_environment_is_an_empty_one)
{
	cr_expect(eq(sz, count(made(NULL)), 3));
}

Test(shim_env, a_complete_one_is_handed_on_as_it_is)
{
	char *complete[] = { preload, HEAP, ASAN, NULL };

	cr_expect(eq(ptr, (void *)made(complete), (void *)complete));
}

Test(shim_env, their_preloads_stay_behind_ours)
{
	char *theirs[] = { HEAP, "LD_PRELOAD=/x.so:/y.so", NULL };
	char expected[4096];
	char *const *got = made(theirs);

	snprintf(expected, sizeof(expected), "%s:/x.so:/y.so", preload);
	cr_expect(eq(str, (char *)value(got, "LD_PRELOAD"), expected));
	cr_expect(eq(sz, count(got), 3));
}

Test(shim_env, their_asan_options_come_after_ours_and_win)
{
	char *theirs[] = { preload, HEAP, "ASAN_OPTIONS=detect_leaks=0", NULL };
	char *const *got = made(theirs);

	cr_expect(eq(str, (char *)value(got, WIRE_ASAN_ENV), ASAN ":detect_leaks=0"));
	cr_expect(eq(str, (char *)value(got, "LD_PRELOAD"), preload));
	cr_expect(eq(sz, count(got), 3));
}

Test(shim_env, another_recording_is_left_alone)
{
	char *other[] = { WIRE_ENV "=/proc/2/fd/3", "LD_PRELOAD=/other.so", NULL };

	cr_expect(eq(ptr, (void *)made(other), (void *)other));
}

Test(shim_env, a_large_one_keeps_every_entry)
{
	enum { NR = 5000 };
	static char *large[NR + 1];

	for (int i = 0; i < NR; i++)
		large[i] = "A=B";
	cr_expect(eq(sz, count(made(large)), NR + 3));
}

Test(shim_env, one_that_just_fits_is_complete)
{
	enum { MOST = ENV_ROOM_MAX / sizeof(char *) };
	static char *entries[MOST + 1];
	bool fits = true;

	for (size_t nr = 0; nr < MOST; nr++) {
		for (size_t i = 0; i < nr; i++)
			entries[i] = "A=B";
		entries[nr] = NULL;
		cr_expect(eq(sz, count(made(entries)), nr + 3));
		cr_expect(eq(int, !env.mapped, env_room(entries) > 0));
		fits = env_room(entries);
		env_release(&env);
	}
	cr_expect(not(fits));
}

Test(shim_env, says_how_many_filters_the_recorder_has)
{
	cr_expect(eq(u32, env_filters_of_recorder(), 0));
	setenv(WIRE_ENV, "/proc/1/fd/5,2", 1);
	cr_assert(env_remember());
	cr_expect(eq(str, (char *)env_heap_path(), "/proc/1/fd/5"));
	cr_expect(eq(u32, env_filters_of_recorder(), 2));
	cr_expect(eq(u32, env_filters().nr, 2));
	cr_expect(eq(u64, env_filters().calls, FILTERS_ALL_CALLS));
	filter_inherit(env_filters());
	cr_expect(eq(str, (char *)value(made(NULL), WIRE_ENV), HEAP ",2"));
}

Test(shim_env, hands_on_what_is_known_of_filters)
{
	char *outdated[] = { preload, HEAP ",2", ASAN, NULL };
	char *up_to_date[] = { preload, HEAP ",2,4,fe0a", ASAN, NULL };

	setenv(WIRE_ENV, "/proc/1/fd/5,2,3,ff0b", 1);
	cr_assert(env_remember());
	cr_expect(eq(u32, env_filters_of_recorder(), 2));
	cr_expect(eq(u32, env_filters().nr, 3));
	cr_expect(eq(u64, env_filters().calls, 0xff0b));
	filter_inherit((struct filters){ 4, 0xfe0a });
	cr_expect(eq(str, (char *)value(made(outdated), WIRE_ENV), HEAP ",2,4,fe0a"));
	cr_expect(eq(ptr, (void *)made(up_to_date), (void *)up_to_date));
}

Test(shim_env, another_recording_whose_path_begins_alike_is_left_alone)
{
	char *other[] = { WIRE_ENV "=/proc/1/fd/55", "LD_PRELOAD=/other.so", NULL };

	cr_expect(eq(ptr, (void *)made(other), (void *)other));
}

Test(shim_env, without_a_launcher_there_is_nothing_to_remember)
{
	unsetenv(WIRE_ENV);
	cr_expect(not(env_remember()));
}

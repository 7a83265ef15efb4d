/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "record/stops/calm.h"

enum { START_A_THREAD = 's', BE_TRACED = 't' };

/* It does what it reads, and then says so. */
static struct {
	pid_t pid;
	int to, from;
	struct attach attach;
} target;

/* What is done at each open(). */
static struct {
	unsigned int starts; /* so often a thread is started meanwhile */
	unsigned int fails;  /* so often it returns ret */
	int ret;
	useconds_t takes_us;
} script;

static struct {
	unsigned int opens, opened, closes;
	size_t nr_threads; /* at the last open() */
	bool stood_still;
} seen;

static void *wait_for_end(void *argument)
{
	pause();
	return argument;
}

static _Noreturn void be_target(int commands, int answers)
{
	pthread_t thread;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(commands, &byte, 1) == 1) {
		if (byte == START_A_THREAD)
			pthread_create(&thread, NULL, wait_for_end, NULL);
		else
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (write(answers, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void set_up(void)
{
	int commands[2], answers[2];
	struct error err = ERROR_INIT;

	cr_assert(zero(int, pipe(commands)));
	cr_assert(zero(int, pipe(answers)));
	target.pid = fork();
	cr_assert(ge(int, target.pid, 0));
	if (!target.pid)
		be_target(commands[0], answers[1]);
	target.to = commands[1];
	target.from = answers[0];
	cr_assert(zero(int, attach_open(&target.attach, &target.pid, 1, &err)));
}

static void tear_down(void)
{
	attach_close(&target.attach);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
}

TestSuite(calm, .init = set_up, .fini = tear_down, .timeout = 10);

static bool stands_still(void)
{
	char text[4096];

	return proc_text(target.pid, "stat", text, sizeof(text)) && strrchr(text, ')')[2] == 't';
}

/* Until it has done it, or cannot now. */
static void tell_target(char byte)
{
	struct pollfd answer = { .fd = target.from, .events = POLLIN };

	cr_assert(eq(int, (int)write(target.to, &byte, 1), 1));
	while (!seen.stood_still && poll(&answer, 1, 100) == 0)
		seen.stood_still = stands_still();
	if (!seen.stood_still)
		cr_assert(eq(int, (int)read(target.from, &byte, 1), 1));
}

static int open_at(void *context, const struct attach_threads *threads, struct error *err)
{
	cr_expect(eq(ptr, context, &seen));
	seen.opens++;
	seen.nr_threads = threads->nr;
	usleep(script.takes_us);
	if (seen.opens <= script.starts)
		tell_target(START_A_THREAD);
	if (seen.opens > script.fails)
		return 0;
	error_set(err, ERR_REFUSED, "as the script says");
	return script.ret;
}

static void opened(void *context)
{
	(void)context;
	seen.opened++;
}

static void close_all(void *context)
{
	(void)context;
	seen.closes++;
}

static int run(unsigned int tries, uint64_t halt_most_ns, struct error *why, struct error *err)
{
	const struct calm calm = { &target.attach, tries,  halt_most_ns, &seen,
				   open_at,	   opened, close_all };

	return calm_open(&calm, why, err);
}

static void expect_seen(unsigned int opens, unsigned int opened_so_often, unsigned int closes)
{
	cr_expect(eq(uint, seen.opens, opens));
	cr_expect(eq(uint, seen.opened, opened_so_often));
	cr_expect(eq(uint, seen.closes, closes));
}

Test(calm, opens_once_at_all_threads_of_who_keeps_calm)
{
	struct error err = ERROR_INIT;

	tell_target(START_A_THREAD);
	tell_target(START_A_THREAD);
	cr_expect(eq(int, run(3, UINT64_MAX, &err, &err), 1));
	expect_seen(1, 1, 0);
	cr_expect(eq(sz, seen.nr_threads, 3));
}

/* Each open() but the last one was followed by a thread more.  (On a loaded machine it is halted sooner.) */
static void expect_last_one_to_be_at_all(void)
{
	expect_seen(seen.opens, 1, seen.opens - 1);
	cr_expect(eq(sz, seen.nr_threads, seen.opens));
}

Test(calm, opens_anew_where_a_thread_was_started_meanwhile)
{
	struct error err = ERROR_INIT;

	script.starts = 1;
	cr_expect(eq(int, run(5, UINT64_MAX, &err, &err), 1), "%s", err.message);
	cr_expect(eq(uint, seen.opens, 2));
	expect_last_one_to_be_at_all();
}

Test(calm, halts_who_does_not_keep_it)
{
	struct error err = ERROR_INIT;
	char byte;

	script.starts = 4;
	cr_expect(eq(int, run(3, UINT64_MAX, &err, &err), 1), "%s", err.message);
	expect_last_one_to_be_at_all();
	cr_expect(seen.stood_still);
	/* It goes on, and does what it was told then. */
	cr_expect(eq(int, (int)read(target.from, &byte, 1), 1));
}

Test(calm, halts_sooner_who_makes_a_try_long)
{
	struct error err = ERROR_INIT;

	script.starts = 1;
	script.takes_us = 30000;
	cr_expect(eq(int, run(1000, UINT64_MAX, &err, &err), 1), "%s", err.message);
	expect_seen(2, 1, 1);
}

Test(calm, does_not_halt_for_longer_than_it_may)
{
	struct error why = ERROR_INIT, err = ERROR_INIT;

	script.starts = 3;
	cr_expect(zero(int, run(3, 0, &why, &err)));
	expect_seen(seen.opens, 0, seen.opens);
	cr_expect(ne(ptr, strstr(why.message, "they would stand still for "), NULL), "%s",
		  why.message);
}

Test(calm, says_why_it_cannot_halt)
{
	struct error why = ERROR_INIT, err = ERROR_INIT;

	tell_target(BE_TRACED); /* by this thread, which is not the one that halts */
	script.starts = 1;
	cr_expect(zero(int, run(1, UINT64_MAX, &why, &err)));
	expect_seen(1, 0, 1);
	cr_expect(eq(str, why.message, (char *)"another program traces its threads"));
}

Test(calm, returns_what_opening_did)
{
	struct error why = ERROR_INIT, err = ERROR_INIT;

	script.fails = 1;
	script.ret = -EMFILE;
	cr_expect(eq(int, run(3, UINT64_MAX, &why, &err), -EMFILE));
	expect_seen(1, 0, 1);
	cr_expect(eq(str, err.message, (char *)"as the script says"));
}

Test(calm, opens_anew_where_all_that_there_were_have_ended)
{
	struct error why = ERROR_INIT, err = ERROR_INIT;

	script.fails = 1;
	script.ret = -ESRCH;
	cr_expect(eq(int, run(3, UINT64_MAX, &why, &err), 1));
	expect_seen(2, 1, 1);
	cr_expect(eq(str, err.message, (char *)""));
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_ends - ends in a given way, allocating on the way out.
 *
 *	guest_ends return|exit|_exit|quick_exit|abort|kill|segv|trap
 *
 * A block of 1000 bytes stays from the start.  Then, where the way leads past them: a handler of
 * at_quick_exit() allocates 10, one of atexit() 20, and a destructor, which runs last, 40; none is
 * freed.  The status is 7 where there is one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept[4];

static void at_quick(void)
{
	kept[1] = malloc(10);
}

static void at_exit(void)
{
	kept[2] = malloc(20);
}

/* After every handler, and after the destructors of the libraries that come before us. */
__attribute__((destructor(101))) static void last(void)
{
	kept[3] = malloc(40);
}

static void end(const char *way)
{
	if (!strcmp(way, "exit"))
		exit(7);
	if (!strcmp(way, "_exit"))
		_exit(7);
	if (!strcmp(way, "quick_exit"))
		quick_exit(7);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(way, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(way, "trap"))
		__builtin_trap();
}

int main(int argc, char **argv)
{
	atexit(at_exit);
	at_quick_exit(at_quick);
	kept[0] = malloc(1000);
	if (argc > 1)
		end(argv[1]);
	return 7;
}

// SPDX-License-Identifier: MIT
/* stacks_apart coroutine|handler MS: uses MS milliseconds of CPU time in burn(), below step() and
 * entry() or on_signal().  As a coroutine entry() has a stack of its own, to which resume() switches,
 * called by turns(), and which it leaves by yield().  on_signal() has that of signal handlers and
 * interrupts raises().
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static long end_ms;
static volatile long sink;

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

__attribute__((noinline)) static void burn(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static void step(int n)
{
	char room[300];

	memset(room, n, sizeof(room));
	burn(200000 + room[n % 300]);
	sink += room[0];
}

__attribute__((noinline)) static void yield(void)
{
	swapcontext(&inside, &outside);
	sink++;
}

__attribute__((noinline)) static void entry(void)
{
	for (int i = 0; used_ms() < end_ms; i++) {
		step(i);
		yield();
	}
}

__attribute__((noinline)) static void resume(void)
{
	swapcontext(&outside, &inside);
	sink++;
}

__attribute__((noinline)) static void turns(void)
{
	while (used_ms() < end_ms)
		resume();
}

static void run_coroutine(void)
{
	static char stack[1 << 16];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, entry, 0);
	turns();
}

__attribute__((noinline)) static void on_signal(int signal)
{
	step(signal);
}

__attribute__((noinline)) static void raises(void)
{
	while (used_ms() < end_ms)
		raise(SIGUSR1);
}

static void run_handler(void)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raises();
}

int main(int argc, char **argv)
{
	end_ms = argc > 2 ? atoi(argv[2]) : 500;
	if (argc > 1 && !strcmp(argv[1], "coroutine"))
		run_coroutine();
	else
		run_handler();
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * signals [NUMBER]: a thread computes while it gets so many queued signals (20000) from another,
 * and SIGPROF by a timer of its own.  Prints how many came, and fails unless all of them did, in
 * their order, with the values they were sent with, and the SIGPROFs as often as the kernel says.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t number, wrong, ticks, done;

static void take(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_code != SI_QUEUE || info->si_value.sival_int != number)
		wrong++;
	number++;
}

static void tick(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_code != SI_KERNEL)
		wrong++;
	ticks++;
}

static void *compute(void *context)
{
	volatile long *sum = context;

	while (!done)
		*sum += 1;
	return NULL;
}

static void set_handler(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(signal, &action, NULL);
}

int main(int argc, char **argv)
{
	static const struct itimerval every = { { 0, 10000 }, { 0, 10000 } };
	int last = argc > 1 ? atoi(argv[1]) : 20000;
	pthread_t thread;
	sigset_t queued;
	long sum = 0;

	set_handler(SIGRTMIN, take);
	set_handler(SIGPROF, tick);
	setitimer(ITIMER_PROF, &every, NULL);
	pthread_create(&thread, NULL, compute, &sum);
	sigemptyset(&queued);
	sigaddset(&queued, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &queued, NULL);
	for (int i = 0; i < last; i++) {
		while (pthread_sigqueue(thread, SIGRTMIN, (union sigval){ .sival_int = i }) ==
		       EAGAIN)
			sched_yield();
		while (number <= i - 100)
			sched_yield();
	}
	while (number < last)
		sched_yield();
	done = 1;
	pthread_join(thread, NULL);
	printf("%d came, %d wrong, ticks: %s\n", (int)number, (int)wrong, ticks ? "yes" : "none");
	return number != last || wrong || !ticks;
}

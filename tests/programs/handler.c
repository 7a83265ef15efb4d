// SPDX-License-Identifier: MIT
/* handler [MS]: uses MS milliseconds (500) of CPU time, most of it in burn(), called by on_alarm(),
 * which interrupts burn() itself below 20 frames of work(), each time after 5 ms of that: however
 * long it takes, main() goes on.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile long sink;

__attribute__((noinline)) static void burn(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

static void set_alarm(void)
{
	const struct itimerval once = { { 0, 0 }, { 0, 5000 } };

	setitimer(ITIMER_REAL, &once, NULL);
}

__attribute__((noinline)) static void on_alarm(int signal)
{
	burn(1200000 + signal);
	set_alarm();
}

__attribute__((noinline)) static int work(int depth)
{
	volatile char frame[32];

	frame[0] = (char)depth;
	if (depth)
		return work(depth - 1) + frame[0];
	burn(2000);
	return frame[0];
}

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int ms = argc > 1 ? atoi(argv[1]) : 500;

	sigaction(SIGALRM, &action, NULL);
	set_alarm();
	while (used_ms() < ms)
		work(20);
	return 0;
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin -pthread
/*
 * guest_threads - threads that leave an allocator's guest little room, or end in unusual ways.
 *
 *	guest_threads small N	N threads on stacks of 16 KiB (PTHREAD_STACK_MIN), one after another
 *	guest_threads alt N	N signal handlers on an alternate stack of 8 KiB
 *	guest_threads cancel N	N threads that are cancelled, each between two of its operations
 *	guest_threads keys N	N threads that allocate in destructors of thread-local data
 *	guest_threads many N	N threads at the same time
 *	guest_threads main N	main() ends by pthread_exit(), N threads go on
 *
 * Prints how often the program called malloc and free itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic unsigned long allocations, frees;
static int number;

static void allocate_and_free(size_t size)
{
	void *block = malloc(size);

	allocations++;
	__asm__ volatile("" : "+r"(block));
	free(block);
	frees++;
}

static void *work(void *unused)
{
	for (size_t size = 1; size < 100000; size *= 3)
		allocate_and_free(size);
	return unused;
}

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", strerror(error));
	exit(2);
}

static void small(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	check(pthread_attr_setstacksize(&attributes, 16384));
	for (int i = 0; i < number; i++) {
		check(pthread_create(&thread, &attributes, work, NULL));
		check(pthread_join(thread, NULL));
	}
}

static void on_signal(int unused)
{
	(void)unused;
	work(NULL);
}

static void alt(void)
{
	static char memory[8192];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < number; i++)
		raise(SIGUSR1);
}

/* malloc and free are no cancellation points: the two counts stay equal. */
static void *until_cancelled(void *unused)
{
	for (;;) {
		allocate_and_free(64);
		pthread_testcancel();
	}
	return unused;
}

static void cancel(void)
{
	pthread_t thread;

	for (int i = 0; i < number; i++) {
		check(pthread_create(&thread, NULL, until_cancelled, NULL));
		usleep((useconds_t)(i % 7) * 100);
		check(pthread_cancel(thread));
		check(pthread_join(thread, NULL));
	}
}

static pthread_key_t key;

/* Called again as long as it leaves a block behind. */
static void destroy(void *block)
{
	static _Thread_local int round;

	free(block);
	frees++;
	if (++round == 3)
		return;
	allocations++;
	pthread_setspecific(key, malloc(77));
}

static void *with_key(void *unused)
{
	allocations++;
	pthread_setspecific(key, malloc(77));
	return unused;
}

static void keys(void)
{
	pthread_t thread;

	check(pthread_key_create(&key, destroy));
	for (int i = 0; i < number; i++) {
		check(pthread_create(&thread, NULL, with_key, NULL));
		check(pthread_join(thread, NULL));
	}
}

static pthread_barrier_t all_are_here;

static void *work_together(void *unused)
{
	allocate_and_free(10);
	pthread_barrier_wait(&all_are_here);
	return work(unused);
}

static void many(void)
{
	pthread_t *thread = calloc((size_t)number, sizeof(*thread));
	pthread_attr_t attributes;

	allocations++;
	pthread_attr_init(&attributes);
	check(pthread_attr_setstacksize(&attributes, 65536));
	pthread_barrier_init(&all_are_here, NULL, (unsigned int)number);
	for (int i = 0; i < number; i++)
		check(pthread_create(&thread[i], &attributes, work_together, NULL));
	for (int i = 0; i < number; i++)
		check(pthread_join(thread[i], NULL));
	free(thread);
	frees++;
}

static void *work_later(void *unused)
{
	usleep(20000);
	return work(unused);
}

static void print(void)
{
	printf("%lu %lu\n", allocations, frees);
}

static void leave_main(void)
{
	pthread_t thread;

	atexit(print);
	for (int i = 0; i < number; i++)
		check(pthread_create(&thread, NULL, work_later, NULL));
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = { { "small", small }, { "alt", alt },   { "cancel", cancel },
		     { "keys", keys },	 { "many", many }, { "main", leave_main } };

	number = argc == 3 ? atoi(argv[2]) : 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && number; i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		ways[i].run();
		print();
		return 0;
	}
	return 1;
}

// SPDX-License-Identifier: MIT
/*
 * alternate [TURNS]: two functions take turns (12000) of 50 microseconds.  Only touches_a_page()
 * has page faults, one a turn; computes() has none.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	TURN_NS = 50000,
};

static volatile long sink;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static __attribute__((noinline)) void computes(void)
{
	long until = now_ns() + TURN_NS;

	while (now_ns() < until)
		for (int i = 0; i < 100; i++)
			sink += i;
}

static __attribute__((noinline)) void touches_a_page(volatile char *memory, size_t page)
{
	long until = now_ns() + TURN_NS;

	madvise((void *)memory, page, MADV_DONTNEED);
	*memory = 1;
	while (now_ns() < until)
		;
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 12000;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, page, MADV_NOHUGEPAGE);
	for (long i = 0; i < turns; i++) {
		computes();
		touches_a_page(memory, page);
	}
	return 0;
}

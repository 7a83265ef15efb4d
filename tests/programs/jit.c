// SPDX-License-Identifier: MIT
/*
 * jit [MS]: makes code while it runs, as a JIT compiler does, and tells of it in /tmp/perf-PID.map as it
 * goes: half of MS milliseconds of CPU time (600) in jit_early, then as much in jit_late, which is
 * made after that.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long work(unsigned long rounds);

/* A loop that runs wherever it is copied to. */
static __attribute__((noinline, section("made"))) unsigned long loop(unsigned long rounds)
{
	unsigned long n = 0;

	while (rounds--)
		__asm__ volatile("" : "+r"(n));
	return n;
}

extern const char __start_made[], __stop_made[];

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void tell(const void *code, size_t size, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "a");
	if (!map)
		exit(1);
	fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, name);
	fclose(map);
}

static void make_and_run(const char *name, long ms)
{
	size_t size = (size_t)(__stop_made - __start_made);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	memcpy(code, __start_made, size);
	__builtin___clear_cache(code, code + size);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) < 0)
		exit(1);
	tell(code, size, name);
	work *run = (work *)(uintptr_t)(code + ((const char *)(uintptr_t)loop - __start_made));
	for (long start = used_ms(); used_ms() - start < ms;)
		run(1000000);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 600;

	make_and_run("jit_early", ms / 2);
	make_and_run("jit_late one.js:7", ms / 2);
	return 0;
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_stack - how far down the stack functions get that the shim stands in front of.
 *
 * Each is called once in a thread of its own, on a stack that was painted before.  Prints a JSON
 * object: bytes below the caller's frame that are no longer as they were painted, by function.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define noinline __attribute__((noipa))
#define STACK_BYTES (256 << 10)
#define PAINT 0xa5

#define note_caller() (caller = __builtin_frame_address(0))

static void *block;
static char *memory, *caller;

static void by_malloc(void)
{
	note_caller();
	block = malloc(100);
}

static void by_realloc(void)
{
	note_caller();
	block = realloc(block, 3000);
}

static void by_free(void)
{
	note_caller();
	free(block);
	block = NULL;
}

static void by_calloc(void)
{
	note_caller();
	block = calloc(10, 10);
}

static void by_memalign(void)
{
	note_caller();
	if (posix_memalign(&block, 64, 100))
		abort();
}

static noinline void in_a_deep_stack(int nr)
{
	if (nr)
		in_a_deep_stack(nr - 1);
	else
		by_malloc();
	__asm__ volatile("");
}

static void deep(void)
{
	in_a_deep_stack(100);
}

/* The child's part is not seen here. */
static void by_fork(void)
{
	note_caller();
	if (!fork())
		_exit(0);
}

static void by_waitpid(void)
{
	note_caller();
	waitpid(-1, NULL, 0);
}

static void by_execve(void)
{
	char *none[] = { NULL };

	note_caller();
	execve("/nowhere/at/all", none, none);
}

static void by_execl(void)
{
	note_caller();
	execl("/nowhere/at/all", "all", NULL);
}

static void *work(void *operation)
{
	(*(void (**)(void))operation)();
	return NULL;
}

static size_t depth_of(void (**operation)(void))
{
	pthread_attr_t attributes;
	pthread_t thread;
	char *low = memory;

	memset(memory, PAINT, STACK_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory, STACK_BYTES);
	pthread_create(&thread, &attributes, work, operation);
	pthread_join(thread, NULL);
	while ((unsigned char)*low == PAINT)
		low++;
	return (size_t)(caller - low);
}

int main(void)
{
	static struct {
		const char *name;
		void (*operation)(void);
		size_t depth;
	} all[] = {
		{ "malloc", by_malloc, 0 },
		{ "realloc", by_realloc, 0 },
		{ "free", by_free, 0 },
		{ "calloc", by_calloc, 0 },
		{ "posix_memalign", by_memalign, 0 },
		{ "malloc, deep", deep, 0 },
		{ "fork", by_fork, 0 },
		{ "waitpid", by_waitpid, 0 },
		{ "execve", by_execve, 0 },
		{ "execl", by_execl, 0 },
	};
	size_t nr = sizeof(all) / sizeof(*all);

	memory = aligned_alloc(4096, STACK_BYTES);
	for (size_t i = 0; i < nr; i++)
		all[i].depth = depth_of(&all[i].operation);
	for (size_t i = 0; i < nr; i++)
		printf("%s\"%s\": %zu", i ? ", " : "{", all[i].name, all[i].depth);
	puts("}");
	return 0;
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_stacks - allocates on all kinds of stacks, and says what backtrace() says of each.
 *
 *	heap_stacks ROUNDS
 *
 * A line for each kept block: its address, then the return addresses of its stack, the innermost of
 * which is only near (it is that of the call to backtrace, in the same function).
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define FRAMES 400

typedef void function(int depth);

static uint64_t state = 88172645463325252u;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t any(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state;
}

NOINLINE static void leaf(void)
{
	void *pcs[FRAMES], *block = malloc(16 + any() % 64);
	int nr = backtrace(pcs, FRAMES);

	flockfile(stdout);
	printf("%lu", (unsigned long)(uintptr_t)block);
	for (int i = 0; i < nr; i++)
		printf(" %lu", (unsigned long)(uintptr_t)pcs[i]);
	printf("\n");
	funlockfile(stdout);
}

static function plain, with_frame_pointer, with_alloca, realigned, through_qsort, jumping;
static function *const kinds[] = { plain,     with_frame_pointer, with_alloca,
				   realigned, through_qsort,	  jumping };

NOINLINE static void next(int depth)
{
	if (depth > 0)
		kinds[any() % (sizeof(kinds) / sizeof(kinds[0]))](depth - 1);
	else
		leaf();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void plain(int depth)
{
	char room[40];

	__asm__ volatile("" ::"r"(room) : "memory");
	next(depth);
	if (any() % 3 == 0)
		leaf();
}

NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) static void
with_frame_pointer(int depth)
{
	next(depth);
	leaf();
}

NOINLINE static void with_alloca(int depth)
{
	char *room = alloca(16 + any() % 300);

	memset(room, 1, 16);
	__asm__ volatile("" ::"r"(room) : "memory");
	next(depth);
	next(depth / 4);
}

NOINLINE static void realigned(int depth)
{
	_Alignas(128) char room[128];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	next(depth);
	leaf();
}

static int comparing;

static int compare(const void *a, const void *b)
{
	if (comparing > 0) {
		int depth = comparing;

		comparing = 0;
		next(depth - 1);
	}
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void through_qsort(int depth)
{
	int numbers[] = { 3, 1, 2 };

	comparing = depth;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
}

NOINLINE static void jump_from(jmp_buf *to, int depth)
{
	char room[64];

	__asm__ volatile("" ::"r"(room) : "memory");
	next(depth);
	longjmp(*to, 1);
}

NOINLINE static void jumping(int depth)
{
	jmp_buf here;
	volatile int later = depth / 2;

	if (!setjmp(here))
		jump_from(&here, depth);
	else
		next(later);
}

static void handler(int number)
{
	(void)number;
	next(2);
	leaf();
}

NOINLINE static void signalled(int flags)
{
	static char alt[1 << 16];
	stack_t stack = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static ucontext_t back, there;

static void coroutine(void)
{
	next(3);
	leaf();
}

/* Each time on a new stack, which then goes away. */
NOINLINE static void switched(void)
{
	size_t size = 1 << 16;

	getcontext(&there);
	there.uc_stack.ss_sp =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	there.uc_stack.ss_size = size;
	there.uc_link = &back;
	makecontext(&there, coroutine, 0);
	swapcontext(&back, &there);
	munmap(there.uc_stack.ss_sp, size);
}

NOINLINE static void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		leaf();
	__asm__ volatile("" ::: "memory");
}

static void *thread(void *arg)
{
	pthread_mutex_lock(&lock);
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		next(any() % 9);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100;
	pthread_t other;

	for (unsigned long i = 0; i < rounds; i++) {
		next(any() % 12);
		if (i % 16 == 0) {
			signalled(0);
			signalled(SA_ONSTACK);
			switched();
			deep(any() % 300);
		}
		leaf();
	}
	pthread_create(&other, NULL, thread, (void *)(uintptr_t)rounds);
	pthread_join(other, NULL);
	return 0;
}

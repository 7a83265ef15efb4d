// SPDX-License-Identifier: MIT
// PFLAGS: -fno-builtin -fexceptions
/*
 * frames [MS] - in frames of all shapes, each in a function of its own, uses MS milliseconds (40) of
 * CPU time, most of it in spin(), which calls nothing, and keeps KEPT (3) blocks of 64 bytes.
 *
 * These are all ways: plain large larger huge with_alloca realigned signed_return on_alarm on_alternate
 * in_vdso catching unwinding in_thread recursive.  in_vdso reads the clock instead of spinning.
 */
#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __aarch64__
#define SIGNED __attribute__((target("branch-protection=standard")))
#else
#define SIGNED
#endif

static volatile long sink;
static long ms = 40;

NOINLINE static void spin(long n)
{
	while (n--)
		sink = sink + n;
}

NOINLINE static void read_clock(long n)
{
	struct timespec now;

	for (n /= 50; n--;)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void (*volatile burn)(long) = spin;

static double used_ms()
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1e3 + used.tv_nsec / 1e6;
}

NOINLINE static void work()
{
	double until = used_ms() + ms;

	for (int i = 0; i < 3; i++)
		*static_cast<volatile char *>(malloc(64)) = 1;
	while (used_ms() < until)
		burn(5000);
}

/* So that the frame is there. */
static void use(void *room, size_t size)
{
	memset(room, 1, size < 64 ? size : 64);
	__asm__ volatile("" ::"r"(room) : "memory");
}

#define WITH_ROOM(name, size)           \
	NOINLINE static void name()     \
	{                               \
		char room[size];        \
                                        \
		use(room, size);        \
		work();                 \
		use(room, size);        \
	}
WITH_ROOM(plain, 16)
WITH_ROOM(large, 6000)
WITH_ROOM(larger, 200000)
WITH_ROOM(huge, 1000000)

NOINLINE static void with_alloca()
{
	size_t size = 3000 + (sink & 1);
	void *room = alloca(size);

	use(room, size);
	work();
	use(room, size);
}

/* Where locals are aligned further than the stack is. */
NOINLINE static void realigned()
{
	alignas(256) char room[512];
	size_t size = 3000 + (sink & 1);

	use(room, sizeof(room));
	use(alloca(size), size);
	work();
	use(room, sizeof(room));
}

SIGNED NOINLINE static void signed_return()
{
	work();
	__asm__ volatile("");
}

NOINLINE static long recursive(int depth)
{
	if (depth)
		return recursive(depth - 1) + 1;
	work();
	return sink;
}

static volatile sig_atomic_t rang;

NOINLINE static void on_alarm(int)
{
	work();
	rang = 1;
}

/* Calls nothing when it is interrupted, and has a frame. */
NOINLINE static void wait_for_alarm()
{
	volatile char room[200000];

	for (size_t i = 0; !rang; i = (i + 1) % sizeof(room))
		room[i] = 1;
}

NOINLINE static void interrupted()
{
	struct itimerval soon = { { 0, 0 }, { 0, 10000 } };

	signal(SIGVTALRM, on_alarm);
	setitimer(ITIMER_VIRTUAL, &soon, nullptr);
	wait_for_alarm();
}

NOINLINE static void on_alternate(int)
{
	work();
	__asm__ volatile("");
}

/* The handler has a stack of its own. */
NOINLINE static void raising()
{
	static char room[1 << 16];
	struct sigaction action = {};
	stack_t alternate = {};

	alternate.ss_sp = room;
	alternate.ss_size = sizeof(room);
	sigaltstack(&alternate, nullptr);
	action.sa_handler = on_alternate;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	raise(SIGUSR1);
}

NOINLINE static void in_vdso()
{
	burn = read_clock;
	work();
	burn = spin;
}

struct unwinding_object {
	NOINLINE ~unwinding_object();
};

NOINLINE static void unwinding()
{
	work();
	__asm__ volatile("");
}

unwinding_object::~unwinding_object()
{
	unwinding();
}

NOINLINE static void throwing(int depth)
{
	unwinding_object object;
	char room[6000];

	use(room, sizeof(room));
	if (depth < 0)
		return;
	throw depth;
}

NOINLINE static void catching()
{
	try {
		throwing(1);
	} catch (int) {
		work();
	}
}

static void *in_thread(void *)
{
	work();
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		ms = atol(argv[1]);
	plain();
	large();
	larger();
	huge();
	with_alloca();
	realigned();
	signed_return();
	interrupted();
	raising();
	in_vdso();
	catching();
	pthread_create(&thread, nullptr, in_thread, nullptr);
	pthread_join(thread, nullptr);
	recursive(5000); /* last: to walk up its stacks takes longest, and what comes next is read late */
	return 0;
}

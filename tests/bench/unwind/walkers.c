/* SPDX-License-Identifier: MIT */
#include "walkers.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/guard.h"
#include "shim/hook.h"
#include "shim/real.h"
#include "shim/walk.h"
#include "stack.h"

enum {
	FRAMES_MAX = 256,
};

static void *frames[FRAMES_MAX];

/* --- the shim --------------------------------------------------------------------------------- */

static struct trie trie;
static struct modules modules;
static struct walk *walk;

static char *map(int fd, uint64_t at, size_t size)
{
	char *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* As in a recorded program, without a recorder. */
static bool shim_is_there(void)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	struct wire_segment *segment;

	if (fd < 0 || ftruncate(fd, (off_t)WIRE_FILE_BYTES))
		return false;
	segment = (struct wire_segment *)map(fd, wire_segment_at(0), WIRE_SEGMENT_BYTES);
	real_find();
	if (!trie_init(&trie, fd, wire_segment_at(0) + WIRE_NODES_AT, segment))
		return false;
	modules_init(&modules, segment, &trie);
	walk = calloc(1, sizeof(*walk));
	walk_init(walk, &modules, &trie, stack_top());
	return true;
}

NOINLINE static void shim_walk(void)
{
	const uintptr_t *frame = FRAME;
	volatile uint32_t id = walk_stack(walk, frame[1], guard_caller_sp(frame), frame[0]);

	(void)id;
}

static void shim_forget(void)
{
	walk->nr = 0;
}

/* --- peers ------------------------------------------------------------------------------------ */

static int (*unw_backtrace)(void **buffer, int size);

/* Not linked to: there is no need to have it. */
static bool libunwind_is_there(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	unw_backtrace = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
	return unw_backtrace;
}

NOINLINE static void libunwind_walk(void)
{
	unw_backtrace(frames, FRAMES_MAX);
	__asm__ volatile("" ::: "memory");
}

static bool glibc_is_there(void)
{
	return true;
}

NOINLINE static void glibc_walk(void)
{
	backtrace(frames, FRAMES_MAX);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void no_walk(void)
{
	const uintptr_t *frame = FRAME;

	__asm__ volatile("" ::"r"(frame) : "memory");
}

const struct walker walkers_none = { "none", glibc_is_there, no_walk, NULL };

const struct walker walkers[] = {
	{ "cprof, in the program", shim_is_there, shim_walk, shim_forget },
	{ "libunwind's unw_backtrace", libunwind_is_there, libunwind_walk, NULL },
	{ "glibc's backtrace", glibc_is_there, glibc_walk, NULL },
};

size_t walkers_nr(void)
{
	return sizeof(walkers) / sizeof(walkers[0]);
}

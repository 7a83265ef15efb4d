/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc that the shim stands in front of, and nothing else.  Each forwards what it
 * was given, unchanged.  They are small on purpose: the stack is walked from their caller on, whose
 * registers are where their frame pointer points.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/emit.h"
#include "shim/env.h"
#include "shim/guard.h"
#include "shim/pool.h"
#include "shim/real.h"
#include "shim/session.h"
#include "shim/sys.h"

#define EXPORT __attribute__((visibility("default"))) GUARD_HOOK
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

__attribute__((constructor)) static void start(void)
{
	session_start();
}

/* --- allocating -------------------------------------------------------------------------------*/

/* After the real function. */
static inline void *allocated(int level, const uintptr_t *frame, enum wire_function function,
			      void *block, size_t size)
{
	if (level == GUARD_OUT)
		return block;
	if (block) {
		guard_phase(level, frame, GUARD_OURS);
		emit_alloc(level, frame, function, block, size);
	}
	guard_leave(level);
	return block;
}

EXPORT void *malloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_MALLOC, real.malloc(size), size);
}

EXPORT void *calloc(size_t number, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_CALLOC, real.calloc(number, size), number * size);
}

EXPORT int posix_memalign(void **block, size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);
	int error = real.posix_memalign(block, align, size);

	allocated(level, FRAME, WIRE_FN_POSIX_MEMALIGN, error ? NULL : *block, size);
	return error;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_ALIGNED_ALLOC, real.aligned_alloc(align, size),
			 size);
}

EXPORT void *memalign(size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_MEMALIGN, real.memalign(align, size), size);
}

EXPORT void *valloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_VALLOC, real.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_PVALLOC, real.pvalloc(size), size);
}

/* --- reallocating -----------------------------------------------------------------------------*/

static inline void begin(int level, const uintptr_t *frame, void *block)
{
	if (level == GUARD_OUT || !block)
		return;
	guard_phase(level, frame, GUARD_OURS);
	emit_realloc_begin(level, block);
	guard_phase(level, frame, GUARD_REAL);
}

static inline void *reallocated(int level, const uintptr_t *frame, enum wire_function function,
				void *block, void *new_block, size_t size)
{
	if (level == GUARD_OUT || !block)
		return allocated(level, frame, function, new_block, size);
	guard_phase(level, frame, GUARD_OURS);
	emit_realloc_end(level, frame, function, new_block, size,
			 new_block ? WIRE_RESULT_DONE
			 : size	   ? WIRE_RESULT_FAILED
				   : WIRE_RESULT_FREED);
	guard_leave(level);
	return new_block;
}

/* A block from the pool moves to the real heap, and so begins to count. */
static void *move_from_pool(const void *block, void *new_block, size_t size)
{
	if (new_block)
		memcpy(new_block, block, pool_size(block) < size ? pool_size(block) : size);
	return new_block;
}

EXPORT void *realloc(void *block, size_t size)
{
	if (pool_owns(block))
		return move_from_pool(block, malloc(size), size);

	int level = guard_enter(FRAME, GUARD_REAL);

	begin(level, FRAME, block);
	return reallocated(level, FRAME, WIRE_FN_REALLOC, block, real.realloc(block, size), size);
}

EXPORT void *reallocarray(void *block, size_t number, size_t size)
{
	if (pool_owns(block))
		return move_from_pool(block, calloc(number, size), number * size);

	int level = guard_enter(FRAME, GUARD_REAL);

	begin(level, FRAME, block);

	void *new_block = real.reallocarray(block, number, size);
	size_t bytes;
	bool overflow = __builtin_mul_overflow(number, size, &bytes);

	return reallocated(level, FRAME, WIRE_FN_REALLOCARRAY, block, new_block,
			   overflow ? SIZE_MAX : bytes);
}

/* --- freeing ----------------------------------------------------------------------------------*/

/* Before the real function.  False for what the real function must not see. */
static inline bool freeing(const uintptr_t *frame, enum wire_function function, void *block)
{
	if (pool_owns(block))
		return false;
	if (!block)
		return true;

	int level = guard_enter(frame, GUARD_OURS);

	if (level != GUARD_OUT) {
		emit_free(level, function, block);
		guard_leave(level);
	}
	return true;
}

EXPORT void free(void *block)
{
	if (freeing(FRAME, WIRE_FN_FREE, block))
		real.free(block);
}

EXPORT void cfree(void *block);
EXPORT void cfree(void *block)
{
	if (freeing(FRAME, WIRE_FN_CFREE, block))
		real.cfree(block);
}

EXPORT void free_sized(void *block, size_t size);
EXPORT void free_sized(void *block, size_t size)
{
	if (freeing(FRAME, WIRE_FN_FREE_SIZED, block))
		real.free_sized(block, size);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size);
EXPORT void free_aligned_sized(void *block, size_t align, size_t size)
{
	if (freeing(FRAME, WIRE_FN_FREE_ALIGNED_SIZED, block))
		real.free_aligned_sized(block, align, size);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return pool_owns(block) ? pool_size(block) : real.malloc_usable_size(block);
}

/* --- code goes away ---------------------------------------------------------------------------*/

EXPORT int dlclose(void *handle)
{
	real_find();

	int error = real.dlclose(handle);

	modules_changed(&session.modules);
	return error;
}

/* --- processes --------------------------------------------------------------------------------*/

static void note_fork(const uintptr_t *frame)
{
	int level = guard_enter(frame, GUARD_OURS);

	if (level == GUARD_OUT)
		return;
	self.fork_sequence = emit_fork(level);
	guard_leave(level);
}

static pid_t forked(pid_t pid)
{
	if (!pid)
		session_start();
	self.fork_sequence = 0;
	return pid;
}

EXPORT pid_t fork(void)
{
	real_find();
	note_fork(FRAME);
	return forked(real.fork());
}

EXPORT pid_t _Fork(void)
{
	real_find();
	note_fork(FRAME);
	return forked(real._Fork());
}

/* Not in the child of a vfork: the parent's segment is not about to end. */
static void note_exec(const uintptr_t *frame)
{
	real_find();
	if (!session_live() || sys_getpid() != session.pid)
		return;

	int level = guard_enter(frame, GUARD_OURS);

	if (level == GUARD_OUT)
		return;
	emit_exec(level);
	guard_leave(level);
}

static int exec_path(const uintptr_t *frame, const char *path, char *const argv[],
		     char *const envp[])
{
	struct env env;

	note_exec(frame);

	int result = real.execve(path, argv, env_for(&env, envp));

	env_release(&env);
	return result;
}

static int exec_file(const uintptr_t *frame, const char *file, char *const argv[],
		     char *const envp[])
{
	struct env env;

	note_exec(frame);

	int result = real.execvpe(file, argv, env_for(&env, envp));

	env_release(&env);
	return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return exec_path(FRAME, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return exec_path(FRAME, path, argv, env_own());
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return exec_file(FRAME, file, argv, envp);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return exec_file(FRAME, file, argv, env_own());
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct env env;

	note_exec(FRAME);

	int result = real.fexecve(fd, argv, env_for(&env, envp));

	env_release(&env);
	return result;
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct env env;

	note_exec(FRAME);

	int result = real.execveat(fd, path, argv, env_for(&env, envp), flags);

	env_release(&env);
	return result;
}

#define ARGUMENTS_FIXED 256

/* A list of arguments as an array. */
struct arguments {
	char *fixed[ARGUMENTS_FIXED];
	char **all;
	size_t bytes;
	char *const *env; /* what follows the list */
};

static size_t count_arguments(va_list list)
{
	size_t nr = 1;

	while (va_arg(list, char *))
		nr++;
	return nr;
}

static bool collect(struct arguments *arguments, const char *first, va_list list)
{
	va_list copy;

	va_copy(copy, list);
	size_t nr = count_arguments(copy);
	va_end(copy);

	arguments->all = arguments->fixed;
	arguments->bytes = (nr + 1) * sizeof(char *);
	if (nr >= ARGUMENTS_FIXED)
		arguments->all = sys_mmap_private(arguments->bytes);
	if (sys_failed(arguments->all))
		return false;
	arguments->all[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= nr; i++)
		arguments->all[i] = va_arg(list, char *);
	return true;
}

static void release(struct arguments *arguments)
{
	if (arguments->all != arguments->fixed)
		sys_munmap(arguments->all, arguments->bytes);
}

EXPORT int execl(const char *path, const char *argument, ...)
{
	struct arguments arguments;
	int result = -1;
	va_list list;

	va_start(list, argument);
	if (collect(&arguments, argument, list)) {
		result = exec_path(FRAME, path, arguments.all, env_own());
		release(&arguments);
	}
	va_end(list);
	return result;
}

EXPORT int execlp(const char *file, const char *argument, ...)
{
	struct arguments arguments;
	int result = -1;
	va_list list;

	va_start(list, argument);
	if (collect(&arguments, argument, list)) {
		result = exec_file(FRAME, file, arguments.all, env_own());
		release(&arguments);
	}
	va_end(list);
	return result;
}

EXPORT int execle(const char *path, const char *argument, ...)
{
	struct arguments arguments;
	int result = -1;
	va_list list;

	va_start(list, argument);
	if (collect(&arguments, argument, list)) {
		result = exec_path(FRAME, path, arguments.all, va_arg(list, char *const *));
		release(&arguments);
	}
	va_end(list);
	return result;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct env env;

	real_find();

	int error = real.posix_spawn(pid, path, actions, attributes, argv, env_for(&env, envp));

	env_release(&env);
	return error;
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct env env;

	real_find();

	int error = real.posix_spawnp(pid, file, actions, attributes, argv, env_for(&env, envp));

	env_release(&env);
	return error;
}

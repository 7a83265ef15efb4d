/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc that the shim stands in front of to follow processes, and nothing else: how
 * they fork, execute, end and learn of each other's ends.  Each forwards what it was given (but that
 * posix_spawn() always has somewhere to put the pid).
 */
#include <alloca.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/pass_on.h"
#include "shim/arguments.h"
#include "shim/emit.h"
#include "shim/env.h"
#include "shim/exec_log.h"
#include "shim/hook.h"
#include "shim/real.h"
#include "shim/session.h"
#include "shim/sys.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* In the child of a vfork what happens is not the session's: it goes on, in the parent. */
static bool is_ours(void)
{
	return session_live() && sys_getpid() == session.pid;
}

/* Or it cannot be told: a filter of system calls refuses that. */
static bool may_be_ours(void)
{
	return session_live() && (sys_getpid() < 0 || is_ours());
}

/* --- forking ----------------------------------------------------------------------------------*/

static void note_fork(const uintptr_t *frame)
{
	int level = guard_level(guard_enter(frame, GUARD_OURS));

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

/* It forks by itself; the parent does not return. */
EXPORT int daemon(int no_chdir, int no_close)
{
	real_find();
	note_fork(FRAME);

	int error = real.daemon(no_chdir, no_close);

	forked(error);
	return error;
}

/* --- executing --------------------------------------------------------------------------------*/

static void note_exec(const uintptr_t *frame, const char *path)
{
	real_find();

	int level = is_ours() ? guard_level(guard_enter(frame, GUARD_OURS)) : GUARD_OUT;

	if (level != GUARD_OUT) {
		emit_exec(level);
		guard_leave(level);
	}
	if (session_live())
		exec_log_add(sys_getpid(), path, wire_clock());
}

static int exec_failed(int result)
{
	if (session_live())
		exec_log_failed(sys_getpid());
	return result;
}

typedef int exec_function(const char *name, char *const argv[], char *const envp[]);

/* The function is known when the real ones have been found. */
static int exec_by(exec_function *const *function, const uintptr_t *frame, const char *name,
		   char *const argv[], char *const envp[])
{
	struct env env;

	note_exec(frame, name);

	char *const *new = env_for(&env, envp, alloca(env_room(envp)));
	int result = (*function)(name, argv, new);

	env_release(&env);
	return exec_failed(result);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return exec_by(&real.execve, FRAME, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return exec_by(&real.execve, FRAME, path, argv, env_own());
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return exec_by(&real.execvpe, FRAME, file, argv, envp);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return exec_by(&real.execvpe, FRAME, file, argv, env_own());
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct env env;

	note_exec(FRAME, exec_log_called(argv));

	char *const *new = env_for(&env, envp, alloca(env_room(envp)));
	int result = real.fexecve(fd, argv, new);

	env_release(&env);
	return exec_failed(result);
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct env env;

	note_exec(FRAME, exec_log_path(fd, path, argv));

	char *const *new = env_for(&env, envp, alloca(env_room(envp)));
	int result = real.execveat(fd, path, argv, new, flags);

	env_release(&env);
	return exec_failed(result);
}

/* execl() and its kin: the rest of the list, and behind it maybe the environment. */
static int exec_list(exec_function *const *function, const uintptr_t *frame, const char *name,
		     const char *first, va_list *rest, bool has_env)
{
	struct arguments arguments;

	if (!arguments_collect(&arguments, first, rest, alloca(arguments_room(rest))))
		return -1;

	char *const *envp = has_env ? va_arg(*rest, char *const *) : env_own();
	int result = exec_by(function, frame, name, arguments.all, envp);

	arguments_release(&arguments);
	return result;
}

EXPORT int execl(const char *path, const char *argument, ...)
{
	va_list list;

	va_start(list, argument);

	int result = exec_list(&real.execve, FRAME, path, argument, &list, false);

	va_end(list);
	return result;
}

EXPORT int execlp(const char *file, const char *argument, ...)
{
	va_list list;

	va_start(list, argument);

	int result = exec_list(&real.execvpe, FRAME, file, argument, &list, false);

	va_end(list);
	return result;
}

EXPORT int execle(const char *path, const char *argument, ...)
{
	va_list list;

	va_start(list, argument);

	int result = exec_list(&real.execve, FRAME, path, argument, &list, true);

	va_end(list);
	return result;
}

static int spawn_by(__typeof__(posix_spawn) *function, pid_t *pid, const char *name,
		    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		    char *const argv[], char *const envp[])
{
	struct env env;
	uint64_t clock = wire_clock();
	pid_t own;
	int error;

	pid = pid ? pid : &own;
	char *const *new = env_for(&env, envp, alloca(env_room(envp)));

	error = function(pid, name, actions, attributes, argv, new);
	if (!error && session_live())
		exec_log_add(*pid, name, clock);
	env_release(&env);
	return error;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	real_find();
	return spawn_by(real.posix_spawn, pid, path, actions, attributes, argv, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	real_find();
	return spawn_by(real.posix_spawnp, pid, file, actions, attributes, argv, envp);
}

/* --- giving up system calls -------------------------------------------------------------------*/

/*
 * An allocator may call these hooks from inside its start, with its lock held.  To look for a function that
 * there is not allocates: so the others are looked for only by calls that no allocator makes.
 */

/* Strict leaves nothing of what is needed, not even the CPU's clock. */
static void give_up(bool all, const struct sock_fprog *filter)
{
	if (all)
		session_off(WIRE_REASON_SECCOMP);
	else if (filter)
		session_filter(filter);
}

/*
 * Ours may be among them, on pain of death.  Who only tries whether it could, with no filter or
 * with flags that mode "strict" does not know, as libseccomp does, gives up nothing.  All arguments
 * are passed on, as libc does, whether there are so many or not.
 */
EXPORT int prctl_hook(int option, unsigned long a, unsigned long b, unsigned long c,
		      unsigned long d) __asm__("prctl");
EXPORT int prctl_hook(int option, unsigned long a, unsigned long b, unsigned long c,
		      unsigned long d)
{
	if (option == PR_SET_SECCOMP)
		real_find();
	if (option == PR_SET_SECCOMP && may_be_ours())
		give_up(a == SECCOMP_MODE_STRICT, (const struct sock_fprog *)b);
	return real.prctl(option, a, b, c, d);
}

/*
 * libseccomp, and who has no library for it, ask by syscall().  That hook must leave no trace: the
 * call may return twice, or on another stack.
 */
HIDDEN void before_syscall(long number, unsigned long operation, unsigned long flags,
			   const void *filter) __asm__("cprof_before_syscall");
HIDDEN long (*next_syscall)(long number, ...) __asm__("cprof_next_syscall");

/* Only libc's may return on another stack. */
static bool is_clone(long number)
{
#ifdef __NR_vfork
	if (number == __NR_vfork || number == __NR_fork)
		return true;
#endif
	return number == __NR_clone || number == __NR_clone3;
}

void before_syscall(long number, unsigned long operation, unsigned long flags, const void *filter)
{
	if (number == __NR_seccomp || is_clone(number))
		real_find();
	next_syscall = real.syscall;
	if (number == __NR_seccomp && may_be_ours())
		give_up(operation == SECCOMP_SET_MODE_STRICT && !flags,
			operation == SECCOMP_SET_MODE_FILTER ? filter : NULL);
}

ARCH_PASS_ON("syscall", __NR_seccomp, "cprof_before_syscall", "cprof_next_syscall");

/* --- ending -----------------------------------------------------------------------------------*/

/* As wait() has it. */
static int status_of_exit(int status)
{
	return (status & 0xff) << 8;
}

static void note_end(const uintptr_t *frame, pid_t pid, int wait_status)
{
	int level = guard_level(guard_enter(frame, GUARD_OURS));

	if (level == GUARD_OUT)
		return;
	emit_end(level, pid, wait_status);
	guard_leave(level);
}

static void note_exit(const uintptr_t *frame, int wait_status)
{
	real_find();
	if (is_ours())
		note_end(frame, session.segment->pid, wait_status);
}

/*
 * Handlers and destructors still run after this, with no frame of ours below them: it is left by a
 * jump, which needs a name of which the compiler does not know that it never returns.
 */
EXPORT void exit_hook(int status) __asm__("exit");
EXPORT void exit_hook(int status)
{
	note_exit(FRAME, status_of_exit(status));
	real.exit(status);
}

EXPORT void quick_exit_hook(int status) __asm__("quick_exit");
EXPORT void quick_exit_hook(int status)
{
	note_exit(FRAME, status_of_exit(status));
	real.quick_exit(status);
}

EXPORT void _exit(int status)
{
	note_exit(FRAME, status_of_exit(status));
	real._exit(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	note_exit(FRAME, status_of_exit(status));
	real._exit(status);
	__builtin_unreachable();
}

/* main() returned, or one of the above is at it: so far, at least, the program had its heap. */
GUARD_HOOK __attribute__((destructor)) static void finish(void)
{
	note_exit(FRAME, EMIT_STATUS_UNKNOWN);
}

/* --- learning of ends -------------------------------------------------------------------------*/

/* Of processes whose ids are ours: in another namespace they are not. */
static void note_other_end(const uintptr_t *frame, pid_t pid, int wait_status)
{
	if ((WIFEXITED(wait_status) || WIFSIGNALED(wait_status)) && is_ours() &&
	    session.segment->pid == session.pid)
		note_end(frame, pid, wait_status);
}

static pid_t waited(const uintptr_t *frame, pid_t pid, const int *status)
{
	if (pid > 0)
		note_other_end(frame, pid, *status);
	return pid;
}

EXPORT pid_t wait(int *status)
{
	int own, *place = status ? status : &own;

	real_find();
	return waited(FRAME, real.wait(place), place);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	int own, *place = status ? status : &own;

	real_find();
	return waited(FRAME, real.waitpid(pid, place, options), place);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	int own, *place = status ? status : &own;

	real_find();
	return waited(FRAME, real.wait3(place, options, usage), place);
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own, *place = status ? status : &own;

	real_find();
	return waited(FRAME, real.wait4(pid, place, options, usage), place);
}

static int wait_status(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return status_of_exit(info->si_status);
	if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		return info->si_status & 0x7f;
	return EMIT_STATUS_UNKNOWN;
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	siginfo_t *place = info ? info : &own;

	real_find();

	int error = real.waitid(type, id, place, options);

	if (!error && place->si_pid > 0)
		note_other_end(FRAME, place->si_pid, wait_status(place));
	return error;
}

/* SPDX-License-Identifier: MIT */
/*
 * sys - the system calls of the shim, typed.
 *
 * Raw: they neither touch errno nor end a cancelled thread.  Those that can fail return -errno.  What
 * the program has filtered away is not called, and fails with EPERM.
 */
#ifndef SHIM_SYS_H
#define SHIM_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "shim/filter.h"

#define SYS_ERRNO_MAX 4095
#define SYS_EPERM 1
#define SYS_ESRCH 3
#define SYS_EINTR 4
#define SYS_EAGAIN 11
#define SYS_EFAULT 14
#define SYS_ETIMEDOUT 110

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(filter_is_on, 0)) {
		const uint64_t argument[FILTER_ARGUMENTS] = {
			(uint64_t)a, (uint64_t)b, (uint64_t)c, (uint64_t)d, (uint64_t)e, (uint64_t)f
		};

		if (!filter_allows(number, argument))
			return -SYS_EPERM;
	}
	return arch_syscall(number, a, b, c, d, e, f);
}

/* True for what sys_mmap() and sys_mremap() return on failure. */
static inline bool sys_failed(const void *address)
{
	return (uintptr_t)address > UINTPTR_MAX - SYS_ERRNO_MAX;
}

static inline void *sys_mmap(void *address, size_t size, int prot, int flags, int fd, uint64_t at)
{
	return (void *)sys_call(__NR_mmap, (long)address, (long)size, prot, flags, fd, (long)at);
}

/* Zeroed private memory of which only what is touched exists. */
static inline void *sys_mmap_private(size_t size)
{
	return sys_mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* The same in place of what is mapped at `address`. */
static inline void *sys_mmap_over(void *address, size_t size)
{
	return sys_mmap(address, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Another mapping of `size` bytes of the file that `address` is a shared mapping of. */
static inline void *sys_mremap_copy(void *address, size_t size)
{
	return (void *)sys_call(__NR_mremap, (long)address, 0, (long)size, MREMAP_MAYMOVE, 0, 0);
}

static inline long sys_munmap(void *address, size_t size)
{
	return sys_call(__NR_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

static inline long sys_madvise(void *address, size_t size, int advice)
{
	return sys_call(__NR_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

static inline long sys_open(const char *path, int flags)
{
	return sys_call(__NR_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0, 0);
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
	return sys_call(__NR_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

/* The size of the file. */
static inline long sys_seek_end(int fd)
{
	return sys_call(__NR_lseek, fd, 0, SEEK_END, 0, 0, 0);
}

static inline long sys_close(int fd)
{
	return sys_call(__NR_close, fd, 0, 0, 0, 0, 0);
}

static inline long sys_socket(int domain, int type)
{
	return sys_call(__NR_socket, domain, type, 0, 0, 0, 0);
}

static inline long sys_set_socket(int fd, int option, const void *value, size_t size)
{
	return sys_call(__NR_setsockopt, fd, SOL_SOCKET, option, (long)value, (long)size, 0);
}

static inline long sys_get_socket(int fd, int option, void *value, uint32_t *size)
{
	return sys_call(__NR_getsockopt, fd, SOL_SOCKET, option, (long)value, (long)size, 0);
}

static inline long sys_connect(int fd, const void *name, size_t size)
{
	return sys_call(__NR_connect, fd, (long)name, (long)size, 0, 0, 0);
}

static inline long sys_recvmsg(int fd, struct msghdr *message, int flags)
{
	return sys_call(__NR_recvmsg, fd, (long)message, flags, 0, 0, 0);
}

/* Not terminated. */
static inline long sys_readlink(const char *path, char *buffer, size_t size)
{
	return sys_call(__NR_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size, 0, 0);
}

/* Terminated; returns its length including that. */
static inline long sys_getcwd(char *buffer, size_t size)
{
	return sys_call(__NR_getcwd, (long)buffer, (long)size, 0, 0, 0, 0);
}

static inline int32_t sys_getpid(void)
{
	return (int32_t)sys_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int32_t sys_getppid(void)
{
	return (int32_t)sys_call(__NR_getppid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t sys_geteuid(void)
{
	return (uint32_t)sys_call(__NR_geteuid, 0, 0, 0, 0, 0, 0);
}

static inline int32_t sys_gettid(void)
{
	return (int32_t)sys_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

/* False only if there certainly is no such process. */
static inline bool sys_process_exists(int32_t pid)
{
	return sys_call(__NR_kill, pid, 0, 0, 0, 0, 0) != -SYS_ESRCH;
}

static inline bool sys_thread_exists(int32_t pid, int32_t tid)
{
	return sys_call(__NR_tgkill, pid, tid, 0, 0, 0, 0) != -SYS_ESRCH;
}

static inline uint64_t sys_monotonic_ns(void)
{
	struct timespec now = { 0, 0 };

	sys_call(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits while *word is `value`, at most that long.  Between processes. */
static inline long sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000),
				    (long)(timeout_ns % 1000000000) };

	return sys_call(__NR_futex, (long)word, FUTEX_WAIT, (long)value, (long)&timeout, 0, 0);
}

static inline long sys_futex_wake(_Atomic uint32_t *word)
{
	return sys_call(__NR_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

/* A wait for no time at all, on a value that is not there: or the word cannot be read. */
static inline bool sys_readable_to_wait(const void *address)
{
	const struct timespec at_once = { 0, 0 };
	const long value = 0x5bd1e995;
	long error = sys_call(__NR_futex, (long)address, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value,
			      (long)&at_once, 0, 0);

	return error == -SYS_EAGAIN || error == -SYS_ETIMEDOUT;
}

/* True if the word at address can be read: the kernel fails otherwise, and does nothing. */
static inline bool sys_readable(const void *address)
{
	const long no_such_thing_to_do = -1;
	long error = sys_call(__NR_rt_sigprocmask, no_such_thing_to_do, (long)address, 0,
			      sizeof(uint64_t), 0, 0);

	return error == -SYS_EPERM ? sys_readable_to_wait(address) : error != -SYS_EFAULT;
}

#endif

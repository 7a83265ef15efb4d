/* SPDX-License-Identifier: MIT */
/*
 * sys - the system calls of the shim, typed.
 *
 * Raw: they neither touch errno nor end a cancelled thread.  Those that can fail return -errno.
 */
#ifndef SHIM_SYS_H
#define SHIM_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"

#define SYS_ERRNO_MAX 4095
#define SYS_ESRCH 3
#define SYS_EFAULT 14

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* True for what sys_mmap() and sys_mremap() return on failure. */
static inline bool sys_failed(const void *address)
{
	return (uintptr_t)address > UINTPTR_MAX - SYS_ERRNO_MAX;
}

static inline void *sys_mmap(void *address, size_t size, int prot, int flags, int fd, uint64_t at)
{
	return (void *)arch_syscall(__NR_mmap, (long)address, (long)size, prot, flags, fd,
				    (long)at);
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
	return (void *)arch_syscall(__NR_mremap, (long)address, 0, (long)size, MREMAP_MAYMOVE, 0,
				    0);
}

static inline long sys_munmap(void *address, size_t size)
{
	return arch_syscall(__NR_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

static inline long sys_madvise(void *address, size_t size, int advice)
{
	return arch_syscall(__NR_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

static inline long sys_open(const char *path, int flags)
{
	return arch_syscall(__NR_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0, 0);
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
	return arch_syscall(__NR_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

/* The size of the file. */
static inline long sys_seek_end(int fd)
{
	return arch_syscall(__NR_lseek, fd, 0, SEEK_END, 0, 0, 0);
}

static inline long sys_close(int fd)
{
	return arch_syscall(__NR_close, fd, 0, 0, 0, 0, 0);
}

/* Not terminated. */
static inline long sys_readlink(const char *path, char *buffer, size_t size)
{
	return arch_syscall(__NR_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size, 0, 0);
}

/* Terminated; returns its length including that. */
static inline long sys_getcwd(char *buffer, size_t size)
{
	return arch_syscall(__NR_getcwd, (long)buffer, (long)size, 0, 0, 0, 0);
}

static inline int32_t sys_getpid(void)
{
	return (int32_t)arch_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int32_t sys_getppid(void)
{
	return (int32_t)arch_syscall(__NR_getppid, 0, 0, 0, 0, 0, 0);
}

static inline int32_t sys_gettid(void)
{
	return (int32_t)arch_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

/* False only if there certainly is no such process. */
static inline bool sys_process_exists(int32_t pid)
{
	return arch_syscall(__NR_kill, pid, 0, 0, 0, 0, 0) != -SYS_ESRCH;
}

static inline bool sys_thread_exists(int32_t pid, int32_t tid)
{
	return arch_syscall(__NR_tgkill, pid, tid, 0, 0, 0, 0) != -SYS_ESRCH;
}

static inline uint64_t sys_monotonic_ns(void)
{
	struct timespec now = { 0, 0 };

	arch_syscall(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits while *word is `value`, at most that long.  Between processes. */
static inline long sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000),
				    (long)(timeout_ns % 1000000000) };

	return arch_syscall(__NR_futex, (long)word, FUTEX_WAIT, (long)value, (long)&timeout, 0, 0);
}

static inline long sys_futex_wake(_Atomic uint32_t *word)
{
	return arch_syscall(__NR_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

/* True if the word at address can be read: the kernel fails otherwise, and does nothing. */
static inline bool sys_readable(const void *address)
{
	const long no_such_thing_to_do = -1;

	return arch_syscall(__NR_rt_sigprocmask, no_such_thing_to_do, (long)address, 0,
			    sizeof(uint64_t), 0, 0) != -SYS_EFAULT;
}

#endif

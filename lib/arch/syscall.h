/* SPDX-License-Identifier: MIT */
/*
 * syscall - a system call without libc.
 *
 *	long fd = arch_syscall(__NR_openat, AT_FDCWD, (long)path, O_RDONLY, 0, 0, 0);
 *	if (fd < 0)
 *		...;			// -errno
 *
 * For code that runs inside the profiled program: errno stays as it was, nothing is a cancellation
 * point, and nothing that the program may have interposed is called.
 */
#ifndef ARCH_SYSCALL_H
#define ARCH_SYSCALL_H

#include <asm/unistd.h>

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "no system call for this CPU"
#endif
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ptrace_regs - the registers of a stopped thread (NT_PRSTATUS), by the names that perf has for
 * them, and how its system call is taken up again.
 *
 * What the kernel stores of a thread of a 32-bit program is shorter, which is how it is told.
 */
#ifndef ARCH_PTRACE_REGS_H
#define ARCH_PTRACE_REGS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "arch/perf_regs.h"

#if defined(__x86_64__)

/* By DWARF number. */
static const uint8_t arch_ptrace_of_dwarf[ARCH_NR_GENERAL] = {
	offsetof(struct user_regs_struct, rax), offsetof(struct user_regs_struct, rdx),
	offsetof(struct user_regs_struct, rcx), offsetof(struct user_regs_struct, rbx),
	offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdi),
	offsetof(struct user_regs_struct, rbp), offsetof(struct user_regs_struct, rsp),
	offsetof(struct user_regs_struct, r8),	offsetof(struct user_regs_struct, r9),
	offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r11),
	offsetof(struct user_regs_struct, r12), offsetof(struct user_regs_struct, r13),
	offsetof(struct user_regs_struct, r14), offsetof(struct user_regs_struct, r15),
};

enum {
	ARCH_PTRACE_PC = offsetof(struct user_regs_struct, rip),
	ARCH_PTRACE_PC_32 = 12 * 4, /* eip */
};

/* Whether the thread stands at the end of a system call; where that is not told, it is false. */
static inline bool arch_ptrace_ends_call(const struct user_regs_struct *registers)
{
	return (long)registers->orig_rax >= 0;
}

/*
 * The system call that has returned EINTR; -1: none has.  The kernel looks at the return value
 * once more when the thread goes on, so that this can be taken back.
 */
static inline long arch_ptrace_interrupted(const struct user_regs_struct *registers)
{
	if (!arch_ptrace_ends_call(registers) || (long)registers->rax != -EINTR)
		return -1;
	return (long)registers->orig_rax;
}

/* ERESTARTNOHAND of the kernel: EINTR if a handler runs, otherwise once more. */
static inline void arch_ptrace_restart(struct user_regs_struct *registers)
{
	registers->rax = (unsigned long long)-514;
}

#elif defined(__aarch64__)

static const uint16_t arch_ptrace_of_dwarf[ARCH_NR_GENERAL] = {
#define R(n) offsetof(struct user_regs_struct, regs) + 8 * (n)
	R(0),  R(1),  R(2),  R(3),  R(4),  R(5),  R(6),	 R(7),
	R(8),  R(9),  R(10), R(11), R(12), R(13), R(14), R(15),
	R(16), R(17), R(18), R(19), R(20), R(21), R(22), R(23),
	R(24), R(25), R(26), R(27), R(28), R(29), R(30), offsetof(struct user_regs_struct, sp),
#undef R
};

enum {
	ARCH_PTRACE_PC = offsetof(struct user_regs_struct, pc),
	ARCH_PTRACE_PC_32 = 15 * 4,
};

static inline bool arch_ptrace_ends_call(const struct user_regs_struct *registers)
{
	(void)registers;
	return false;
}

/* Nothing can be taken back: the first argument is lost by then, and only the kernel knows it. */
static inline long arch_ptrace_interrupted(const struct user_regs_struct *registers)
{
	(void)registers;
	return -1;
}

static inline void arch_ptrace_restart(struct user_regs_struct *registers)
{
	(void)registers;
}

#endif

static inline uint64_t arch_ptrace_word(const struct user_regs_struct *registers, size_t offset)
{
	uint64_t word;

	__builtin_memcpy(&word, (const char *)registers + offset, sizeof(word));
	return word;
}

/* As perf would store those of ARCH_PERF_MASK; flags and the like are 0. */
static inline void arch_ptrace_to_perf(const struct user_regs_struct *registers, uint64_t *words)
{
	for (size_t i = 0; i < ARCH_NR_GENERAL; i++)
		words[arch_perf_slot(ARCH_PERF_MASK, arch_perf_of_dwarf[i])] =
			arch_ptrace_word(registers, arch_ptrace_of_dwarf[i]);
	words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_PC)] =
		arch_ptrace_word(registers, ARCH_PTRACE_PC);
}

#endif

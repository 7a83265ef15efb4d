/* SPDX-License-Identifier: MIT */
/*
 * perf_regs - the user registers perf is asked for (attr.sample_regs_user) and where each lands.
 *
 * The kernel stores the registers of the mask in the order of their bits, so the n-th word of a
 * sample belongs to the n-th bit set: arch_perf_slot().
 */
#ifndef ARCH_PERF_REGS_H
#define ARCH_PERF_REGS_H

#include <asm/perf_regs.h>
#include <stdint.h>

#include "arch/arch.h"

#if defined(__x86_64__)

enum {
	ARCH_PERF_PC = PERF_REG_X86_IP,
	ARCH_PERF_SP = PERF_REG_X86_SP,
	ARCH_PERF_FP = PERF_REG_X86_BP,
};

/* All general registers but the segments, which some kernels refuse for 64-bit tasks. */
#define ARCH_PERF_MASK                                                       \
	(((UINT64_C(1) << PERF_REG_X86_64_MAX) - 1) &                        \
	 ~(UINT64_C(1) << PERF_REG_X86_DS | UINT64_C(1) << PERF_REG_X86_ES | \
	   UINT64_C(1) << PERF_REG_X86_FS | UINT64_C(1) << PERF_REG_X86_GS))

/* By DWARF number. */
static const uint8_t arch_perf_of_dwarf[ARCH_NR_GENERAL] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
	PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
	PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
};

#elif defined(__aarch64__)

enum {
	ARCH_PERF_PC = PERF_REG_ARM64_PC,
	ARCH_PERF_SP = PERF_REG_ARM64_SP,
	ARCH_PERF_FP = PERF_REG_ARM64_X29,
	ARCH_PERF_LR = PERF_REG_ARM64_LR,
};

#define ARCH_PERF_MASK ((UINT64_C(1) << PERF_REG_ARM64_MAX) - 1)

/* perf and DWARF number x0 to x30 and sp alike. */
static const uint8_t arch_perf_of_dwarf[ARCH_NR_GENERAL] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

#endif

/* Where the register with perf's number `reg` is among the words of a sample taken with `mask`. */
static inline unsigned int arch_perf_slot(uint64_t mask, unsigned int reg)
{
	return (unsigned int)__builtin_popcountll(mask & ((UINT64_C(1) << reg) - 1));
}

#endif

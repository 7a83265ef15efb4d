/* SPDX-License-Identifier: MIT */
/*
 * aarch64 - DWARF for the Arm 64-bit Architecture (aadwarf64), AAPCS64.
 */
#ifndef ARCH_AARCH64_H
#define ARCH_AARCH64_H

#define ARCH_NAME "aarch64"
#define ARCH_ELF_MACHINE 183 /* EM_AARCH64 */

enum {
	ARCH_DWARF_FP = 29,	/* x29 */
	ARCH_DWARF_SP = 31,	/* sp */
	ARCH_DWARF_RETURN = 30, /* x30, lr */
	ARCH_DWARF_PROBE = 9,	/* x9: holds the end while a large frame is probed */
	ARCH_NR_GENERAL = 32,	/* x0 to x30 and sp; their DWARF numbers are 0 to 31 */
};

enum {
	ARCH_WORD = 8,
	ARCH_RED_ZONE = 0,
	ARCH_INSTRUCTION_MIN = 4,

	/* A call leaves the return address in x30, and where a function saves that differs: mostly
	 * in a frame record, { x29, x30 }.  What follows is for a record right below the CFA. */
	ARCH_RETURN_IS_PUSHED = 0,
	ARCH_RETURN_AT_CFA = -8,

	ARCH_CODE_BITS = 48, /* of an address of code; above may be its authentication code */

	/* Where the kernel saved sp, seen from the sp of a handler's caller (struct rt_sigframe).
	 */
	ARCH_SIGNAL_SP_WORDS = 70,
	/* struct sigcontext: regs[31], sp, pc. */
	ARCH_SIGNAL_PC_FROM_SP = 8,
	ARCH_SIGNAL_FP_FROM_SP = -16,
	ARCH_SIGNAL_LINK_FROM_SP = -8,
};

/* Not needed: the return address is in its register there. */
#define ARCH_IS_ENTRY(code) ((void)(code), false)

#define ARCH_IS_SYSCALL(code) ((void)(code), false)
#define ARCH_DWARF_RESULT 0 /* x0 */

/* mov x8, #__NR_rt_sigreturn; svc #0: a handler's caller, which has no CFI. */
#define ARCH_SIGRETURN UINT64_C(0xd4000001d2801168)

/* Gets the line of memory to this CPU alone, so that writing to it will not wait for another one. */
#define ARCH_FETCH_TO_WRITE(address) __builtin_prefetch(address, 1)

/* add x29, sp, #n, also written mov x29, sp: x29 points to the frame record from here on. */
#define ARCH_SETS_FP(instruction) (((instruction)&UINT32_C(0xffc003ff)) == UINT32_C(0x910003fd))

#endif

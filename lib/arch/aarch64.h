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
	ARCH_NR_GENERAL = 32,	/* x0 to x30 and sp; their DWARF numbers are 0 to 31 */
};

enum {
	ARCH_WORD = 8,
	ARCH_RED_ZONE = 0,
	ARCH_INSTRUCTION_MIN = 4,

	/* A frame record is { x29, x30 }; where it is in the frame differs, so this is its own
	 * size seen from the CFA of a frame without locals. */
	ARCH_RETURN_AT_CFA = -8,

	/* struct sigcontext: regs[31], sp, pc. */
	ARCH_SIGNAL_PC_FROM_SP = 8,
	ARCH_SIGNAL_FP_FROM_SP = -16,
};

#endif

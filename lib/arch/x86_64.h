/* SPDX-License-Identifier: MIT */
/*
 * x86_64 - System V ABI, AMD64 supplement (3.2.2 red zone, 3.6.2 DWARF register numbers).
 */
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

#define ARCH_NAME "x86_64"
#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */

enum {
	ARCH_DWARF_FP = 6,	/* rbp */
	ARCH_DWARF_SP = 7,	/* rsp */
	ARCH_DWARF_RETURN = 16, /* the column of the return address */
	ARCH_DWARF_PROBE = 11,	/* r11: holds the end while a large frame is probed */
	ARCH_NR_GENERAL = 16,	/* general registers; their DWARF numbers are 0 to 15 */
};

enum {
	ARCH_WORD = 8,
	ARCH_RED_ZONE = 128,	  /* bytes below sp that a leaf function may use */
	ARCH_INSTRUCTION_MIN = 1, /* instructions start at multiples of this */

	/* A call pushes the return address: it is at this distance from the CFA. */
	ARCH_RETURN_IS_PUSHED = 1,
	ARCH_RETURN_AT_CFA = -8,

	ARCH_CODE_BITS = 64, /* of an address of code */

	ARCH_SIGNAL_SP_WORDS = 20, /* of struct rt_sigframe, behind the return address */
	/* Where the kernel saved the others, seen from the saved sp (struct sigcontext). */
	ARCH_SIGNAL_PC_FROM_SP = 8,
	ARCH_SIGNAL_FP_FROM_SP = -40,
	ARCH_SIGNAL_LINK_FROM_SP = 0, /* there is none */
};

/* endbr64, with which functions begin; jmp *offset(%rip), all that an entry of a PLT does. */
#define ARCH_IS_ENTRY(code) \
	((code) == 0xfa1e0ff3 || ((code)&0xffff) == 0x25ff || ((code)&0xffffff) == 0x25fff2)

/* The two bytes of a system call, whose result is in the register of this number. */
#define ARCH_IS_SYSCALL(code) ((code) == 0x050f)
#define ARCH_DWARF_RESULT 0 /* rax */

/* mov $__NR_rt_sigreturn, %rax; syscall.  libc's has CFI. */
#define ARCH_SIGRETURN UINT64_C(0x0f0000000fc0c748)

/* Gets the line of memory to this CPU alone, so that writing to it will not wait for another one; gcc's
 * builtin leaves it with both.  A CPU that cannot do so does nothing. */
#define ARCH_FETCH_TO_WRITE(address) \
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)(address)))

/* No instruction has to be looked for: where rbp points to the frame, CFI says so. */
#define ARCH_SETS_FP(instruction) ((void)(instruction), 0)

#endif

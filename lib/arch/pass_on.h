/* SPDX-License-Identifier: MIT */
/*
 * pass_on - a function in front of another that leaves no trace: it jumps there.
 *
 *	ARCH_PASS_ON("syscall", __NR_seccomp, "before_seccomp", "next_syscall");
 *
 * defines syscall(number, ...): if number is the given one, or next_syscall is NULL still, it calls
 * before_seccomp(number, up to five arguments); then it jumps to *next_syscall with all registers and the
 * stack as it got them.  So even a system call after which the stack is another's, or is used
 * twice (clone, vfork), is none of its business.  The three are asm names; the latter two hidden.
 */
#ifndef ARCH_PASS_ON_H
#define ARCH_PASS_ON_H

#define ARCH_TEXT_(x) #x
#define ARCH_TEXT(x) ARCH_TEXT_(x)

#define ARCH_PASS_ON_BEGIN(name)                    \
	".pushsection .text\n\t.globl " name "\n\t" \
	".type " name ", @function\n\t.p2align 4\n" name ":\n\t.cfi_startproc\n\t"

#define ARCH_PASS_ON_END(name) "\t.cfi_endproc\n\t.size " name ", .-" name "\n\t.popsection\n"

#if defined(__x86_64__)
#define ARCH_PASS_ON(name, number, before, next)                                                 \
	__asm__(ARCH_PASS_ON_BEGIN(                                                              \
		name) "endbr64\n\t"                                                              \
		      "movq " next "(%rip), %rax\n\t"                                            \
		      "testq %rax, %rax\n\tjz 1f\n\t"                                            \
		      "cmpq $" ARCH_TEXT(                                                        \
			      number) ", %rdi\n\tje 1f\n\t"                                      \
				      "jmp *%rax\n"                                              \
				      "1:\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq "     \
				      "%rcx\n\tpushq %r8\n\t"                                    \
				      "pushq %r9\n\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset "    \
				      "56\n\t"                                                   \
				      "call " before "\n\t"                                      \
				      "addq $8, %rsp\n\tpopq %r9\n\tpopq %r8\n\tpopq "           \
				      "%rcx\n\tpopq %rdx\n\t"                                    \
				      "popq %rsi\n\tpopq %rdi\n\t.cfi_adjust_cfa_offset -56\n\t" \
				      "jmp *" next "(%rip)\n" ARCH_PASS_ON_END(name))
#elif defined(__aarch64__)
#define ARCH_PASS_ON(name, number, before, next)                                                 \
	__asm__(ARCH_PASS_ON_BEGIN(                                                              \
		name) "hint #34\n\t" /* bti c */                                                 \
		      "adrp x16, " next "\n\tldr x16, [x16, :lo12:" next "]\n\t"                 \
		      "cbz x16, 1f\n\t"                                                          \
		      "cmp x0, #" ARCH_TEXT(                                                     \
			      number) "\n\tb.eq 1f\n\t"                                          \
				      "br x16\n"                                                 \
				      "1:\tstp x29, x30, [sp, #-80]!\n\t.cfi_adjust_cfa_offset " \
				      "80\n\t"                                                   \
				      ".cfi_rel_offset x30, 8\n\t"                               \
				      "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\t"       \
				      "stp x4, x5, [sp, #48]\n\tstr x6, [sp, #64]\n\t"           \
				      "bl " before "\n\t"                                        \
				      "ldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\t"       \
				      "ldp x4, x5, [sp, #48]\n\tldr x6, [sp, #64]\n\t"           \
				      "ldp x29, x30, [sp], #80\n\t.cfi_adjust_cfa_offset "       \
				      "-80\n\t.cfi_restore x30\n\t"                              \
				      "adrp x16, " next "\n\tldr x16, [x16, :lo12:" next         \
				      "]\n\tbr x16\n" ARCH_PASS_ON_END(name))
#else
#error "no way to pass a call on for this CPU"
#endif

#endif

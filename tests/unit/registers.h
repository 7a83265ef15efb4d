/* SPDX-License-Identifier: MIT */
/*
 * registers - those of the function that asks, at the place where it does.
 *
 *	uint64_t pc, sp, fp;
 *
 *	REGISTERS_HERE(pc, sp, fp);
 */
#ifndef UNIT_REGISTERS_H
#define UNIT_REGISTERS_H

#if defined(__x86_64__)
#define REGISTERS_HERE(pc, sp, fp)                                        \
	__asm__ volatile("lea 0(%%rip), %0; mov %%rsp, %1; mov %%rbp, %2" \
			 : "=r"(pc), "=r"(sp), "=r"(fp))
#elif defined(__aarch64__)
#define REGISTERS_HERE(pc, sp, fp) \
	__asm__ volatile("adr %0, .; mov %1, sp; mov %2, x29" : "=&r"(pc), "=&r"(sp), "=&r"(fp))
#endif

#endif

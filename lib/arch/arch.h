/* SPDX-License-Identifier: MIT */
/*
 * arch - the numbers that differ between CPUs.
 *
 * Each CPU is one header of the same names: ARCH_ELF_MACHINE, DWARF register numbers
 * (ARCH_DWARF_*), sizes (ARCH_*).  Algorithms read the names and exist once.  Freestanding: this
 * also compiles into code that runs inside the profiled program.  What perf calls its registers
 * is in perf_regs.h, which that code does not need.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#else
#error "no table in lib/arch for this CPU"
#endif

#endif

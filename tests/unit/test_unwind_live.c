/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "opaque.h"
#include "registers.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"
#include "unwind/step.h"

/* Walks of this very process, compared with glibc's backtrace(). */

enum {
	FRAMES_MAX = 512,
};

struct pcs {
	void *at[FRAMES_MAX];
	int nr;
	enum unwind_end end;
};

/* Reads what ASan would rather not have read. */
__attribute__((no_sanitize("address"))) static bool read_own(void *arg, uint64_t address,
							     uint64_t *word)
{
	(void)arg;
	*word = *(const uint64_t *)(uintptr_t)address;
	return true;
}

static unwind_rule find_rule(const struct unwind_frame *frame)
{
	uint64_t pc = unwind_lookup_pc(frame), code;
	struct dl_find_object object;
	struct unwind_image image;
	struct unwind_row row = { .rule = 0 };

	if (!_dl_find_object((void *)(uintptr_t)pc, &object) &&
	    unwind_image_loaded(&image, object.dlfo_eh_frame, object.dlfo_map_end))
		unwind_cfi_find(&image, pc, &row);
	/* Where the vDSO has no CFI, what handlers return to is known by its code. */
	if (!ARCH_RETURN_IS_PUSHED && unwind_rule_kind(row.rule) == UNWIND_RULE_NONE &&
	    read_own(NULL, frame->pc, &code) && code == ARCH_SIGRETURN)
		return unwind_rule_make(UNWIND_RULE_SIGNAL, ARCH_SIGNAL_SP_WORDS, UNWIND_FP_SAME);
	return row.rule;
}

static void walk(struct unwind_frame frame, struct pcs *pcs)
{
	pcs->nr = 0;
	do {
		pcs->at[pcs->nr++] = (void *)(uintptr_t)frame.pc;
		pcs->end = unwind_step(&frame, find_rule(&frame), read_own, NULL);
	} while (!pcs->end && pcs->nr < FRAMES_MAX);
}

static void drop_innermost(struct pcs *pcs)
{
	memmove(pcs->at, pcs->at + 1, (size_t)--pcs->nr * sizeof(void *));
}

/* Ours and glibc's, both from this function's caller on. */
__attribute__((noinline)) static void walk_both(struct pcs *ours, struct pcs *glibc)
{
	struct unwind_frame frame = { .exact = true };

	REGISTERS_HERE(frame.pc, frame.sp, frame.fp);
	walk(frame, ours);
	glibc->nr = backtrace(glibc->at, FRAMES_MAX);
	/* The innermost frame is this function, at two places; a sanitizer adds its own. */
	drop_innermost(ours);
	while (glibc->nr > 1 && glibc->at[0] != ours->at[0])
		drop_innermost(glibc);
}

static void expect_equal(const struct pcs *ours, const struct pcs *glibc)
{
	cr_expect(eq(int, ours->nr, glibc->nr));
	cr_expect(eq(int, (int)ours->end, UNWIND_END_ROOT));
	for (int i = 0; i < ours->nr && i < glibc->nr; i++)
		cr_expect(eq(ptr, ours->at[i], glibc->at[i]), "frame %d", i);
}

OPAQUE static int recurse(int depth, struct pcs *ours, struct pcs *glibc)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	if (!depth) {
		walk_both(ours, glibc);
		return frame[0];
	}
	return recurse(depth - 1, ours, glibc) + frame[0];
}

Test(unwind_live, equals_backtrace_through_100_frames_without_frame_pointers)
{
	struct pcs ours, glibc;

	recurse(100, &ours, &glibc);
	cr_assert(ge(int, ours.nr, 100));
	expect_equal(&ours, &glibc);
}

static struct pcs handler_ours, handler_glibc;

static void on_signal(int signal)
{
	(void)signal;
	walk_both(&handler_ours, &handler_glibc);
}

Test(unwind_live, equals_backtrace_across_a_signal_handler)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	cr_assert(ge(int, handler_ours.nr, 5));
	expect_equal(&handler_ours, &handler_glibc);
}

static int compare(const void *a, const void *b)
{
	if (!handler_ours.nr)
		walk_both(&handler_ours, &handler_glibc);
	return *(const int *)a - *(const int *)b;
}

Test(unwind_live, equals_backtrace_through_a_callback_from_libc)
{
	int values[] = { 3, 1, 2 };

	qsort(values, 3, sizeof(values[0]), compare);
	cr_assert(ge(int, handler_ours.nr, 5));
	expect_equal(&handler_ours, &handler_glibc);
}

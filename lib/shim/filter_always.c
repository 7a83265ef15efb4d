/* SPDX-License-Identifier: MIT */
#include "shim/filter_always.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/filter.h"
#include "shim/sys.h"

/* Where the last instruction may jump to: a program that the kernel takes does not. */
#define JUMP_MOST 256

/* An instruction, as all ways lead there.  Jumps go forward only. */
struct reached {
	bool is_reached, is_known; /* what A is */
	uint32_t a;
};

static void reach(struct reached *to, struct reached from)
{
	if (!to->is_reached)
		*to = from;
	else if (!from.is_known || from.a != to->a)
		to->is_known = false;
}

static struct reached load(struct reached at, const struct sock_filter *i, long number)
{
	bool is_data = BPF_MODE(i->code) == BPF_ABS;

	at.is_known = true;
	if (is_data && i->k == offsetof(struct seccomp_data, nr))
		at.a = (uint32_t)number;
	else if (is_data && i->k == offsetof(struct seccomp_data, arch))
		at.a = FILTER_ARCH;
	else
		at.is_known = false;
	return at;
}

/* All but jumps and the end. */
static struct reached step(struct reached at, const struct sock_filter *i, long number)
{
	bool moves_a = BPF_CLASS(i->code) == BPF_MISC && BPF_MISCOP(i->code) == BPF_TXA;

	if (BPF_CLASS(i->code) == BPF_LD)
		return load(at, i, number);
	if (BPF_CLASS(i->code) == BPF_ALU || moves_a)
		at.is_known = false;
	return at;
}

static void jump(struct reached *next, struct reached at, const struct sock_filter *i)
{
	bool is_known = at.is_known && BPF_SRC(i->code) == BPF_K;
	bool taken = is_known && filter_is_taken(at.a, BPF_OP(i->code), i->k);

	if (!is_known || taken)
		reach(&next[i->jt], at);
	if (!is_known || !taken)
		reach(&next[i->jf], at);
}

static bool may_divide_by_zero(const struct sock_filter *i)
{
	return BPF_CLASS(i->code) == BPF_ALU && BPF_OP(i->code) == BPF_DIV &&
	       (BPF_SRC(i->code) == BPF_X || !i->k);
}

/* From one instruction to those after it.  False: this way is not let through. */
static bool go_on(struct reached *all, const struct sock_fprog *program, uint32_t pc, long number)
{
	const struct sock_filter *i = &program->filter[pc];
	bool is_jump = BPF_CLASS(i->code) == BPF_JMP;

	if (BPF_CLASS(i->code) == BPF_RET)
		return BPF_RVAL(i->code) == BPF_K && filter_lets_through(i->k);
	if (may_divide_by_zero(i))
		return false;
	if (is_jump && BPF_OP(i->code) != BPF_JA)
		jump(&all[pc + 1], all[pc], i);
	else if (is_jump && i->k >= program->len - pc)
		return false;
	else
		reach(&all[pc + 1 + (is_jump ? i->k : 0)], step(all[pc], i, number));
	return true;
}

bool filter_always_allows(const struct sock_fprog *program, long number)
{
	uint32_t room = program->len + 1u + JUMP_MOST;
	struct reached *all = sys_mmap_private(room * sizeof(*all));
	bool allowed = !sys_failed(all);

	if (!allowed)
		return false;
	all[0] = (struct reached){ .is_reached = true, .is_known = true };
	for (uint32_t pc = 0; allowed && pc < room; pc++)
		if (all[pc].is_reached)
			allowed = pc < program->len && go_on(all, program, pc, number);
	sys_munmap(all, room * sizeof(*all));
	return allowed;
}

/* SPDX-License-Identifier: MIT */
#include "record/stacks/beyond.h"

#include "base/map.h"
#include "record/stacks/joint.h"

struct callers {
	uint64_t hash;
	const struct module *module; /* of the one before: often the same */
	uint64_t address, function;
};

static void hash_frame(struct walk *walk, struct callers *callers, const struct walked *walked)
{
	const struct stack_frame *frame = &walked->frame;
	uint64_t place = frame->pc;

	if (frame->module != callers->module || frame->address != callers->address) {
		callers->module = frame->module;
		callers->address = frame->address;
		callers->function = rules_function(walk->rules, frame->module, frame->address);
	}
	if (callers->function)
		place = frame->pc - frame->address + callers->function;
	callers->hash = map_hash(callers->hash ^ place) ^ walked->sp;
}

/* Of frames from the first one on, those of a stack that was joined, too: which functions they are
 * of, and where. */
static uint64_t hash_callers(struct walk *walk, size_t first)
{
	struct callers callers = { 0 };

	for (size_t i = first; i < walk->walked->nr; i++)
		hash_frame(walk, &callers, &walk->walked->at[i]);
	for (size_t i = walk->nr_kept; i > 0; i--)
		hash_frame(walk, &callers, &walk->joined->frames.at[i - 1]);
	return callers.hash;
}

/* Of the frame at the copy's end, which was the nr-th. */
static bool has_usual_callers(struct walk *walk, size_t nr)
{
	const struct walked *last = &walk->walked->at[nr - 1];
	uint64_t function = rules_function(walk->rules, last->frame.module, last->frame.address);

	return walk->thread && function &&
	       remembered_callers(walk->thread, &(struct remembered_frame){
							.module = last->frame.module,
							.function = function,
							.sp = last->sp,
							.callers = hash_callers(walk, nr),
						});
}

/* Whether what was read is the stack of the sample.  A caller of 0 is what unused memory has: a frame
 * may be as it was, far below one that is gone. */
static bool is_believed(struct walk *walk, size_t nr)
{
	bool is_usual;

	if (!unwind_end_is_root(walk->stack->end) ||
	    (walk->stack->end != UNWIND_END_ROOT && walk->walked->nr == nr))
		return false;
	is_usual = has_usual_callers(walk, nr);
	return !walk->words.memory || words_held(&walk->words) || is_usual;
}

/* Where the walk was at the copy's end. */
struct copy_end {
	struct unwind_frame frame;
	const struct module *module;
	unwind_rule rule;
	size_t nr, nr_own;
};

static void go_on(struct walk *walk)
{
	walk->stack->end = walk_step(walk);
	if (!walk->stack->end)
		walk_on(walk);
}

static void go_back(struct walk *walk, const struct copy_end *at)
{
	words_close(&walk->words);
	walk->walked->nr = at->nr;
	walk->nr_own = at->nr_own;
	walk->frame = at->frame;
	walk->rule = at->rule;
	walk->nr_kept = 0;
	walk->joined = NULL;
	walk->stack->origins &= ~(1U << STACK_BY_MEMORY | 1U << STACK_BY_LAST);
	walk->stack->end_module = at->module;
	walk->stack->end = UNWIND_END_BAD_READ;
}

/* By the program's memory as it is now: false if that is another stack. */
static bool walk_memory(struct walk *walk)
{
	size_t nr = walk->walked->nr;

	if (!walk->sample->memory)
		return false;
	words_open(&walk->words, walk->sample->memory);
	go_on(walk);
	return is_believed(walk, nr);
}

/* By the memory as it was soon after the sample was taken, and on from there. */
static bool walk_rest(struct walk *walk)
{
	size_t nr = walk->walked->nr;

	if (!walk->sample->rest || !words_extend(&walk->words, walk->sample->rest))
		return false;
	go_on(walk);
	if (walk->stack->end == UNWIND_END_BAD_READ && walk->walked->nr > nr)
		return walk_memory(walk);
	return is_believed(walk, nr);
}

/* How far chain[i] is from being walked[i], where they agree at the end of the walk. */
static bool align_chain(const struct walk *walk, ptrdiff_t *shift)
{
	static const ptrdiff_t shifts[] = { 0, -1, 1 }; /* a chain may skip the leaf's caller */
	const struct walked_vec *walked = walk->walked;
	ptrdiff_t last = (ptrdiff_t)walked->nr - 1, nr = (ptrdiff_t)walk->sample->nr_chain;

	for (size_t i = 0; i < ARRAY_SIZE(shifts); i++) {
		*shift = shifts[i];
		if (last >= 2 && last + *shift < nr &&
		    walk->sample->chain[last + *shift] == walked->at[last].frame.pc &&
		    walk->sample->chain[last + *shift - 1] == walked->at[last - 1].frame.pc)
			return true;
	}
	return false;
}

/* Whether the frame has a record, { its caller's frame pointer, the return address }. */
static bool has_record(unwind_rule rule)
{
	if (ARCH_RETURN_IS_PUSHED)
		return unwind_rule_fp(rule) == 2;
	return unwind_rule_returns(rule, UNWIND_RETURN_BY_FP) ||
	       (unwind_rule_returns(rule, UNWIND_RETURN_NEAR) &&
		unwind_rule_near_fp(rule) == UNWIND_NEAR_FP_BELOW);
}

/* Whether the frame added last has its record where the kernel looks for it.  Code whose CFI is
 * relative to sp may use the frame pointer for anything. */
static bool is_in_chain(struct walk *walk)
{
	const struct stack_frame *frame = &vec_last(walk->walked)->frame;
	unwind_rule rule = walk->rule;

	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_NONE:
		return true;
	case UNWIND_RULE_FP:
		return has_record(rule) &&
		       (unwind_rule_fp(rule) == UNWIND_FP_AT_FP ||
			(uint64_t)unwind_rule_distance(rule) == unwind_rule_fp_depth(rule));
	case UNWIND_RULE_SP:
		return !ARCH_RETURN_IS_PUSHED && has_record(rule) &&
		       rules_sets_fp(walk->rules, frame->module, frame->address);
	default:
		return false;
	}
}

/* By the kernel's frame pointers: return addresses without registers. */
static void walk_chain(struct walk *walk)
{
	struct walked_vec *walked = walk->walked;
	ptrdiff_t shift;

	if (!align_chain(walk, &shift))
		return;
	walk->origin = STACK_BY_CHAIN;
	for (size_t i = walked->nr + (size_t)shift; i < walk->sample->nr_chain && is_in_chain(walk);
	     i++) {
		walk->frame = (struct unwind_frame){ .pc = walk->sample->chain[i] };
		if (walk_add(walk))
			return;
	}
	if (unwind_rule_kind(walk->rule) == UNWIND_RULE_ROOT)
		walk->stack->end = UNWIND_END_ROOT;
}

/* Where the return address is that the walk would have needed; 0: that depends on other words. */
static uint64_t find_return(const struct walk *walk)
{
	switch (unwind_rule_kind(walk->rule)) {
	case UNWIND_RULE_SP:
	case UNWIND_RULE_FP:
	case UNWIND_RULE_PLT:
	case UNWIND_RULE_REGISTER:
	case UNWIND_RULE_PROBE:
		return walk->words.beyond;
	default:
		return 0;
	}
}

void walk_beyond(struct walk *walk)
{
	const struct copy_end at = { walk->frame, walk->stack->end_module, walk->rule,
				     walk->walked->nr, walk->nr_own };
	const uint64_t return_at = find_return(walk);

	if (walk_rest(walk))
		return;
	go_back(walk, &at);
	if (walk_memory(walk))
		return;
	go_back(walk, &at);
	if (joint_find(walk, return_at))
		return;
	walk_chain(walk);
	walk->return_at = walk->walked->nr == at.nr ? return_at : 0;
}

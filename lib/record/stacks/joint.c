/* SPDX-License-Identifier: MIT */
#include "record/stacks/joint.h"

enum {
	WITNESSES_MIN = 2,
};

static bool is_same_function(struct walk *walk, const struct stack_frame *one,
			     const struct stack_frame *other)
{
	uint64_t function;

	if (one->module != other->module || !one->module)
		return false;
	if (one->pc == other->pc)
		return true;
	function = rules_function(walk->rules, one->module, one->address);
	return function && function == rules_function(walk->rules, other->module, other->address);
}

/* Where the frame that was added last is in the stack, which is not its root; 0: nowhere. */
static size_t find_in(struct walk *walk, const struct remembered_stack *stack, uint64_t return_at)
{
	const struct stack_frame *frame = &vec_last(walk->walked)->frame;
	const struct walked *frames = stack->frames.at;
	size_t at = remembered_find(stack, return_at);

	if (!at || !is_same_function(walk, frame, &frames[at].frame))
		return 0;
	/* The caller is known where the walk could have gone on. */
	return walk->stack->end || walk->frame.pc == frames[at - 1].frame.pc ? at : 0;
}

/* Up to the root. */
static bool have_same_callers(struct walk *walk, const struct remembered_stack *one,
			      const struct remembered_stack *other, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (one->frames.at[i].return_at != other->frames.at[i].return_at ||
		    !is_same_function(walk, &one->frames.at[i].frame, &other->frames.at[i].frame))
			return false;
	return true;
}

/* What can be told of a joint. */
struct witnesses {
	const struct remembered_stack *stack; /* one of those that have it; NULL: none has */
	size_t at;
	size_t nr;
	bool has_call; /* one has the same return address, too */
	bool disagree;
};

static void hear(struct walk *walk, struct witnesses *witnesses,
		 const struct remembered_stack *stack, uint64_t return_at)
{
	size_t at = find_in(walk, stack, return_at);

	if (!at)
		return;
	if (!witnesses->nr++) {
		witnesses->stack = stack;
		witnesses->at = at;
	} else if (at != witnesses->at || !have_same_callers(walk, witnesses->stack, stack, at)) {
		witnesses->disagree = true;
	}
	if (stack->frames.at[at].frame.pc == vec_last(walk->walked)->frame.pc)
		witnesses->has_call = true;
}

static bool are_believed(const struct witnesses *witnesses)
{
	return !witnesses->disagree && witnesses->has_call && witnesses->nr >= WITNESSES_MIN;
}

bool joint_find(struct walk *walk, uint64_t return_at)
{
	struct witnesses witnesses = { 0 };

	if (!walk->thread || !return_at)
		return false;
	for (size_t i = 0; i < REMEMBERED_STACKS && !witnesses.disagree; i++)
		hear(walk, &witnesses, &walk->thread->stacks[i], return_at);
	if (!are_believed(&witnesses))
		return false;
	walk->joined = witnesses.stack;
	walk->nr_kept = witnesses.at;
	walk->stack->origins |= 1U << STACK_BY_LAST;
	walk->stack->end = walk->joined->end;
	walk->stack->end_module = walk->joined->end_module;
	return true;
}

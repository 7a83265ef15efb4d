/* SPDX-License-Identifier: MIT */
#include "record/stacks/joint.h"

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
static size_t find_in(struct walk *walk, const struct remembered_stack *stack)
{
	const struct walked *frame = vec_last(walk->walked);
	ptrdiff_t at = remembered_find(stack, frame->sp);

	if (at < 0 || !is_same_function(walk, &frame->frame, &stack->frames.at[at].frame))
		return 0;
	return (size_t)at;
}

/* Up to the root. */
static bool have_same_callers(const struct remembered_stack *one,
			      const struct remembered_stack *other, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (one->frames.at[i].frame.pc != other->frames.at[i].frame.pc ||
		    one->frames.at[i].sp != other->frames.at[i].sp)
			return false;
	return true;
}

bool joint_find(struct walk *walk)
{
	const struct remembered_stack *joined = NULL;
	size_t kept = 0;

	for (size_t i = 0; walk->thread && i < REMEMBERED_STACKS; i++) {
		const struct remembered_stack *stack = &walk->thread->stacks[i];
		size_t at = find_in(walk, stack);

		if (!at)
			continue;
		if (joined && (at != kept || !have_same_callers(joined, stack, at)))
			return false;
		joined = stack;
		kept = at;
	}
	if (!joined)
		return false;
	walk->joined = joined;
	walk->nr_kept = kept;
	walk->stack->origins |= 1U << STACK_BY_LAST;
	walk->stack->end = joined->end;
	walk->stack->end_module = joined->end_module;
	return true;
}

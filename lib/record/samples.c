/* SPDX-License-Identifier: MIT */
#include "record/samples.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/peek.h"
#include "record/stacks/stacks.h"
#include "unwind/end.h"

/* What the row of a sample needs besides its frames. */
struct taken {
	struct profile_sample row;
	int32_t pid;
	uint64_t thread; /* as struct stack_sample has it */
	bool in_kernel, stack_cut;
};

/* A sample whose stack may be completed yet. */
struct waiting {
	struct taken taken;
	struct unfinished *stack;
	VEC(struct profile_address) inner; /* frames in front: the kernel's */
	unsigned int nr_tries;
};

enum {
	WAITING_MAX = 64,
	TRIES_MAX = 16, /* later stacks of the thread */
};

struct samples {
	struct samples_config config;
	struct stacks *stacks;
	struct stack stack; /* of the sample at hand */
	struct width width;
	VEC(struct profile_address) frames; /* of the sample at hand, leaf first; then turned */
	VEC(uint32_t) ids;		    /* of modules, by module->id; PROFILE_NONE: not yet */
	struct map modules;		    /* profile's id to struct module */
	struct map anonymous;		    /* pid to profile's id */
	uint32_t kernel, unknown;	    /* PROFILE_NONE: not yet */
	VEC(struct waiting) waiting;	    /* the oldest first, WAITING_MAX at most */
};

struct samples *samples_new(const struct samples_config *config)
{
	struct samples *samples = xcalloc(1, sizeof(*samples));

	samples->config = *config;
	samples->stacks = stacks_new();
	samples->width.narrow_bytes = config->stack_bytes;
	samples->width.begins_wide = config->begins_wide;
	samples->kernel = samples->unknown = PROFILE_NONE;
	return samples;
}

static void waiting_release(struct waiting *waiting)
{
	stacks_forget(waiting->stack);
	vec_free(&waiting->inner);
}

void samples_free(struct samples *samples)
{
	if (!samples)
		return;
	vec_each(&samples->waiting, waiting) waiting_release(waiting);
	vec_free(&samples->waiting);
	stacks_free(samples->stacks);
	vec_free(&samples->frames);
	vec_free(&samples->ids);
	map_release(&samples->modules);
	map_release(&samples->anonymous);
	free(samples);
}

/* --- modules ----------------------------------------------------------------------------------*/

static uint32_t special_module(struct samples *samples, uint32_t *id, enum profile_module_kind kind,
			       const char *name)
{
	if (*id == PROFILE_NONE)
		*id = aggregate_module(samples->config.aggregate,
				       &(struct profile_module){ .kind = kind, .name = name });
	return *id;
}

/* Generated code of one process has nothing to do with that of another. */
static uint32_t anonymous_module(struct samples *samples, int32_t pid)
{
	bool added;
	uint64_t *id = map_add(&samples->anonymous, (uint64_t)pid, &added);

	if (added) {
		char *name = xasprintf("[anon:%d]", (int)pid);

		*id = aggregate_module(
			samples->config.aggregate,
			&(struct profile_module){ .kind = PROFILE_MODULE_ANONYMOUS, .name = name });
		free(name);
	}
	return (uint32_t)*id;
}

static enum profile_module_kind kind_of(const struct samples *samples, const struct module *module)
{
	if (module->kind == MODULE_VDSO)
		return PROFILE_MODULE_VDSO;
	if (samples->config.shim && !strcmp(module->path, samples->config.shim))
		return PROFILE_MODULE_SELF;
	return PROFILE_MODULE_FILE;
}

static uint32_t new_module(struct samples *samples, const struct module *module)
{
	uint32_t id = aggregate_module(samples->config.aggregate,
				       &(struct profile_module){
					       .kind = kind_of(samples, module),
					       .path = module->path,
					       .name = module_name(module),
					       .build_id = module->build_id,
					       .open_path = module->open_path,
					       .reason = module->reason,
				       });

	map_set(&samples->modules, id, (uintptr_t)module);
	return id;
}

static uint32_t module_id(struct samples *samples, const struct module *module, int32_t pid)
{
	if (!module)
		return special_module(samples, &samples->unknown, PROFILE_MODULE_UNKNOWN,
				      "[unknown]");
	if (module->kind == MODULE_ANONYMOUS)
		return anonymous_module(samples, pid);
	while (samples->ids.nr <= module->id)
		vec_push(&samples->ids, PROFILE_NONE);
	if (samples->ids.at[module->id] == PROFILE_NONE)
		samples->ids.at[module->id] = new_module(samples, module);
	return samples->ids.at[module->id];
}

struct width *samples_width(struct samples *samples)
{
	return &samples->width;
}

const struct module *samples_module(const struct samples *samples, uint32_t profile_module)
{
	const uint64_t *module = map_find(&samples->modules, profile_module);

	return module ? (const struct module *)(uintptr_t)*module : NULL;
}

/* --- frames -----------------------------------------------------------------------------------*/

static void push(struct samples *samples, enum profile_address_kind kind, uint32_t module,
		 uint64_t value)
{
	vec_push(&samples->frames,
		 (struct profile_address){ .kind = kind, .module = module, .value = value });
}

static void push_kernel(struct samples *samples, uint64_t pc)
{
	push(samples, PROFILE_ADDRESS_CODE,
	     special_module(samples, &samples->kernel, PROFILE_MODULE_KERNEL, "[kernel]"), pc);
}

static void push_user(struct samples *samples, const struct process *process, uint64_t pc)
{
	const struct mapping *mapping = space_find(&process->space, pc);

	if (mapping)
		push(samples, PROFILE_ADDRESS_CODE,
		     module_id(samples, mapping->module, process->pid),
		     mapping_address(mapping, pc));
	else
		push(samples, PROFILE_ADDRESS_CODE, module_id(samples, NULL, process->pid), pc);
}

/* Addresses of callers are those of the call.  Of the program's frames perf knows but few. */
static void push_chain(struct samples *samples, const struct process *process,
		       const struct decoded_sample *sample, bool kernel_only)
{
	bool in_kernel = sample->in_kernel, is_leaf = true;

	for (size_t i = 0; i < sample->nr_chain; i++) {
		uint64_t pc = sample->chain[i];

		if (pc >= PERF_CONTEXT_MAX) {
			in_kernel = pc == PERF_CONTEXT_KERNEL;
			/* Below system calls and interrupts the pc is exact again. */
			is_leaf = pc == PERF_CONTEXT_USER || is_leaf;
			if (kernel_only && !in_kernel)
				return;
			continue;
		}
		if (in_kernel)
			push_kernel(samples, is_leaf ? pc : pc - 1);
		else
			push_user(samples, process, is_leaf ? pc : pc - 1);
		is_leaf = false;
	}
}

static void tell_truncated(struct samples *samples, const char *module, const char *why)
{
	char *detail = xasprintf("%s: %s", module, why);

	aggregate_quality(samples->config.aggregate, PROFILE_TRUNCATED, detail, 1);
	free(detail);
}

static void push_truncated(struct samples *samples, enum unwind_end end, bool told,
			   const struct module *module, const char *why)
{
	push(samples, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, end);
	if (told)
		tell_truncated(samples, module ? module_name(module) : "[unknown]", why);
}

static const char *why_ended(const struct stack *stack, const struct taken *taken)
{
	if (stack->end == UNWIND_END_NO_STACK)
		return "the kernel could not copy the stack, as within exec and _exit";
	if (stack->end == UNWIND_END_BAD_READ && stack->has_other)
		return "a signal handler on a stack of its own: what it interrupted was not copied";
	if (stack->end == UNWIND_END_BAD_READ && taken->stack_cut)
		return "the stack is deeper than what was copied (--stack-size)";
	if (stack->end == UNWIND_END_UNSUPPORTED)
		return stack_unsupported_text(stack->unsupported);
	return unwind_end_text(stack->end);
}

/* How the ends of stacks were found that go on beyond their copy, in the order of certainty. */
static void tell_stitched(struct samples *samples, const struct stack *stack)
{
	static const struct {
		enum stack_origin origin;
		const char *detail;
	} by[] = {
		{ STACK_BY_CHAIN, "stacks continued by the kernel's chain of frame pointers" },
		{ STACK_BY_LAST, "stacks continued as other stacks of the thread" },
		{ STACK_BY_MEMORY, "stacks continued in the program's memory" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(by); i++) {
		if (!(stack->origins & 1U << by[i].origin))
			continue;
		aggregate_quality(samples->config.aggregate, PROFILE_STITCHED, by[i].detail, 1);
		return;
	}
}

/* Of the innermost frame whose caller was found without CFI. */
static void tell_frame_pointers(struct samples *samples, const struct stack *stack)
{
	size_t i = 1;
	char *detail;

	if (!(stack->origins & 1U << STACK_BY_FP))
		return;
	while (i + 1 < stack->nr && stack->frames[i].origin != STACK_BY_FP)
		i++;
	detail = xasprintf("%s: no CFI, callers by frame pointers",
			   module_name(stack->frames[i - 1].module));
	aggregate_quality(samples->config.aggregate, PROFILE_STITCHED, detail, 1);
	free(detail);
}

/*
 * In the middle of an exec the old code is no longer mapped and its stack gone: what the registers
 * still hold says nothing.
 */
static bool is_exec(const struct taken *taken, const struct stack *stack)
{
	return taken->in_kernel && !stack->frames[0].module && stack->end == UNWIND_END_NO_STACK;
}

/* In cprof's own code; such a sample is in no other figure (profile_is_overhead()). */
static bool is_overhead(const struct samples *samples, const struct stack *stack)
{
	const struct module *innermost = stack->frames[0].module;

	return innermost && kind_of(samples, innermost) == PROFILE_MODULE_SELF;
}

static void push_walk(struct samples *samples, const struct taken *taken)
{
	const struct stack *stack = &samples->stack;
	bool told = taken->row.event == 0 && !is_overhead(samples, stack);

	if (is_exec(taken, stack))
		return;
	if (told) {
		tell_stitched(samples, stack);
		tell_frame_pointers(samples, stack);
	}
	for (size_t i = 0; i < stack->nr; i++) {
		const struct stack_frame *frame = &stack->frames[i];

		if (stack->elided && i == stack->elided_at)
			push(samples, PROFILE_ADDRESS_ELIDED, PROFILE_NONE, stack->elided);
		push(samples, PROFILE_ADDRESS_CODE, module_id(samples, frame->module, taken->pid),
		     frame->address);
	}
	if (unwind_end_is_root(stack->end))
		return;
	push_truncated(samples, stack->end, told, stack->end_module, why_ended(stack, taken));
}

/* --- rows -------------------------------------------------------------------------------------*/

static void turn(struct samples *samples)
{
	struct profile_address *at = samples->frames.at;

	for (size_t i = 0, k = samples->frames.nr; i + 1 < k; i++) {
		struct profile_address address = at[i];

		at[i] = at[--k];
		at[k] = address;
	}
}

static void add_row(struct samples *samples, struct profile_sample row)
{
	turn(samples);
	row.stack = aggregate_stack_of(samples->config.aggregate, samples->frames.at,
				       samples->frames.nr);
	aggregate_sample(samples->config.aggregate, &row);
}

/* With the stack as it was found by now. */
static void add_waiting(struct samples *samples, struct waiting *waiting)
{
	samples->frames.nr = 0;
	vec_each(&waiting->inner, address) vec_push(&samples->frames, *address);
	push_walk(samples, &waiting->taken);
	add_row(samples, waiting->taken.row);
	waiting_release(waiting);
}

/* Gives it up unless it is whole. */
static void add_oldest(struct samples *samples)
{
	struct waiting oldest = samples->waiting.at[0];

	if (!stacks_retry(samples->stacks, oldest.stack, &samples->stack))
		stacks_give_up(samples->stacks, oldest.stack, &samples->stack);
	vec_remove(&samples->waiting, 0, 1);
	add_waiting(samples, &oldest);
}

void samples_finish(struct samples *samples)
{
	while (samples->waiting.nr)
		add_oldest(samples);
}

/* Whether its stack is what it will be. */
static bool is_done(struct samples *samples, struct waiting *waiting)
{
	if (stacks_retry(samples->stacks, waiting->stack, &samples->stack))
		return true;
	if (++waiting->nr_tries < TRIES_MAX)
		return false;
	stacks_give_up(samples->stacks, waiting->stack, &samples->stack);
	return true;
}

/* The thread had another stack. */
static void retry_waiting(struct samples *samples, uint64_t thread)
{
	size_t left = 0;

	vec_each(&samples->waiting, waiting)
	{
		if (waiting->taken.thread == thread && is_done(samples, waiting))
			add_waiting(samples, waiting);
		else
			samples->waiting.at[left++] = *waiting;
	}
	samples->waiting.nr = left;
}

/* False: its stack is what it is. */
static bool make_wait(struct samples *samples, const struct taken *taken)
{
	struct waiting waiting = { .taken = *taken };

	if (unwind_end_is_root(samples->stack.end))
		return false;
	waiting.stack = stacks_keep(samples->stacks, &samples->stack);
	if (!waiting.stack)
		return false;
	vec_each(&samples->frames, address) vec_push(&waiting.inner, *address);
	if (samples->waiting.nr == WAITING_MAX)
		add_oldest(samples);
	vec_push(&samples->waiting, waiting);
	return true;
}

/* --- stacks -----------------------------------------------------------------------------------*/

/* The program runs on meanwhile. */
static size_t read_program(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct process *process = context;

	return peek(process->pid, address, bytes, size);
}

/* The part of the chain that comes after the mark. */
static void set_chain(struct stack_sample *walked, const struct decoded_sample *sample)
{
	size_t i = 0;

	while (i < sample->nr_chain && sample->chain[i] != PERF_CONTEXT_USER)
		i++;
	if (i == sample->nr_chain)
		return;
	walked->chain = sample->chain + i + 1;
	walked->nr_chain = sample->nr_chain - i - 1;
}

static void add_width(struct samples *samples, const struct stack *stack,
		      const struct decoded_sample *sample)
{
	const uint32_t beyond = 1U << STACK_BY_MEMORY | 1U << STACK_BY_LAST | 1U << STACK_BY_CHAIN;
	bool is_lost = stack->end == UNWIND_END_BAD_READ;
	/* A wider copy of a signal handler's stack does not have the one that it interrupted. */
	bool is_elsewhere = stack->has_other && stack->depth <= sample->stack_bytes;
	bool cut = sample->stack_cut && !is_elsewhere && (is_lost || stack->origins & beyond);

	width_add(&samples->width, stack->depth, cut);
	if (cut)
		width_beyond(&samples->width, is_lost);
}

/* False: the stack is to be completed yet. */
static bool push_stack(struct samples *samples, const struct samples_input *input,
		       const struct taken *taken)
{
	const struct decoded_sample *sample = &input->decoded->sample;
	struct process *process = input->process;
	const struct stack_registers registers = stack_registers_of_perf(sample->registers);
	const struct stack_memory memory = { read_program, process };
	struct stack_sample walked = {
		.registers = &registers,
		.bytes = sample->stack,
		.nr_bytes = sample->stack_bytes,
		.thread = taken->thread,
		.rest = input->rest,
		.memory = &memory,
	};

	if (sample->is_32_bit) {
		push_user(samples, process, registers.pc);
		push_truncated(samples, UNWIND_END_UNSUPPORTED, taken->row.event == 0, NULL,
			       "stacks of 32-bit programs are not walked");
		return true;
	}
	set_chain(&walked, sample);
	stacks_walk(samples->stacks, &process->space, &walked, &samples->stack);
	if (samples->stack.end == UNWIND_END_NO_MODULE && samples->config.remap &&
	    samples->config.remap(samples->config.context, process))
		stacks_walk(samples->stacks, &process->space, &walked, &samples->stack);
	add_width(samples, &samples->stack, sample);
	if (make_wait(samples, taken))
		return false;
	push_walk(samples, taken);
	return true;
}

/* Likewise. */
static bool push_frames(struct samples *samples, const struct samples_input *input,
			const struct taken *taken)
{
	const struct decoded_sample *sample = &input->decoded->sample;
	const struct process *process = input->process;

	switch (samples->config.call_graph) {
	case CALL_GRAPH_NONE:
		break;
	case CALL_GRAPH_FRAME_POINTERS:
		push_chain(samples, process, sample, false);
		break;
	case CALL_GRAPH_STACKS:
		push_chain(samples, process, sample, sample->registers);
		if (sample->registers && !push_stack(samples, input, taken))
			return false;
		break;
	}
	if (samples->frames.nr)
		return true;
	if (sample->in_kernel)
		push_kernel(samples, sample->ip);
	else
		push_user(samples, process, sample->ip);
	return true;
}

void samples_add(struct samples *samples, const struct samples_input *input)
{
	const struct decoded *decoded = input->decoded;
	const struct taken taken = {
		.row = { .time_us = ((int64_t)decoded->time_ns - samples->config.start_ns) / 1000,
			 .thread = input->thread,
			 .event = input->event,
			 .weight = input->weight },
		.pid = input->process->pid,
		.thread = ((uint64_t)input->process->id + 1) << 32 | input->thread,
		.in_kernel = decoded->sample.in_kernel,
		.stack_cut = decoded->sample.stack_cut,
	};

	samples->frames.nr = 0;
	if (!push_frames(samples, input, &taken))
		return;
	add_row(samples, taken.row);
	retry_waiting(samples, taken.thread);
}

/* SPDX-License-Identifier: MIT */
#include "record/stacks/stacks.h"

#include <string.h>

#include "arch/perf_regs.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/stacks/module_cfi.h"
#include "unwind/cache.h"
#include "unwind/step.h"

enum {
	LEAF_FRAMES = STACK_FRAMES_MAX / 2, /* of a stack too deep; the rest is the root's side */
	ROOT_FRAMES = STACK_FRAMES_MAX - LEAF_FRAMES,
	STEPS_MAX = 1 << 14,
	CACHE_BITS_FIRST = 12,
	CACHE_BITS_MAX = 20,
	ADDRESS_BITS = 44, /* of a cache key; above them is the number of the CFI */
};

struct stacks {
	VEC(struct module_cfi) cfis;
	VEC(uint32_t) cfi_of_module; /* by module id: number of the CFI + 1, or 0 */
	struct map cfi_by_build_id;
	struct unwind_cache cache;
	uint64_t misses; /* since the cache grew */
	struct stacks_figures figures;
	struct {
		uint64_t sp, fp;
	} walked[LEAF_FRAMES]; /* registers of the frames of the walk */
};

struct stack_registers stack_registers_of_perf(const uint64_t *words)
{
	struct stack_registers registers = {
		.pc = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_PC)],
		.sp = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_SP)],
		.fp = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_FP)],
		.has_general = true,
	};

	for (size_t i = 0; i < ARCH_NR_GENERAL; i++)
		registers.general[i] = words[arch_perf_slot(ARCH_PERF_MASK, arch_perf_of_dwarf[i])];
	return registers;
}

static void resize_cache(struct stacks *stacks, unsigned int bits)
{
	free(stacks->cache.entries);
	stacks->cache.entries = xcalloc(UINT64_C(1) << bits, sizeof(stacks->cache.entries[0]));
	stacks->cache.bits = bits;
	stacks->misses = 0;
}

struct stacks *stacks_new(void)
{
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));

	resize_cache(stacks, CACHE_BITS_FIRST);
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	vec_each(&stacks->cfis, cfi) module_cfi_release(cfi);
	vec_free(&stacks->cfis);
	vec_free(&stacks->cfi_of_module);
	map_release(&stacks->cfi_by_build_id);
	free(stacks->cache.entries);
	free(stacks);
}

struct stacks_figures stacks_figures(const struct stacks *stacks)
{
	return stacks->figures;
}

/* --- rules ------------------------------------------------------------------------ */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * UINT64_C(0x100000001b3);
	return hash;
}

static uint32_t load_cfi(struct stacks *stacks, const struct module *module)
{
	struct module_cfi *cfi = vec_add(&stacks->cfis);

	module_cfi_load(cfi, module);
	stacks->figures.row_bytes += module_cfi_bytes(cfi);
	return (uint32_t)stacks->cfis.nr;
}

/* The same file under several paths or in several containers is evaluated once. */
static uint32_t cfi_by_build_id(struct stacks *stacks, const struct module *module)
{
	if (!module->build_id || !module->elf.nr_loads)
		return load_cfi(stacks, module);

	uint64_t *number = map_add(&stacks->cfi_by_build_id, hash_text(module->build_id), NULL);
	if (!*number)
		*number = load_cfi(stacks, module);
	return (uint32_t)*number;
}

static uint32_t cfi_of(struct stacks *stacks, const struct module *module)
{
	while (stacks->cfi_of_module.nr <= module->id)
		vec_push(&stacks->cfi_of_module, 0);

	uint32_t *number = &stacks->cfi_of_module.at[module->id];
	if (!*number)
		*number = cfi_by_build_id(stacks, module);
	return *number - 1;
}

/* One cache serves all modules: the number of the CFI goes into the high bits. */
static void cache_row(struct stacks *stacks, uint64_t key, uint64_t address, struct unwind_row *row)
{
	uint64_t limit = UINT64_C(1) << ADDRESS_BITS;

	if (++stacks->misses >> stacks->cache.bits && stacks->cache.bits < CACHE_BITS_MAX)
		resize_cache(stacks, stacks->cache.bits + 2);
	row->end = (row->end < limit ? row->end : limit) + key - address;
	row->start += key - address;
	unwind_cache_add(&stacks->cache, key, row);
}

static unwind_rule rule_at(struct stacks *stacks, const struct module *module, uint64_t address)
{
	uint32_t number = cfi_of(stacks, module);
	uint64_t key = (uint64_t)number << ADDRESS_BITS | address;
	bool has_key = !(address >> ADDRESS_BITS) && !(number >> (64 - ADDRESS_BITS));
	struct unwind_row row;

	if (has_key && unwind_cache_find(&stacks->cache, key, &row.rule))
		return row.rule;
	stacks->figures.evaluated++;
	unwind_cfi_find(&stacks->cfis.at[number].image, address, &row);
	if (has_key)
		cache_row(stacks, key, address, &row);
	return row.rule;
}

/* --- the walk ----------------------------------------------------------------------- */

struct stack_bytes {
	const uint8_t *bytes;
	uint64_t size, sp;
};

static inline bool read_word(void *arg, uint64_t address, uint64_t *word)
{
	const struct stack_bytes *stack = arg;
	uint64_t offset = address - stack->sp;

	if (offset > stack->size || stack->size - offset < sizeof(*word))
		return false;
	memcpy(word, stack->bytes + offset, sizeof(*word));
	return true;
}

/* Once full, the places of the root's side are used over and over. */
static struct stack_frame *add_frame(struct stack *stack)
{
	size_t n = stack->nr++;

	if (n >= STACK_FRAMES_MAX)
		n = LEAF_FRAMES + (n - LEAF_FRAMES) % ROOT_FRAMES;
	return &stack->frames[n];
}

static void reverse(struct stack_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct stack_frame frame = frames[i];

		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = frame;
	}
}

/* Puts the root's side in order and says how many frames are missing before it. */
static void elide(struct stack *stack)
{
	if (stack->nr <= STACK_FRAMES_MAX)
		return;

	struct stack_frame *frames = stack->frames + LEAF_FRAMES;
	size_t oldest = (stack->nr - LEAF_FRAMES) % ROOT_FRAMES;
	reverse(frames, oldest);
	reverse(frames + oldest, ROOT_FRAMES - oldest);
	reverse(frames, ROOT_FRAMES);
	stack->elided = stack->nr - STACK_FRAMES_MAX;
	stack->elided_at = LEAF_FRAMES;
	stack->nr = STACK_FRAMES_MAX;
}

struct walk {
	struct stacks *stacks;
	const struct space *space;
	const struct stack_registers *registers;
	struct stack_bytes bytes;
	struct unwind_frame frame;
	const struct mapping *mapping; /* of the frame before, or NULL */
	struct stack *stack;
};

/* Callers are often in the same mapping. */
static const struct mapping *find_mapping(struct walk *walk, uint64_t pc)
{
	const struct mapping *last = walk->mapping;

	if (!last || pc < last->start || pc >= last->end)
		walk->mapping = space_find(walk->space, pc);
	return walk->mapping;
}

/* For find_register(). */
static void keep_registers(struct walk *walk)
{
	size_t nr = walk->stack->nr;

	if (nr >= LEAF_FRAMES)
		return;
	walk->stacks->walked[nr].sp = walk->frame.sp;
	walk->stacks->walked[nr].fp = walk->frame.fp;
}

/*
 * The value that a register of frame `inner` + 1 had, given the one it had in frame `inner`: most
 * functions leave it alone or have saved it on the stack.
 */
static bool restore_register(struct walk *walk, size_t inner, unsigned int reg, uint64_t *value)
{
	const struct stack_frame *frame = &walk->stack->frames[inner];
	uint32_t number = cfi_of(walk->stacks, frame->module);
	struct unwind_place place =
		unwind_cfi_register(&walk->stacks->cfis.at[number].image, frame->address, reg);
	uint64_t sp = walk->stacks->walked[inner].sp, fp = walk->stacks->walked[inner].fp;
	uint64_t cfa = walk->stacks->walked[inner + 1].sp;
	uint64_t offset = (uint64_t)(int64_t)place.offset;

	switch (place.kind) {
	case UNWIND_PLACE_SAME:
		return true;
	case UNWIND_PLACE_CFA: /* below sp it was popped already */
		return read_word(&walk->bytes, cfa + offset, value) || cfa + offset < sp;
	case UNWIND_PLACE_SP:
		return read_word(&walk->bytes, sp + offset, value);
	case UNWIND_PLACE_FP: /* likewise above the frame */
		return fp >= cfa || read_word(&walk->bytes, fp + offset, value);
	default:
		return false;
	}
}

/* What a register holds in the frame that was added last, from the leaf's on. */
static bool find_register(struct walk *walk, unsigned int reg, uint64_t *value)
{
	size_t nr = walk->stack->nr;

	if (!walk->registers->has_general || nr > LEAF_FRAMES)
		return false;
	*value = walk->registers->general[reg];
	for (size_t inner = 0; inner + 1 < nr; inner++)
		if (!restore_register(walk, inner, reg, value))
			return false;
	return true;
}

/* The rule needs a register that is not carried along: that is rare. */
static enum unwind_end step_by_register(struct walk *walk, unwind_rule rule, bool is_link)
{
	uint64_t value;

	walk->stack->unsupported = is_link ? UNWIND_RETURN_ADDRESS : UNWIND_CFA_REGISTER;
	if (!find_register(walk, unwind_rule_small(rule), &value))
		return UNWIND_END_UNSUPPORTED;
	if (is_link)
		return unwind_step_link(&walk->frame, rule, value, read_word, &walk->bytes);
	value += (uint64_t)((int64_t)ARCH_WORD * unwind_rule_offset(rule));
	return unwind_step_to(&walk->frame, rule, value, read_word, &walk->bytes);
}

static enum unwind_end step(struct walk *walk, unwind_rule rule)
{
	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_REGISTER:
		return step_by_register(walk, rule, false);
	case UNWIND_RULE_LINK:
		return step_by_register(walk, rule, true);
	case UNWIND_RULE_UNSUPPORTED:
		walk->stack->unsupported = (enum unwind_unsupported)unwind_rule_operand(rule);
		break;
	default:
		break;
	}
	return unwind_step(&walk->frame, unwind_rule_or_chain(rule), read_word, &walk->bytes);
}

/*
 * The rule for the frame, whose address is corrected for the trampoline of a signal handler: nobody
 * called it, and while it is in its system call, pc is behind its last instruction.
 */
static unwind_rule find_rule(struct walk *walk, const struct mapping *mapping,
			     struct stack_frame *frame)
{
	unwind_rule rule = rule_at(walk->stacks, mapping->module, frame->address);

	if (unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL) {
		frame->address = mapping_address(mapping, frame->pc);
	} else if (unwind_rule_kind(rule) == UNWIND_RULE_NONE && walk->frame.exact) {
		unwind_rule before = rule_at(walk->stacks, mapping->module, frame->address - 1);

		if (unwind_rule_kind(before) == UNWIND_RULE_SIGNAL) {
			frame->address--;
			return before;
		}
	}
	return rule;
}

/* Adds the frame and steps to its caller. */
static enum unwind_end walk_frame(struct walk *walk)
{
	struct stack *stack = walk->stack;
	uint64_t lookup = unwind_lookup_pc(&walk->frame);
	const struct mapping *mapping = find_mapping(walk, lookup);

	stack->end_module = mapping ? mapping->module : NULL;
	if (!mapping && stack->nr)
		return UNWIND_END_NO_MODULE;
	keep_registers(walk);

	struct stack_frame *added = add_frame(stack);
	*added = (struct stack_frame){ stack->end_module, lookup, walk->frame.pc };
	if (!mapping)
		return UNWIND_END_NO_MODULE;
	added->address = mapping_address(mapping, lookup);

	return step(walk, find_rule(walk, mapping, added));
}

void stacks_walk(struct stacks *stacks, const struct space *space,
		 const struct stack_registers *registers, const void *bytes, size_t nr_bytes,
		 struct stack *stack)
{
	struct walk walk = {
		.stacks = stacks,
		.space = space,
		.registers = registers,
		.bytes = { bytes, nr_bytes, registers->sp },
		.frame = { .pc = registers->pc,
			   .sp = registers->sp,
			   .fp = registers->fp,
			   .exact = true },
		.stack = stack,
	};

	stack->nr = stack->elided = stack->elided_at = 0;
	stack->unsupported = 0;
	do
		stack->end = walk_frame(&walk);
	while (!stack->end && stack->nr < STEPS_MAX);
	if (!stack->end)
		stack->end = UNWIND_END_TOO_DEEP;
	if (!nr_bytes && (stack->end == UNWIND_END_BAD_READ || stack->end == UNWIND_END_NO_MODULE))
		stack->end = UNWIND_END_NO_STACK;
	stacks->figures.walks++;
	stacks->figures.frames += stack->nr;
	elide(stack);
}

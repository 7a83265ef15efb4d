/* SPDX-License-Identifier: MIT */
#include "shim/walk.h"

#include <string.h>

#include "shim/last_walk.h"
#include "unwind/step.h"

#define HALF (WALK_FRAMES / 2)
#define MOST_FRAMES (1u << 20)

/* --- rules ------------------------------------------------------------------------------------*/

/* What signal handlers return to, where it has no CFI. */
static bool is_sigreturn(const struct walk *walk, const struct unwind_frame *frame)
{
	return !ARCH_RETURN_IS_PUSHED && !frame->exact &&
	       modules_code(walk->modules, frame->pc) == ARCH_SIGRETURN;
}

static unwind_rule rule_from_cfi(const struct walk *walk, const struct unwind_frame *frame)
{
	struct unwind_row row;

	modules_row(walk->modules, unwind_lookup_pc(frame), &row);
	if (unwind_rule_kind(row.rule) == UNWIND_RULE_NONE && is_sigreturn(walk, frame))
		return unwind_rule_make(UNWIND_RULE_SIGNAL, ARCH_SIGNAL_SP_WORDS, UNWIND_FP_SAME);
	if (unwind_rule_kind(row.rule) == UNWIND_RULE_NONE && !frame->exact) {
		modules_row(walk->modules, frame->pc, &row);
		row.rule = unwind_rule_in_gap(row.rule);
	}
	return unwind_rule_or_chain(row.rule);
}

static inline const struct exit *exit_of(const struct walk *walk, uint64_t pc)
{
	return exits_at(&walk->exits, walk->exits.mask, pc);
}

static inline bool is_known(const struct exit *exit, const struct unwind_frame *frame)
{
	return exit->pc == frame->pc && !frame->exact;
}

unwind_rule walk_rule(const struct walk *walk, const struct unwind_frame *frame)
{
	const struct exit *exit = exit_of(walk, frame->pc);

	return is_known(exit, frame) ? exit->way.rule : rule_from_cfi(walk, frame);
}

static __attribute__((noinline)) void forget(struct walk *walk, uint32_t generation)
{
	walk->nr = 0;
	exits_clear(&walk->exits);
	walk->generation = generation;
}

void walk_init(struct walk *walk, struct modules *modules, struct trie *trie, uint64_t top)
{
	walk->modules = modules;
	walk->trie = trie;
	walk->nr = 0;
	exits_init(&walk->exits);
	stack_init(&walk->stack, top);
}

static inline void forget_if_changed(struct walk *walk)
{
	uint32_t generation =
		atomic_load_explicit(&walk->modules->generation, memory_order_acquire);

	if (__builtin_expect(walk->generation != generation, 0))
		forget(walk, generation);
}

/* --- nodes ------------------------------------------------------------------------------------*/

/* A stack so far.  By value: hashes wait for each other, and not for memory too. */
struct tip {
	uint64_t hash;
	uint32_t node;
};

static struct tip mark(struct walk *walk, struct tip tip, uint64_t address, uint32_t module)
{
	uint64_t hash = trie_hash(tip.hash, address);
	uint32_t node = trie_find(walk->trie, hash, tip.node, address);

	if (!node)
		node = trie_add(walk->trie, hash, tip.node, address, module);
	return (struct tip){ hash, node };
}

static __attribute__((noinline, cold)) uint32_t other_node(struct walk *walk, uint64_t hash,
							   uint32_t parent, uint64_t address)
{
	uint32_t node = trie_find_elsewhere(walk->trie, hash, parent, address);

	if (node)
		return node;

	bool exact = address & WIRE_EXACT_PC;
	const struct module *m =
		modules_find(walk->modules, (address & ~WIRE_EXACT_PC) - (exact ? 0 : 1));

	return trie_add(walk->trie, hash, parent, address, m ? m->id : WIRE_MODULE_NONE);
}

/* With a frame on top of it. */
static inline struct tip add_frame(struct walk *walk, struct trie_view view, struct tip tip,
				   uint64_t address)
{
	uint64_t hash = trie_hash(tip.hash, address);
	uint32_t node = trie_look(view, hash, tip.node, address);

	if (__builtin_expect(!node, 0))
		node = other_node(walk, hash, tip.node, address);
	return (struct tip){ hash, node };
}

/* Under a root that was reached, or did not want to be. */
static struct tip no_frame(struct walk *walk, enum unwind_end end)
{
	struct tip none = { 0, 0 };

	return unwind_end_is_root(end) ? none : mark(walk, none, end, WIRE_MODULE_STOP);
}

/* --- walking ----------------------------------------------------------------------------------*/

/* What a walk has found. */
struct way {
	struct walk_found *first; /* of the new frames, the innermost is the last of the array */
	uint32_t old;		  /* frames of the last walk that go on being right */
	enum unwind_end end;	  /* UNWIND_MORE: those were met */
};

static inline struct walk_found *end_of_found(struct walk *walk)
{
	return &walk->found[WALK_FRAMES];
}

static inline void store(struct walk *walk, struct walk_found *found, const struct unwind_frame *at,
			 unwind_rule rule, uint32_t flags)
{
	*found = (struct walk_found){ at->sp, at->pc, at->fp, { .rule = rule, .distance = flags } };
	if (!ARCH_RETURN_IS_PUSHED)
		walk->found_at[found - walk->found] = at->pc_at;
}

/* Nothing further up is read before it is tested; and a frame has a word at least, so that there is room
 * for all. */
static inline uint64_t limit_above(const struct walk *walk, uint64_t sp,
				   const struct walk_found *found)
{
	uint64_t end = stack_end(&walk->stack, sp);
	uint64_t room = sp + ARCH_WORD * (uint64_t)(found - walk->found);

	return end < room ? end : room;
}

/* What is on other stacks does not stay. */
static __attribute__((noinline)) void unmark_plain(struct walk_found *found,
						   const struct walk_found *end)
{
	for (; found != end; found++)
		found->way.distance = 0;
}

/* The caller's sp by fp, if all that is to be read is between sp and the limit; or 0. */
static inline uint64_t sp_by_fp(unwind_rule rule, uint64_t sp, uint64_t fp, uint64_t limit)
{
	uint64_t cfa = fp + ARCH_WORD * (uint64_t)unwind_rule_distance(rule);
	uint64_t most = cfa - ARCH_WORD * (uint64_t)unwind_rule_slot(rule);

	return cfa > sp && cfa <= limit && most >= sp && most <= cfa && !(fp % ARCH_WORD) ? cfa : 0;
}

/*
 * Goes up as long as sp or fp alone lead to the caller: what unwind_step() does there, checks
 * included, and little else, since all but a few frames are gone through here.  Stops in front of
 * one that looks like frame *place of the last walk; otherwise *place is no frame.  A pc of 0 is no
 * caller.  Returns the last frame stored.
 */
static inline __attribute__((always_inline)) struct walk_found *climb(struct walk *walk,
								      struct unwind_frame *at,
								      struct walk_found *found,
								      uint32_t old, uint32_t *place)
{
	const struct walk_found *first = found;
	uint64_t sp = at->sp, pc = at->pc, fp = at->fp, pc_at = at->pc_at;
	uint32_t is_lost = at->fp_lost;
	const uint64_t limit = limit_above(walk, sp, found);
	const uint64_t mask = walk->exits.mask;

	*place = WALK_FRAMES;
	for (;;) {
		const struct exit *exit = exits_at(&walk->exits, mask, pc);
		uint32_t i = *place_of_sp(walk, sp);

		/* One branch for both, since nobody predicts how many frames are new. */
		if (!((walk->sp[i] ^ sp) | (walk->pc[i] ^ pc)) && i < old) {
			*place = i;
			break;
		}
		if (__builtin_expect(exit->pc != pc, 0))
			break;

		union exit_way way = { .word = exit->way.word };
		uint64_t caller_sp = sp + way.distance;

		if (__builtin_expect(caller_sp > limit, 0)) {
			if (way.distance != (uint32_t)EXIT_BY_FP || is_lost)
				break;
			caller_sp = sp_by_fp(way.rule, sp, fp, limit);
			if (__builtin_expect(!caller_sp, 0))
				break;
			way.distance = WALK_NEEDS_FP;
		}
		*--found = (struct walk_found){ sp, pc, fp, way };
		if (!ARCH_RETURN_IS_PUSHED)
			walk->found_at[found - walk->found] = pc_at;
		sp = caller_sp;
		pc_at = sp - exit_return_depth(way);
		pc = unwind_code(word_at(pc_at));
		if (unwind_rule_has_slot(way.rule)) {
			fp = word_at(sp - ARCH_WORD * (uint64_t)unwind_rule_slot(way.rule));
			is_lost = 0;
		}
	}
	if (__builtin_expect(!stack_is_own(&walk->stack, at->sp), 0))
		unmark_plain(found, first);
	at->sp = sp;
	at->pc = pc;
	at->pc_at = ARCH_RETURN_IS_PUSHED ? 0 : pc_at;
	at->fp = fp;
	at->fp_lost = is_lost;
	return found;
}

/* Whatever is not known from the walks before, or seldom. */
static __attribute__((noinline)) enum unwind_end
step_rare(struct walk *walk, struct walk_found *found, struct unwind_frame *at)
{
	unwind_rule rule = walk_rule(walk, at);
	enum unwind_end end;

	if (!at->exact && !is_known(exit_of(walk, at->pc), at))
		exits_add(&walk->exits, at->pc, rule);
	store(walk, found, at, rule, flags_of(at));
	if (at->exact)
		found->pc |= WIRE_EXACT_PC;
	end = unwind_step(at, rule, stack_read, &walk->stack);
	if (!end && unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL)
		stack_continue(&walk->stack, at->sp);
	return end;
}

/* Stores the frame and steps to its caller; one whose address nobody takes stays in registers. */
static inline __attribute__((always_inline)) enum unwind_end
step(struct walk *walk, struct walk_found *found, struct unwind_frame *at)
{
	const struct exit *exit = exit_of(walk, at->pc);
	unwind_rule rule = exit->way.rule;

	if (is_known(exit, at) && !flags_of(at)) {
		if (unwind_rule_kind(rule) == UNWIND_RULE_ROOT) {
			store(walk, found, at, rule, 0);
			return unwind_step(at, rule, stack_read, &walk->stack);
		}
		if (!ARCH_RETURN_IS_PUSHED && unwind_rule_kind(rule) == UNWIND_RULE_SP &&
		    is_checkable(rule)) {
			store(walk, found, at, rule, 0);

			enum unwind_end end = unwind_step(at, rule, stack_read, &walk->stack);

			if (!end && stack_is_own(&walk->stack, at->pc_at))
				found->way.distance = ARCH_WORD;
			return end;
		}
	}

	struct unwind_frame copy = *at;
	enum unwind_end end = step_rare(walk, found, &copy);

	*at = copy;
	return end;
}

/* Whether frame `place` of the last walk is met.  From then on *old frames of that are known to be as they
 * were, and if it is not one of these, the way goes on to one. */
static inline __attribute__((always_inline)) bool is_met(struct walk *walk, uint32_t place,
							 const struct unwind_frame *at,
							 uint32_t *old, bool *checked)
{
	*old = *checked ? place + 1 : unchanged(walk, place + 1);
	*checked = true;
	if (*old != place + 1)
		return false;
	/* It may have been the innermost one, whose pc was nowhere yet. */
	if (!ARCH_RETURN_IS_PUSHED && at->pc_at)
		walk->return_at[place] = at->pc_at;
	return true;
}

/* Goes on where climb() does not: until the end, a frame of the last walk that is still right, or no more
 * room. */
static __attribute__((noinline)) struct way go_on(struct walk *walk, struct way way, uint64_t pc,
						  uint64_t sp, uint64_t fp, uint64_t pc_at)
{
	struct unwind_frame at = { .pc = pc, .sp = sp, .fp = fp, .pc_at = pc_at };
	uint32_t place = WALK_FRAMES;
	bool checked = false;

	while (way.first != walk->found) {
		if (place < way.old && matches(walk, place, &at)) {
			if (is_met(walk, place, &at, &way.old, &checked))
				return way;
		} else {
			way.end = at.pc || at.exact ? step(walk, --way.first, &at)
						    : UNWIND_END_NULL_PC;
		}
		if (way.end) {
			way.old = 0;
			return way;
		}
		if (!at.exact && !flags_of(&at))
			way.first = climb(walk, &at, way.first, way.old, &place);
		else
			place = *place_of_sp(walk, at.sp);
	}
	return way;
}

/* Until the same. */
static inline struct way go(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct unwind_frame at = { .pc = pc, .sp = sp, .fp = fp };
	struct way way = { end_of_found(walk), walk->nr, UNWIND_MORE };
	uint32_t place;
	bool checked = false;

	walk->nr = 0;
	atomic_signal_fence(memory_order_acq_rel);
	do {
		way.first = climb(walk, &at, way.first, way.old, &place);
		if (place >= way.old || !matches(walk, place, &at))
			return go_on(walk, way, at.pc, at.sp, at.fp, at.pc_at);
	} while (!is_met(walk, place, &at, &way.old, &checked));
	return way;
}

/* --- keeping a walk ---------------------------------------------------------------------------*/

/* Puts the new frames behind those that were met and gives all of them nodes. */
static inline uint32_t settle(struct walk *walk, struct way way)
{
	struct trie_view view = trie_view(walk->trie);
	struct walk_state plain = { 0, 0 };
	uint32_t least = UINT32_MAX;
	struct tip tip;
	size_t i = way.old;

	if (i) {
		tip = (struct tip){ walk->hash[i - 1], walk->node[i - 1] };
		plain = plain_state(&walk->state[i - 1]);
		least = least_plain(&walk->state[i - 1]);
	} else {
		tip = no_frame(walk, way.end);
	}
	walk->nr_checkable = WALK_FRAMES;
	for (const struct walk_found *found = way.first; found != end_of_found(walk);
	     found++, i++) {
		uint64_t sp = found->sp, pc = found->pc;

		walk->sp[i] = sp;
		walk->pc[i] = pc;
		if (!ARCH_RETURN_IS_PUSHED)
			walk->return_at[i] = walk->found_at[found - walk->found];
		*place_of_sp(walk, sp) = (uint16_t)i;
		if (__builtin_expect(found->way.distance >= least, 1)) {
			walk->state[i] = plain;
		} else {
			if (i && found->way.distance == WALK_NEEDS_FP)
				keep_by_fp(walk, (uint32_t)i, found);
			else
				keep_more(walk, (uint32_t)i, found);
			plain = plain_state(&walk->state[i]);
			least = least_plain(&walk->state[i]);
		}
		tip = add_frame(walk, view, tip, pc);
		if (__builtin_expect(!tip.node, 0))
			return WIRE_STACK_OTHER;
		walk->node[i] = tip.node;
		walk->hash[i] = tip.hash;
	}
	atomic_signal_fence(memory_order_release);
	walk->nr = (uint32_t)i;
	return tip.node;
}

/* More frames than room: those of the last walk and the new ones, whose end was not found. */
static inline bool is_deep(struct walk *walk, struct way way)
{
	return (!way.old && !way.end) || (size_t)(way.first - walk->found) < way.old;
}

/*
 * More frames than room: half of the array keeps the innermost ones, the other half is used in
 * turns and has the outermost ones in the end.
 */
static uint32_t place_of(uint32_t n)
{
	return n < HALF ? WALK_FRAMES - 1 - n : n % HALF;
}

static __attribute__((noinline)) uint32_t walk_deep(struct walk *walk, uint64_t pc, uint64_t sp,
						    uint64_t fp)
{
	struct unwind_frame at = { .pc = pc, .sp = sp, .fp = fp };
	enum unwind_end end = UNWIND_MORE;
	uint32_t nr = 0;

	while (!end && nr < MOST_FRAMES)
		end = step_rare(walk, &walk->found[place_of(nr++)], &at);

	struct tip tip = no_frame(walk, end ? end : UNWIND_END_TOO_DEEP);

	for (uint32_t n = nr; n-- > 0;) {
		if (n == HALF - 1 && nr > WALK_FRAMES)
			tip = mark(walk, tip, nr - WALK_FRAMES, WIRE_MODULE_ELIDED);
		if (n < HALF || nr - n <= HALF)
			tip = add_frame(walk, trie_view(walk->trie), tip,
					walk->found[place_of(n)].pc);
	}
	return tip.node;
}

uint32_t walk_stack(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
	forget_if_changed(walk);
	stack_enter(&walk->stack, sp);

	struct way way = go(walk, pc, sp, fp);

	return is_deep(walk, way) ? walk_deep(walk, pc, sp, fp) : settle(walk, way);
}

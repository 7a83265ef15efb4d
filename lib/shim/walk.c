/* SPDX-License-Identifier: MIT */
#include "shim/walk.h"

#include <string.h>

#include "unwind/step.h"

#define HALF (WALK_FRAMES / 2)
#define MOST_FRAMES (1u << 20)

void walk_init(struct walk *walk, struct modules *modules, struct trie *trie, uint64_t top)
{
	walk->modules = modules;
	walk->trie = trie;
	walk->nr = 0;
	stack_init(&walk->stack, top);
}

/* --- rules ------------------------------------------------------------------------------------*/

static unwind_rule rule_from_cfi(struct walk *walk, const struct unwind_frame *frame)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };
	uint64_t pc = unwind_lookup_pc(frame);
	struct unwind_row row;

	modules_row(walk->modules, pc, &row);
	row.rule = unwind_rule_or_chain(row.rule);
	unwind_cache_add_at(&cache, frame->pc, pc, &row);
	return row.rule;
}

static inline bool known_rule(struct walk *walk, const struct unwind_frame *frame,
			      unwind_rule *rule)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };

	return unwind_cache_find_at(&cache, frame->pc, unwind_lookup_pc(frame), rule);
}

unwind_rule walk_rule(struct walk *walk, const struct unwind_frame *frame)
{
	unwind_rule rule;

	return known_rule(walk, frame, &rule) ? rule : rule_from_cfi(walk, frame);
}

static void forget_if_changed(struct walk *walk)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };
	uint32_t generation =
		atomic_load_explicit(&walk->modules->generation, memory_order_acquire);

	if (walk->generation == generation)
		return;
	walk->nr = 0;
	unwind_cache_clear(&cache);
	walk->generation = generation;
}

/* --- the last walk ----------------------------------------------------------------------------*/

/* Frames before this one can be found again by checks, but not what is further in. */
static inline void set_barrier(struct walk *walk, uint32_t i)
{
	if (i < walk->nr_checkable)
		walk->nr_checkable = i;
}

/* Where the frame's pc is on the stack. */
static inline uint64_t return_at(const struct walk *walk, uint32_t i)
{
	return ARCH_RETURN_IS_PUSHED ? walk->point[i].sp + ARCH_RETURN_AT_CFA
				     : walk->frame[i].return_at;
}

/* That the stack can be read there is certain from now on. */
static inline bool stays(const struct walk *walk, uint64_t address)
{
	return address - walk->stack.low < walk->stack.high - walk->stack.low;
}

/* Whether the way from the frame to its caller begins with fp. */
static inline bool uses_fp(const struct walk_frame *frame, enum unwind_rule_kind kind)
{
	return kind == UNWIND_RULE_FP || kind == UNWIND_RULE_CHAIN ||
	       (!ARCH_RETURN_IS_PUSHED && frame->flags & WALK_SP_LOST);
}

/* Whether that way can be checked: it goes by what is kept here. */
static inline bool is_checkable(unwind_rule rule)
{
	enum unwind_rule_kind kind = unwind_rule_kind(rule);

	if (!ARCH_RETURN_IS_PUSHED && unwind_rule_fp(rule) == UNWIND_FP_AT_FP)
		return false;
	return kind == UNWIND_RULE_SP || kind == UNWIND_RULE_FP || kind == UNWIND_RULE_CHAIN ||
	       kind == UNWIND_RULE_PLT;
}

/* The caller's fp, which it needs, is to be found again where frame i saved it. */
static void check_fp(struct walk *walk, uint32_t i)
{
	struct walk_frame *frame = &walk->frame[i];
	bool is_chain = unwind_rule_kind(frame->rule) == UNWIND_RULE_CHAIN;
	uint32_t slot = is_chain ? 2 : unwind_rule_fp(frame->rule);
	uint64_t address = walk->point[i - 1].sp - ARCH_WORD * (uint64_t)slot;

	if (slot == UNWIND_FP_SAME || slot == UNWIND_FP_LOST)
		frame->flags |= WALK_NEEDS_FP;
	else if (slot == UNWIND_FP_AT_FP || address < walk->point[i].sp || !stays(walk, address))
		set_barrier(walk, i);
	else
		walk->fp[frame->nr_fps++] = (struct walk_fp){ address, frame[-1].fp };
}

/* The way from frame i to its caller. */
static __attribute__((noinline)) void set_way_out(struct walk *walk, uint32_t i)
{
	struct walk_frame *frame = &walk->frame[i];
	enum unwind_rule_kind kind = unwind_rule_kind(frame->rule);

	frame->nr_fps = frame[-1].nr_fps;
	frame->flags &= ~(uint32_t)WALK_PLAIN;
	if (uses_fp(frame, kind))
		frame->flags |= WALK_NEEDS_FP;
	if (!is_checkable(frame->rule) || !stays(walk, return_at(walk, i - 1)))
		set_barrier(walk, i);
	else if (frame[-1].flags & WALK_NEEDS_FP)
		check_fp(walk, i);
}

/* The root has no caller; whether that stays so must not depend on what is in memory. */
static void set_no_way_out(struct walk *walk)
{
	walk->frame[0].nr_fps = 0;
	if (unwind_rule_kind(walk->frame[0].rule) != UNWIND_RULE_ROOT)
		set_barrier(walk, 0);
}

static inline uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/* A number, so that four are combined without a branch. */
static inline unsigned int is_there(const struct walk *walk, uint32_t i)
{
	return unwind_code(word_at(return_at(walk, i))) == walk->point[i].pc;
}

/* How many of the first nr frames have their pc where it was. */
static inline uint32_t nr_there(const struct walk *walk, uint32_t nr)
{
	uint32_t i = 0;

	for (; i + 4 <= nr; i += 4)
		if (!(is_there(walk, i) & is_there(walk, i + 1) & is_there(walk, i + 2) &
		      is_there(walk, i + 3)))
			break;
	while (i < nr && is_there(walk, i))
		i++;
	return i;
}

static inline uint32_t nr_fps_there(const struct walk *walk, uint32_t nr)
{
	uint32_t i = 0;

	while (i < nr && word_at(walk->fp[i].address) == walk->fp[i].value)
		i++;
	return i;
}

/* How many of the first nr frames, from the root on, would be found again. */
static inline uint32_t unchanged(struct walk *walk, uint32_t nr)
{
	if (nr > walk->nr_checkable)
		nr = walk->nr_checkable;
	if (!nr)
		return 0;

	/* The innermost one's pc has been seen already. */
	nr = nr_there(walk, nr - 1) + 1;

	uint32_t nr_fps = nr_fps_there(walk, walk->frame[nr - 1].nr_fps);

	while (walk->frame[nr - 1].nr_fps > nr_fps)
		nr--;
	return nr;
}

static inline uint32_t flags_of(const struct unwind_frame *at)
{
	return (at->exact ? WALK_EXACT : 0) |
	       (!ARCH_RETURN_IS_PUSHED && at->sp_lost ? WALK_SP_LOST : 0);
}

static inline uint16_t *place_of_sp(struct walk *walk, uint64_t sp)
{
	return &walk->place[sp / 16 % (1 << WALK_PLACE_BITS)];
}

/* Whether it is this frame of the last walk, and leads to the same callers. */
static inline bool matches(const struct walk *walk, uint32_t i, const struct unwind_frame *at)
{
	const struct walk_frame *old = &walk->frame[i];

	return walk->point[i].sp == at->sp && walk->point[i].pc == at->pc &&
	       (old->flags & (WALK_EXACT | WALK_SP_LOST)) == flags_of(at) &&
	       (!(old->flags & WALK_NEEDS_FP) || (old->fp == at->fp && !at->fp_lost));
}

/* --- nodes ------------------------------------------------------------------------------------*/

static uint32_t mark(struct walk *walk, uint64_t *hash, uint32_t parent, uint64_t address,
		     uint32_t module)
{
	*hash = trie_hash(*hash, address);

	uint32_t id = trie_find(walk->trie, *hash, parent, address);

	return id ? id : trie_add(walk->trie, *hash, parent, address, module);
}

static __attribute__((noinline)) uint32_t new_node(struct walk *walk, uint64_t hash,
						   uint32_t parent, uint64_t address)
{
	bool exact = address & WIRE_EXACT_PC;
	const struct module *m =
		modules_find(walk->modules, (address & ~WIRE_EXACT_PC) - (exact ? 0 : 1));

	return trie_add(walk->trie, hash, parent, address, m ? m->id : WIRE_MODULE_NONE);
}

/* The node of a frame under that of its caller. */
static inline uint32_t node_of(struct walk *walk, uint64_t *hash, uint32_t parent, uint64_t pc,
			       uint32_t flags)
{
	uint64_t address = pc | (flags & WALK_EXACT ? WIRE_EXACT_PC : 0);

	*hash = trie_hash(*hash, address);

	uint32_t node = trie_find(walk->trie, *hash, parent, address);

	return __builtin_expect(node != 0, 1) ? node : new_node(walk, *hash, parent, address);
}

/* The parent of a root that was reached, or did not want to be. */
static uint32_t root_node(struct walk *walk, uint64_t *hash, enum unwind_end end)
{
	*hash = 0;
	return unwind_end_is_root(end) ? 0 : mark(walk, hash, 0, end, WIRE_MODULE_STOP);
}

/* --- walking ----------------------------------------------------------------------------------*/

/* What a walk has found.  New frames are stored from the end of the array backwards. */
struct way {
	uint32_t first;	     /* of the new frames */
	uint32_t old;	     /* frames of the last walk that go on being right */
	enum unwind_end end; /* UNWIND_MORE: those were met */
};

static inline void store(struct walk *walk, uint32_t i, const struct unwind_frame *at,
			 unwind_rule rule, uint32_t flags)
{
	walk->point[i].sp = at->sp;
	walk->point[i].pc = at->pc;
	walk->frame[i].fp = at->fp;
	walk->frame[i].rule = rule;
	walk->frame[i].flags = flags;
	if (!ARCH_RETURN_IS_PUSHED)
		walk->frame[i].return_at = at->pc_at;
}

/* Whatever is not known from the walks before, or seldom. */
static __attribute__((noinline)) enum unwind_end step_rare(struct walk *walk, uint32_t i,
							   struct unwind_frame *at)
{
	unwind_rule rule = walk_rule(walk, at);
	enum unwind_end end;

	store(walk, i, at, rule, flags_of(at));
	end = unwind_step(at, rule, stack_read, &walk->stack);
	if (!end && unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL)
		stack_continue(&walk->stack, at->sp);
	return end;
}

/* Stores the frame and steps to its caller; one whose address nobody takes stays in registers. */
static inline __attribute__((always_inline)) enum unwind_end step(struct walk *walk, uint32_t i,
								  struct unwind_frame *at)
{
	unwind_rule rule;

	if (__builtin_expect(known_rule(walk, at, &rule), 1) && !flags_of(at)) {
		if (__builtin_expect(unwind_rule_kind(rule) == UNWIND_RULE_SP &&
					     (ARCH_RETURN_IS_PUSHED || is_checkable(rule)),
				     1)) {
			store(walk, i, at, rule, WALK_PLAIN);
			return unwind_step(at, rule, stack_read, &walk->stack);
		}
		if (unwind_rule_kind(rule) == UNWIND_RULE_FP) {
			store(walk, i, at, rule, 0);
			return unwind_step(at, rule, stack_read, &walk->stack);
		}
	}

	struct unwind_frame copy = *at;
	enum unwind_end end = step_rare(walk, i, &copy);

	*at = copy;
	return end;
}

/* Goes up until the end, a frame of the last walk that is still right, or no more room. */
static inline struct way go(struct walk *walk, struct unwind_frame at)
{
	struct way way = { WALK_FRAMES, walk->nr, UNWIND_MORE };
	bool checked = false;

	walk->nr = 0;
	atomic_signal_fence(memory_order_acq_rel);
	while (way.first) {
		uint32_t place = *place_of_sp(walk, at.sp);

		if (way.first == way.old)
			way.old = 0;
		if (place < way.old && matches(walk, place, &at)) {
			uint32_t nr = checked ? place + 1 : unchanged(walk, place + 1);

			way.old = nr;
			if (nr == place + 1)
				break;
			checked = true;
		}
		way.end = step(walk, --way.first, &at);
		if (way.end) {
			way.old = 0;
			break;
		}
	}
	return way;
}

/* --- keeping a walk ---------------------------------------------------------------------------*/

/* Of most frames there is nothing to say but that their caller is where it was. */
static inline bool is_plain(uint32_t flags, uint32_t caller_flags)
{
	return flags == WALK_PLAIN && !(caller_flags & WALK_NEEDS_FP);
}

/*
 * Gives a new frame its place.  Word by word: as these were just stored one by one, they cannot be
 * loaded in pairs at once.
 */
static inline void place(struct walk *walk, uint32_t i, uint32_t from, uint32_t caller_flags)
{
	struct walk_frame *frame = &walk->frame[i];
	const struct walk_frame *found = &walk->frame[from];

	walk->point[i].sp = walk->point[from].sp;
	walk->point[i].pc = walk->point[from].pc;
	frame->flags = found->flags;
	if (!ARCH_RETURN_IS_PUSHED)
		frame->return_at = found->return_at;
	*place_of_sp(walk, walk->point[i].sp) = (uint16_t)i;
	if (__builtin_expect(i && is_plain(found->flags, caller_flags) &&
				     stays(walk, return_at(walk, i - 1)),
			     1)) {
		frame->nr_fps = frame[-1].nr_fps;
		return;
	}
	frame->fp = found->fp;
	frame->rule = found->rule;
	if (i)
		set_way_out(walk, i);
	else
		set_no_way_out(walk);
}

/* Puts the new frames behind those that were met and gives all of them nodes. */
static inline uint32_t settle(struct walk *walk, struct way way)
{
	uint32_t nr = way.old + WALK_FRAMES - way.first, node, flags = 0;
	uint64_t hash;

	if (way.old) {
		node = walk->frame[way.old - 1].node;
		hash = walk->frame[way.old - 1].hash;
		flags = walk->frame[way.old - 1].flags;
	} else {
		node = root_node(walk, &hash, way.end);
	}
	walk->nr_checkable = WALK_FRAMES;
	for (uint32_t i = way.old, from = way.first; i < nr; i++, from++) {
		place(walk, i, from, flags);
		flags = walk->frame[i].flags;
		node = node_of(walk, &hash, node, walk->point[i].pc, flags);
		if (!node)
			return WIRE_STACK_OTHER;
		walk->frame[i].node = node;
		walk->frame[i].hash = hash;
	}
	atomic_signal_fence(memory_order_release);
	walk->nr = nr;
	return node;
}

/*
 * More frames than room: half of the array keeps the innermost ones, the other half is used in
 * turns and has the outermost ones in the end.
 */
static uint32_t place_of(uint32_t n)
{
	return n < HALF ? WALK_FRAMES - 1 - n : n % HALF;
}

static __attribute__((noinline)) uint32_t walk_deep(struct walk *walk, struct unwind_frame *at)
{
	enum unwind_end end = UNWIND_MORE;
	uint32_t nr = 0, node;
	uint64_t hash;

	while (!end && nr < MOST_FRAMES) {
		end = step_rare(walk, place_of(nr++), at);
	}

	node = root_node(walk, &hash, end ? end : UNWIND_END_TOO_DEEP);
	for (uint32_t n = nr; n-- > 0;) {
		if (n == HALF - 1 && nr > WALK_FRAMES)
			node = mark(walk, &hash, node, nr - WALK_FRAMES, WIRE_MODULE_ELIDED);
		if (n < HALF || nr - n <= HALF)
			node = node_of(walk, &hash, node, walk->point[place_of(n)].pc,
				       walk->frame[place_of(n)].flags);
	}
	return node;
}

uint32_t walk_stack(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
	/* Where a hook's frame ends is not known to it, but where calls push the return address. */
	struct unwind_frame start = {
		.pc = pc, .sp = sp, .fp = fp, .sp_lost = !ARCH_RETURN_IS_PUSHED
	};

	forget_if_changed(walk);
	stack_enter(&walk->stack, sp);

	struct way way = go(walk, start);

	return way.first > way.old ? settle(walk, way) : walk_deep(walk, &start);
}

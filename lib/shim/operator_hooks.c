/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators new and delete, which the shim stands in front of where they are an allocator's own,
 * and nothing else.  Otherwise, too, calls come by here that were linked before that could be known:
 * they jump on, and leave no trace.
 */
#include <stdlib.h>

#include "shim/count.h"
#include "shim/emit.h"
#include "shim/guard.h"
#include "shim/heap_hook.h"
#include "shim/hook.h"
#include "shim/operators.h"
#include "shim/pool.h"
#include "shim/real.h"

#define NEW(symbol, function, plain_)                                                             \
	static struct operator_hook symbol##_is;                                                  \
                                                                                                  \
	static GUARD_HOOK void *symbol##_counted(size_t size, uintptr_t a, uintptr_t b)           \
	{                                                                                         \
		int level = guard_enter(FRAME, GUARD_REAL);                                       \
                                                                                                  \
		return allocated(level, FRAME, function,                                          \
				 ((operator_new *)symbol##_is.next)(size, a, b), size);           \
	}                                                                                         \
                                                                                                  \
	static void *symbol##_first(size_t size, uintptr_t a, uintptr_t b)                        \
	{                                                                                         \
		return ((operator_new *)find(&symbol##_is, (operator_function *)symbol##_first))( \
			size, a, b);                                                              \
	}                                                                                         \
                                                                                                  \
	static OPERATOR struct operator_hook symbol##_is = {                                      \
		#symbol, (operator_function *)symbol##_first,                                     \
		(operator_function *)symbol##_counted, (operator_function *)(plain_), NULL        \
	};                                                                                        \
                                                                                                  \
	EXPORT void *symbol(size_t size, uintptr_t a, uintptr_t b);                               \
	EXPORT void *symbol(size_t size, uintptr_t a, uintptr_t b)                                \
	{                                                                                         \
		return ((operator_new *)symbol##_is.call)(size, a, b);                            \
	}

#define DELETE(symbol)                                                                         \
	static struct operator_hook symbol##_is;                                               \
                                                                                               \
	static GUARD_HOOK void symbol##_counted(void *block, uintptr_t a, uintptr_t b)         \
	{                                                                                      \
		int level = delete_enter(FRAME, block);                                        \
                                                                                               \
		if (!pool_owns(block))                                                         \
			((operator_delete *)symbol##_is.next)(block, a, b);                    \
		if (level != GUARD_OUT)                                                        \
			guard_leave(level);                                                    \
	}                                                                                      \
                                                                                               \
	static void symbol##_first(void *block, uintptr_t a, uintptr_t b)                      \
	{                                                                                      \
		((operator_delete *)find(&symbol##_is, (operator_function *)symbol##_first))(  \
			block, a, b);                                                          \
	}                                                                                      \
                                                                                               \
	static OPERATOR struct operator_hook symbol##_is = {                                   \
		#symbol, (operator_function *)symbol##_first,                                  \
		(operator_function *)symbol##_counted, (operator_function *)plain_delete, NULL \
	};                                                                                     \
                                                                                               \
	EXPORT void symbol(void *block, uintptr_t a, uintptr_t b);                             \
	EXPORT void symbol(void *block, uintptr_t a, uintptr_t b)                              \
	{                                                                                      \
		((operator_delete *)symbol##_is.call)(block, a, b);                            \
	}

/* --- of malloc --------------------------------------------------------------------------------*/

static void *plain_new(size_t size, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	return malloc(size);
}

static void *plain_aligned_new(size_t size, uintptr_t align, uintptr_t b)
{
	(void)b;
	return aligned_alloc(align, size);
}

static void plain_delete(void *block, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	free(block);
}

/* One kind of delete may call another, which is why the guard stays until it is done. */
static inline int delete_enter(const uintptr_t *frame, void *block)
{
	int level;

	if (!block || pool_owns(block))
		return GUARD_OUT;
	level = guard_enter(frame, GUARD_OURS);
	if (level < 0)
		count_free(level, WIRE_FN_DELETE, block);
	else
		emit_free(level, WIRE_FN_DELETE, block);
	level = guard_level(level);
	if (level != GUARD_OUT)
		guard_phase(level, frame, GUARD_REAL);
	return level;
}

/* What to call instead of first.  That is plain while they are still being looked for. */
static operator_function *find(const struct operator_hook *op, operator_function *first)
{
	real_find();
	return op->call == first ? op->plain : op->call;
}

/* --- new --------------------------------------------------------------------------------------*/

NEW(_Znwm, WIRE_FN_NEW, plain_new)
NEW(_Znam, WIRE_FN_NEW_ARRAY, plain_new)
NEW(_ZnwmRKSt9nothrow_t, WIRE_FN_NEW, plain_new)
NEW(_ZnamRKSt9nothrow_t, WIRE_FN_NEW_ARRAY, plain_new)
NEW(_ZnwmSt11align_val_t, WIRE_FN_NEW, plain_aligned_new)
NEW(_ZnamSt11align_val_t, WIRE_FN_NEW_ARRAY, plain_aligned_new)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, WIRE_FN_NEW, plain_aligned_new)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, WIRE_FN_NEW_ARRAY, plain_aligned_new)

/* --- delete -----------------------------------------------------------------------------------*/

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* SPDX-License-Identifier: MIT */
/*
 * vec - growable arrays of any type.
 *
 *	struct pids { pid_t *at; size_t nr, room; };   // or VEC(pid_t) pids = { 0 };
 *
 *	vec_push(&pids, 42);
 *	vec_each(&pids, pid)
 *		use(*pid);
 *	vec_free(&pids);
 *
 * A zeroed struct is an empty array.  Pointers into one are valid until the next push.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define VEC(type)                \
	struct {                 \
		type *at;        \
		size_t nr, room; \
	}

#define vec_reserve(vec, wanted)                                                               \
	do {                                                                                   \
		size_t vec_wanted_ = (wanted);                                                 \
		if ((vec)->room < vec_wanted_) {                                               \
			size_t vec_room_ = (vec)->room ? (vec)->room * 2 : 8;                  \
			if (vec_room_ < vec_wanted_)                                           \
				vec_room_ = vec_wanted_;                                       \
			(vec)->at = xreallocarray((vec)->at, vec_room_, sizeof((vec)->at[0])); \
			(vec)->room = vec_room_;                                               \
		}                                                                              \
	} while (0)

#define vec_push(vec, ...)                            \
	do {                                          \
		vec_reserve(vec, (vec)->nr + 1);      \
		(vec)->at[(vec)->nr++] = __VA_ARGS__; \
	} while (0)

/* A pointer to a new zeroed element at the end. */
#define vec_add(vec)                                                    \
	({                                                              \
		vec_reserve(vec, (vec)->nr + 1);                        \
		memset(&(vec)->at[(vec)->nr], 0, sizeof((vec)->at[0])); \
		&(vec)->at[(vec)->nr++];                                \
	})

/* Takes so many elements out, from this one on. */
#define vec_remove(vec, from, number)                                               \
	do {                                                                        \
		size_t vec_from_ = (from), vec_number_ = (number);                  \
		if (!vec_number_)                                                   \
			break;                                                      \
		(vec)->nr -= vec_number_;                                           \
		memmove(&(vec)->at[vec_from_], &(vec)->at[vec_from_ + vec_number_], \
			((vec)->nr - vec_from_) * sizeof((vec)->at[0]));            \
	} while (0)

#define vec_last(vec) (&(vec)->at[(vec)->nr - 1])

#define vec_each(vec, item)                                                                    \
	for (__typeof__((vec)->at[0]) *item = (vec)->at; item && item < (vec)->at + (vec)->nr; \
	     item++)

#define vec_free(vec)                        \
	do {                                 \
		free((vec)->at);             \
		(vec)->at = NULL;            \
		(vec)->nr = (vec)->room = 0; \
	} while (0)

#endif

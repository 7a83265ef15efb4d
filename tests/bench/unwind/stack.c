/* SPDX-License-Identifier: MIT */
#include "stack.h"

struct descent {
	const struct path *path;
	path_end *end;
	void *arg;
};

typedef void down(const struct descent *descent, int left);

static down *const functions[16];

static inline void go_on(const struct descent *descent, int left)
{
	if (left)
		functions[descent->path->turn[left - 1]](descent, left - 1);
	else
		descent->end(descent->arg);
}

#define DOWN(n)                                                                \
	NOINLINE static void down_##n(const struct descent *descent, int left) \
	{                                                                      \
		char room[16 + 16 * n];                                        \
                                                                               \
		__asm__ volatile("" ::"r"(room) : "memory");                   \
		go_on(descent, left);                                          \
		__asm__ volatile("" ::"r"(room) : "memory");                   \
	}

DOWN(0)
DOWN(1)
DOWN(2)
DOWN(3)
DOWN(4)
DOWN(5)
DOWN(6)
DOWN(7)
DOWN(8)
DOWN(9)
DOWN(10)
DOWN(11)
DOWN(12)
DOWN(13)
DOWN(14)
DOWN(15)

static down *const functions[16] = { down_0,  down_1,  down_2,	down_3, down_4,	 down_5,
				     down_6,  down_7,  down_8,	down_9, down_10, down_11,
				     down_12, down_13, down_14, down_15 };

struct path path_make(uint32_t seed)
{
	struct path path;

	for (int i = 0; i < PATH_MAX_CALLS; i++) {
		seed = seed * 1664525 + 1013904223;
		path.turn[i] = (uint8_t)(seed >> 28);
	}
	return path;
}

NOINLINE void path_descend(const struct path *path, int nr, path_end *end, void *arg)
{
	struct descent descent = { path, end, arg };

	if (nr)
		functions[path->turn[nr - 1]](&descent, nr - 1);
	else
		end(arg);
	__asm__ volatile("" ::: "memory");
}

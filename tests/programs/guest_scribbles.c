/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_scribbles SEED ROUNDS - writes at random all over the memory that it shares with a
 * profiler, and allocates all the while.
 *
 * Prints how many mappings it found.  It may well die of it.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static struct range {
	uint64_t *start;
	size_t words;
} range[MOST];
static size_t ranges;
static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void find(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	uintptr_t start, end;

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:") && strstr(line, "rw-s") && ranges < MOST &&
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2)
			range[ranges++] = (struct range){ (void *)start, (end - start) / 8 };
	fclose(maps);
}

/* Mostly where something is: at the front. */
static void scribble(void)
{
	struct range *r = &range[any() % ranges];
	size_t words = any() % 2 ? r->words : r->words < 2048 ? r->words : 2048;
	uint64_t *word = &r->start[any() % words];

	switch (any() % 4) {
	case 0:
		*word = any();
		break;
	case 1:
		*word = UINT64_MAX;
		break;
	case 2:
		*word += any() % 64;
		break;
	default:
		*word ^= UINT64_C(1) << any() % 64;
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[2]) : 0;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1;
	find();
	printf("%zu\n", ranges);
	fflush(stdout);
	for (long i = 0; ranges && i < rounds; i++) {
		scribble();
		free(malloc(any() % 1000));
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * words - the words of a thread's stack: those that were copied, and those beyond.
 *
 *	struct words words = { .bytes = copy, .size = nr_bytes, .sp = sp };
 *
 *	end = unwind_step(&frame, rule, words_read, &words);
 *	if (end == UNWIND_END_BAD_READ && memory) {
 *		words_open(&words, memory);	// from here on, also what the copy does not have
 *		...
 *		if (!words_held(&words))
 *			forget();		// that was another stack already
 *	}
 *
 * Beyond the copy they are read from the program, which goes on running meanwhile.  What was read
 * is the stack of the sample only if the frame at the copy's end is still the same, so the last
 * words that the walk took from the copy have to be in their places afterwards.
 */
#ifndef RECORD_STACKS_WORDS_H
#define RECORD_STACKS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads the program's memory: how many bytes could be, from the first on. */
struct stack_memory {
	size_t (*read)(void *context, uint64_t address, void *bytes, size_t size);
	void *context;
};

enum {
	WORDS_TAKEN = 2,
	WORDS_WINDOW_BYTES = 64 * 1024,
};

struct words {
	const uint8_t *bytes; /* the copy */
	uint64_t size, sp;
	uint64_t taken[WORDS_TAKEN]; /* addresses of the last words taken from it */
	size_t nr_taken;
	uint64_t beyond; /* the last address that was asked for and is not in the copy */

	const struct stack_memory *memory; /* NULL: only the copy */
	struct words_window {
		uint8_t bytes[WORDS_WINDOW_BYTES];
		uint64_t start;
		size_t size;
	} * window; /* the caller's, of any content; needed when opened */
	size_t nr_windows;
};

/* Out of the copy: a word of the program's memory. */
bool words_read_beyond(struct words *words, uint64_t address, uint64_t *word);

/* The unwind_read of a walk.  (No pointer to the caller's word gets out, so it stays a register.)
 */
static inline bool words_read(void *arg, uint64_t address, uint64_t *word)
{
	struct words *words = arg;
	uint64_t offset = address - words->sp;

	if (__builtin_expect(offset > words->size || words->size - offset < sizeof(*word), 0)) {
		uint64_t beyond;

		if (!words_read_beyond(words, address, &beyond))
			return false;
		*word = beyond;
		return true;
	}
	memcpy(word, words->bytes + offset, sizeof(*word));
	words->taken[words->nr_taken++ % WORDS_TAKEN] = address;
	return true;
}

void words_open(struct words *words, const struct stack_memory *memory);

/* Whether the copy's words are still where they were. */
bool words_held(const struct words *words);

#endif

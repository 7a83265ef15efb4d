/* SPDX-License-Identifier: MIT */
/*
 * words - the words of a thread's stack: those that were copied, and those beyond.
 *
 *	struct words words = { .bytes = copy, .size = nr_bytes, .sp = sp };
 *
 *	end = unwind_step(&frame, rule, words_read, &words);
 *	if (end == UNWIND_END_BAD_READ && words_extend(&words, rest))
 *		...				// from here on, with what followed the copy
 *	if (end == UNWIND_END_BAD_READ && memory) {
 *		words_open(&words, memory);	// from here on, with all that there is now
 *		...
 *		if (!words_held(&words))
 *			forget();		// that was another stack already
 *	}
 *
 * Beyond the copy they are read from the program, which goes on running meanwhile: some soon after
 * the sample was taken, the others when it is walked.  What was read is the stack of the sample
 * only if the frame where the former words end is still the same, so the last of these that the
 * walk took have to be in their places afterwards.
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

/* What followed a copy in the program's memory soon after: bytes of the copy's end first, which were
 * read after those behind it. */
struct stack_rest {
	uint64_t start;
	size_t size;
	uint8_t bytes[];
};

enum {
	WORDS_TAKEN = 2,
	WORDS_WINDOW_BYTES = 64 * 1024,
};

struct words {
	const uint8_t *bytes; /* the copy */
	uint64_t size, sp;
	uint64_t taken[WORDS_TAKEN]; /* addresses of the last words taken from it, or the rest */
	size_t nr_taken;
	uint64_t beyond; /* the last address that was asked for and is not there */

	bool goes_beyond;	       /* there are more than the copy's, of one or both of: */
	const struct stack_rest *rest; /* NULL: not so far */

	const struct stack_memory *memory; /* likewise */
	struct words_window {
		uint8_t bytes[WORDS_WINDOW_BYTES];
		uint64_t start;
		size_t size;
	} * window; /* the caller's, of any content; needed when opened */
	size_t nr_windows;
};

/* The word at address, if it is in the memory that was read last. */
static inline bool words_in_window(const struct words *words, uint64_t address, uint64_t *word)
{
	const struct words_window *window = words->window;
	uint64_t offset;

	if (!words->memory)
		return false;
	offset = address - window->start;
	if (offset > window->size || window->size - offset < sizeof(*word) ||
	    address % sizeof(*word))
		return false;
	memcpy(word, window->bytes + offset, sizeof(*word));
	return true;
}

/* Out of the copy: a word of the rest, or of the program's memory. */
bool words_read_beyond(struct words *words, uint64_t address, uint64_t *word);

/* The unwind_read of a walk.  (No pointer to the caller's word gets out, so it stays a register.)
 */
static inline bool words_read(void *arg, uint64_t address, uint64_t *word)
{
	struct words *words = arg;
	uint64_t offset = address - words->sp;

	if (__builtin_expect(offset > words->size || words->size - offset < sizeof(*word), 0)) {
		uint64_t beyond;

		if (!words_in_window(words, address, &beyond) &&
		    !words_read_beyond(words, address, &beyond))
			return false;
		*word = beyond;
		return true;
	}
	memcpy(word, words->bytes + offset, sizeof(*word));
	words->taken[words->nr_taken++ % WORDS_TAKEN] = address;
	return true;
}

/* False: it is that of another stack already. */
bool words_extend(struct words *words, const struct stack_rest *rest);
void words_open(struct words *words, const struct stack_memory *memory);
/* Back to the copy's words. */
void words_close(struct words *words);

/* Whether the last words in front of the program's memory are still where they were. */
bool words_held(const struct words *words);

#endif

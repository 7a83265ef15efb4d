/* SPDX-License-Identifier: MIT */
#include "record/stacks/words.h"

enum {
	PAGE = 4096,
	TAIL_WORDS = 64, /* compared where the walk took no word from the copy */
};

void words_open(struct words *words, const struct stack_memory *memory)
{
	words->memory = memory;
	words->window->size = 0;
}

static size_t read_memory(const struct words *words, uint64_t address, void *bytes, size_t size)
{
	return words->memory->read(words->memory->context, address, bytes, size);
}

/* A stack is read upwards; the last window may not reach beyond its end. */
static void read_window(struct words *words, uint64_t address)
{
	struct words_window *window = words->window;
	size_t size = sizeof(window->bytes);

	window->start = address;
	window->size = read_memory(words, address, window->bytes, size);
	if (!window->size)
		window->size = read_memory(words, address, window->bytes, PAGE - address % PAGE);
	words->nr_windows++;
}

static bool is_in(const struct words_window *window, uint64_t address)
{
	uint64_t offset = address - window->start;

	return offset <= window->size && window->size - offset >= sizeof(uint64_t);
}

bool words_read_beyond(struct words *words, uint64_t address, uint64_t *word)
{
	struct words_window *window = words->window;

	words->beyond = address;
	if (!words->memory || address % sizeof(*word))
		return false;
	if (!is_in(window, address))
		read_window(words, address);
	if (!is_in(window, address))
		return false;
	memcpy(word, window->bytes + (address - window->start), sizeof(*word));
	return true;
}

static uint64_t copied_word(const struct words *words, uint64_t address)
{
	uint64_t word;

	memcpy(&word, words->bytes + (address - words->sp), sizeof(word));
	return word;
}

static bool is_unchanged(const struct words *words, uint64_t address)
{
	uint64_t word;

	return read_memory(words, address, &word, sizeof(word)) == sizeof(word) &&
	       word == copied_word(words, address);
}

/* Locals may change while their frame stays, but not most of them. */
static bool tail_held(const struct words *words)
{
	uint64_t tail[TAIL_WORDS];
	size_t nr = words->size / sizeof(tail[0]), same = 0;

	if (nr > TAIL_WORDS)
		nr = TAIL_WORDS;
	uint64_t start =
		words->sp + words->size / sizeof(tail[0]) * sizeof(tail[0]) - nr * sizeof(tail[0]);
	if (!nr || read_memory(words, start, tail, nr * sizeof(tail[0])) != nr * sizeof(tail[0]))
		return false;
	for (size_t i = 0; i < nr; i++)
		same += tail[i] == copied_word(words, start + i * sizeof(tail[0]));
	return same * 4 >= nr * 3;
}

bool words_held(const struct words *words)
{
	size_t nr = words->nr_taken < WORDS_TAKEN ? words->nr_taken : WORDS_TAKEN;
	bool held = tail_held(words);

	for (size_t i = 0; i < nr && held; i++)
		held = is_unchanged(words, words->taken[i]);
	return held;
}

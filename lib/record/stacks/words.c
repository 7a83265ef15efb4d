/* SPDX-License-Identifier: MIT */
#include "record/stacks/words.h"

enum {
	PAGE = 4096,
	TAIL_WORDS = 64, /* compared where the walk took no word from the copy */
};

void words_open(struct words *words, const struct stack_memory *memory)
{
	words->memory = memory;
	words->goes_beyond = true;
	words->window->size = 0;
}

static size_t read_memory(const struct words *words, uint64_t address, void *bytes, size_t size)
{
	return words->memory->read(words->memory->context, address, bytes, size);
}

/* A stack is read upwards, but a frame's words downwards from its CFA.  The last window may not reach
 * beyond the stack's end. */
static void read_window(struct words *words, uint64_t address)
{
	struct words_window *window = words->window;
	uint64_t page = address - address % PAGE;

	window->start = page;
	window->size = read_memory(words, page, window->bytes, sizeof(window->bytes));
	if (!window->size)
		window->size = read_memory(words, page, window->bytes, PAGE);
	words->nr_windows++;
}

/* At most size of the bytes at address, as the rest has them. */
static size_t read_rest(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct stack_rest *rest = context;
	uint64_t offset = address - rest->start;

	if (offset >= rest->size)
		return 0;
	if (size > rest->size - offset)
		size = rest->size - offset;
	memcpy(bytes, rest->bytes + offset, size);
	return size;
}

static bool is_in_copy(const struct words *words, uint64_t address)
{
	uint64_t offset = address - words->sp;

	return offset <= words->size && words->size - offset >= sizeof(uint64_t);
}

/* In the copy or the rest. */
static bool had_word(const struct words *words, uint64_t address, uint64_t *word)
{
	if (is_in_copy(words, address)) {
		memcpy(word, words->bytes + (address - words->sp), sizeof(*word));
		return true;
	}
	return words->rest &&
	       read_rest((void *)words->rest, address, word, sizeof(*word)) == sizeof(*word);
}

bool words_read_beyond(struct words *words, uint64_t address, uint64_t *word)
{
	if (words->rest && had_word(words, address, word)) {
		words->taken[words->nr_taken++ % WORDS_TAKEN] = address;
		return true;
	}
	words->beyond = address;
	if (!words->memory || address % sizeof(*word))
		return false;
	read_window(words, address);
	return words_in_window(words, address, word);
}

static bool is_unchanged(const struct words *words, uint64_t address)
{
	uint64_t word, had;

	return had_word(words, address, &had) &&
	       read_memory(words, address, &word, sizeof(word)) == sizeof(word) && word == had;
}

/* How many bytes there are from sp on. */
static size_t size_had(const struct words *words)
{
	const struct stack_rest *rest = words->rest;
	size_t size = rest ? rest->start + rest->size - words->sp : words->size;

	return size - size % sizeof(uint64_t);
}

/* Locals may change while their frame stays, but not most of them. */
static bool tail_held(const struct words *words)
{
	uint64_t tail[TAIL_WORDS], had;
	size_t size = size_had(words), nr = size / sizeof(tail[0]), same = 0;

	if (nr > TAIL_WORDS)
		nr = TAIL_WORDS;
	uint64_t start = words->sp + size - nr * sizeof(tail[0]);
	if (!nr || read_memory(words, start, tail, nr * sizeof(tail[0])) != nr * sizeof(tail[0]))
		return false;
	for (size_t i = 0; i < nr; i++)
		same += had_word(words, start + i * sizeof(tail[0]), &had) && tail[i] == had;
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

bool words_extend(struct words *words, const struct stack_rest *rest)
{
	const struct stack_memory memory = { read_rest, (void *)rest };
	bool held;

	words->memory = &memory;
	held = words_held(words);
	words->memory = NULL;
	if (held) {
		words->rest = rest;
		words->goes_beyond = true;
	}
	return held;
}

void words_close(struct words *words)
{
	words->goes_beyond = false;
	words->memory = NULL;
	words->rest = NULL;
}

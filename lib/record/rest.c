/* SPDX-License-Identifier: MIT */
#include "record/rest.h"

#include <stdlib.h>
#include <string.h>

#include "arch/perf_regs.h"
#include "base/alloc.h"
#include "record/peek.h"

enum {
	BEFORE_BYTES =
		16 * 1024, /* of the copy's end: has the last words that a walk took from it */
	BEHIND_BYTES = 32 * 1024,
};

/* What is behind the copy's end first, so that the words in front tell whose it is.  How many bytes;
 * 0: none behind. */
static size_t read_around(struct rest_reader *reader, pid_t pid, uint64_t end, size_t before)
{
	size_t behind;

	if (!reader->room)
		reader->room = xcalloc(1, BEFORE_BYTES + BEHIND_BYTES);
	behind = peek(pid, end, reader->room + before, BEHIND_BYTES);
	if (!behind || peek(pid, end - before, reader->room, before) != before)
		return 0;
	return before + behind;
}

struct stack_rest *rest_read(struct rest_reader *reader, const struct decoded *decoded)
{
	const struct decoded_sample *sample = &decoded->sample;
	size_t before = sample->stack_bytes < BEFORE_BYTES ? sample->stack_bytes : BEFORE_BYTES;
	struct stack_rest *rest;
	uint64_t end;
	size_t size;

	if (!sample->registers || sample->is_32_bit || !sample->stack_cut)
		return NULL;
	end = sample->registers[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_SP)] + sample->stack_bytes;
	size = read_around(reader, decoded->pid, end, before);
	if (!size)
		return NULL;
	rest = xmalloc(sizeof(*rest) + size);
	rest->start = end - before;
	rest->size = size;
	memcpy(rest->bytes, reader->room, size);
	return rest;
}

void rest_reader_release(struct rest_reader *reader)
{
	free(reader->room);
	reader->room = NULL;
}

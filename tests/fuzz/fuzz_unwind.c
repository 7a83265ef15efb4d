// SPDX-License-Identifier: MIT
// FUZZ: lib/unwind/*.c lib/record/stacks/debug_frame.c lib/object/elf_section.c lib/base/alloc.c
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/stacks/debug_frame.h"
#include "unwind/cfi.h"
#include "unwind/step.h"

/*
 * Call frame information and stacks of any content: nothing outside them is read (each is a block
 * of its own, for AddressSanitizer to see), every row holds the address it was asked for, every
 * walk ends.
 *
 * An input is two bytes, the size of .eh_frame_hdr and that of the stack in units of 8 bytes, then
 * .eh_frame_hdr, the stack, and .eh_frame.
 */

enum {
	HDR_ADDRESS = 0x1000,
	FRAME_ADDRESS = 0x100000,
	STACK_ADDRESS = 0x7000000,
	STEPS_MAX = 1000,
	FUNCTIONS_MAX = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct unwind_image image;
	uint8_t *hdr, *stack, *frame;
	size_t stack_size;
};

static uint8_t *take(const uint8_t **data, size_t *left, size_t *size)
{
	uint8_t *block;

	if (*size > *left)
		*size = *left;
	block = malloc(*size);
	if (*size)
		memcpy(block, *data, *size);
	*data += *size;
	*left -= *size;
	return block;
}

static void split(struct input *input, const uint8_t *data, size_t left)
{
	size_t hdr_size = data[0] * 8U, frame_size;

	input->stack_size = data[1] * 8U;
	data += 2;
	left -= 2;
	input->hdr = take(&data, &left, &hdr_size);
	input->stack = take(&data, &left, &input->stack_size);
	frame_size = left;
	input->frame = take(&data, &left, &frame_size);
	input->image = (struct unwind_image){
		.hdr = { input->hdr, hdr_size, HDR_ADDRESS },
		.frame = { input->frame, frame_size, FRAME_ADDRESS },
	};
}

static bool read_word(void *arg, uint64_t address, uint64_t *word)
{
	const struct input *input = arg;
	uint64_t offset = address - STACK_ADDRESS;

	if (offset > input->stack_size || input->stack_size - offset < sizeof(*word))
		return false;
	memcpy(word, input->stack + offset, sizeof(*word));
	return true;
}

static unwind_rule find(const struct input *input, uint64_t pc)
{
	struct unwind_row row;

	unwind_cfi_find(&input->image, pc, &row);
	if (row.start > pc || (row.end <= pc && pc != UINT64_MAX))
		abort();
	for (unsigned int reg = 0; reg < ARCH_NR_GENERAL; reg += 3)
		unwind_cfi_register(&input->image, pc, reg);
	return row.rule;
}

static void walk(struct input *input, uint64_t pc)
{
	struct unwind_frame frame = {
		.pc = pc, .sp = STACK_ADDRESS, .fp = STACK_ADDRESS + 16, .exact = true
	};
	int steps = 0;

	while (steps++ < STEPS_MAX) {
		uint64_t sp = frame.sp;
		unwind_rule rule = find(input, unwind_lookup_pc(&frame));

		if (unwind_step(&frame, unwind_rule_or_chain(rule), read_word, input))
			return;
		if (frame.sp <= sp && unwind_rule_kind(rule) != UNWIND_RULE_SIGNAL)
			abort();
	}
}

static void walk_from_functions(struct input *input)
{
	struct unwind_function function;
	uint64_t offset = 0;

	for (int i = 0; i < FUNCTIONS_MAX && unwind_cfi_next(&input->image, &offset, &function);
	     i++) {
		walk(input, function.start);
		walk(input, function.start + (function.end - function.start) / 2);
		find(input, function.end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;

	if (size < 2)
		return 0;
	split(&input, data, size);
	walk(&input, 0x400000);
	walk_from_functions(&input);
	debug_frame_convert(input.frame, input.image.frame.size);
	walk_from_functions(&input);
	free(input.hdr);
	free(input.stack);
	free(input.frame);
	return 0;
}

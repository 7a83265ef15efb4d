/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "cfi_made.h"
#include "record/stacks/module_cfi.h"
#include "toy_rule.h"

struct two {
	struct builder hdr, frame;
	size_t second; /* FDE in frame */
	struct unwind_image image;
};

/* Two functions and the table a linker makes: datarel | sdata4. */
static void build_two(struct two *two)
{
	uint32_t fde[2];

	*two = (struct two){ 0 };
	put_cie(&two->frame, "", NULL, 0);
	for (uint32_t i = 0; i < 2; i++) {
		fde[i] = (uint32_t)two->frame.nr;
		put_fde(&two->frame, false, CODE + 0x100 * i, 0x80, CFI(0));
	}

	two->second = fde[1];
	put(&two->hdr, "\x01\x1b\x03\x3b", 4);
	put_u32(&two->hdr, FRAME - (HDR + 4));
	put_u32(&two->hdr, 2);
	for (uint32_t i = 0; i < 2; i++) {
		put_u32(&two->hdr, CODE + 0x100 * i - HDR);
		put_u32(&two->hdr, FRAME + fde[i] - HDR);
	}
	two->image = (struct unwind_image){
		.hdr = { two->hdr.bytes, two->hdr.nr, HDR },
		.frame = { two->frame.bytes, two->frame.nr, FRAME },
	};
}

Test(unwind_hdr, is_searched_for_the_function)
{
	struct two two;
	struct unwind_row row;

	build_two(&two);
	cr_expect(eq(u64, unwind_hdr_frame_address(&two.image.hdr), FRAME));
	unwind_cfi_find(&two.image, CODE + 0x17f, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_SP, 1, 0)));
	cr_assert(unwind_cfi_function(&two.image, CODE + 0x17f, &row));
	cr_expect(eq(u64, row.start, CODE + 0x100));
	cr_expect(eq(u64, row.end, CODE + 0x180));
}

Test(unwind_hdr, does_not_stretch_a_function_to_the_next)
{
	struct two two;
	struct unwind_row row;

	build_two(&two);
	unwind_cfi_find(&two.image, CODE + 0x90, &row);
	cr_expect(eq(u32, row.rule, 0));
	cr_expect(eq(u64, row.start, CODE + 0x80));
	cr_expect(eq(u64, row.end, CODE + 0x100));
	cr_expect(not(unwind_cfi_function(&two.image, CODE + 0x180, &row)));
}

Test(unwind_hdr, may_be_absent)
{
	struct two two;
	struct unwind_row row;

	build_two(&two);
	cr_expect(unwind_hdr_is_searchable(&two.image));
	two.image.hdr.size = 0;
	cr_expect(not(unwind_hdr_is_searchable(&two.image)));
	unwind_cfi_find(&two.image, CODE + 0x100, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_SP, 1, 0)));
}

Test(unwind_hdr, that_points_nowhere_is_damage_not_a_crash)
{
	struct two two;
	struct unwind_row row;

	build_two(&two);
	memset(two.hdr.bytes + two.hdr.nr - 4, 0x7f, 4);
	unwind_cfi_find(&two.image, CODE + 0x100, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_DAMAGED, 0, 0)));
	unwind_cfi_find(&two.image, CODE, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_SP, 1, 0)));
}

Test(unwind_hdr, has_no_row_around_the_last_address)
{
	struct unwind_row row = { 0 };

	unwind_cfi_find(&(struct unwind_image){ 0 }, UINT64_MAX, &row);
	cr_expect(eq(u64, row.start, UINT64_MAX));
	cr_expect(eq(u64, row.end, UINT64_MAX));
	cr_expect(eq(int, (int)unwind_rule_kind(row.rule), UNWIND_RULE_NONE));
}

Test(unwind_hdr, lists_functions_for_an_index)
{
	struct two two;
	struct unwind_function function;
	uint64_t offset = 0;

	build_two(&two);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert(unwind_cfi_next(&two.image, &offset, &function));
		cr_expect(eq(u64, function.start, CODE + 0x100 * i));
		cr_expect(eq(u64, function.end, CODE + 0x100 * i + 0x80));
	}
	cr_expect(not(unwind_cfi_next(&two.image, &offset, &function)));
}

static void keep_most(void *context, const struct unwind_block *block, uint64_t offset,
		      uint64_t size)
{
	uint64_t *most = context;

	(void)block;
	(void)offset;
	if (size > *most)
		*most = size;
}

Test(unwind_hdr, asks_for_no_more_of_a_file_than_a_function_may_have)
{
	const size_t size = 64 << 20;
	struct unwind_row row;
	struct two two;
	uint32_t length = 48 << 20;
	uint64_t most = 0;
	uint8_t *frame;

	build_two(&two);
	frame = calloc(1, size);
	memcpy(frame, two.frame.bytes, two.frame.nr);
	two.image.frame = (struct unwind_block){ frame, size, FRAME };
	two.image.need = keep_most;
	two.image.context = &most;

	unwind_cfi_find(&two.image, CODE + 0x100, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_SP, 1, 0)));
	memcpy(frame + two.second, &length, sizeof(length));
	unwind_cfi_find(&two.image, CODE + 0x100, &row);
	cr_expect(eq(u32, row.rule, rule(UNWIND_RULE_DAMAGED, 0, 0)));
	cr_expect(gt(u64, most, 0));
	cr_expect(lt(u64, most, 2 << 20));
	free(frame);
}

/* --- hostile input: run these under ASan ------------------------------------------------ */

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void look_everywhere(const struct unwind_image *image, int nr)
{
	struct unwind_function function;
	struct unwind_row row;
	uint64_t offset = 0;

	for (int i = 0; i < nr; i++) {
		uint64_t pc = random_u64() % (2 * (CODE + 0x100));

		unwind_cfi_find(image, pc, &row);
		cr_assert(row.start <= pc && pc < row.end);
		cr_assert(lt(int, (int)unwind_rule_kind(row.rule), UNWIND_NR_RULE_KINDS));
		unwind_cfi_function(image, pc, &row);
	}
	while (unwind_cfi_next(image, &offset, &function))
		cr_assert(le(u64, offset, image->frame.size));
}

/* A copy of exactly this size, so that a sanitizer sees the first byte beyond. */
static void copy_block(struct unwind_block *block, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	memcpy(bytes, block->bytes, size);
	*block = (struct unwind_block){ bytes, size, block->address };
}

static void free_blocks(struct unwind_image *image)
{
	free((void *)image->hdr.bytes);
	free((void *)image->frame.bytes);
}

Test(unwind_hostile, every_truncation_is_survived)
{
	struct two two;

	build_two(&two);
	for (size_t hdr = 0; hdr <= two.hdr.nr; hdr++) {
		for (size_t frame = 0; frame <= two.frame.nr; frame++) {
			struct unwind_image image = two.image;

			copy_block(&image.hdr, hdr);
			copy_block(&image.frame, frame);
			look_everywhere(&image, 4);
			free_blocks(&image);
		}
	}
}

Test(unwind_hostile, every_flipped_bit_is_survived)
{
	struct two two;

	build_two(&two);
	for (size_t bit = 0; bit < 8 * (two.hdr.nr + two.frame.nr); bit++) {
		struct unwind_image image = two.image;
		size_t byte = bit / 8;

		copy_block(&image.hdr, two.hdr.nr);
		copy_block(&image.frame, two.frame.nr);
		if (byte < two.hdr.nr)
			((uint8_t *)image.hdr.bytes)[byte] ^= (uint8_t)(1 << bit % 8);
		else
			((uint8_t *)image.frame.bytes)[byte - two.hdr.nr] ^=
				(uint8_t)(1 << bit % 8);
		look_everywhere(&image, 20);
		free_blocks(&image);
	}
}

static void damage(const struct unwind_block *block, int nr)
{
	for (int i = 0; i < nr; i++)
		((uint8_t *)block->bytes)[random_u64() % block->size] = (uint8_t)random_u64();
}

Test(unwind_hostile, a_real_library_with_random_damage_is_survived)
{
	struct modules modules = { 0 };
	struct module *libc = module_get(
		&modules, &(struct module_request){ .path = "/lib/x86_64-linux-gnu/libc.so.6" });
	struct module_cfi cfi;
	struct unwind_row row;

	if (libc->fd < 0)
		cr_skip_test("no libc.so.6");
	module_cfi_load(&cfi, libc);
	for (int round = 0; round < 100; round++) {
		struct unwind_image image = cfi.image;

		copy_block(&image.hdr, image.hdr.size);
		copy_block(&image.frame, image.frame.size);
		damage(&image.frame, 2000);
		damage(&image.hdr, 200);
		for (int i = 0; i < 1000; i++) {
			uint64_t pc = random_u64() % 0x200000;

			unwind_cfi_find(&image, pc, &row);
			cr_assert(row.start <= pc && pc < row.end);
		}
		free_blocks(&image);
	}
	module_cfi_release(&cfi);
	modules_release(&modules);
}

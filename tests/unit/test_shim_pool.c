/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "shim/pool.h"

Test(shim_pool, blocks_are_zeroed_aligned_and_do_not_overlap)
{
	char *blocks[50];

	for (size_t i = 0; i < 50; i++) {
		blocks[i] = pool_alloc(i * 7, i % 2 ? 64 : 0);
		cr_assert(blocks[i] != NULL);
		cr_expect(zero(uptr, (uintptr_t)blocks[i] % (i % 2 ? 64 : 16)));
		for (size_t j = 0; j < i * 7; j++)
			cr_assert(eq(chr, blocks[i][j], 0));
		memset(blocks[i], 0xff, i * 7);
	}
	for (size_t i = 0; i < 50; i++)
		cr_expect(eq(sz, pool_size(blocks[i]), i * 7));
}

Test(shim_pool, knows_its_own_blocks_from_others)
{
	char other, *block = pool_alloc(10, 0);

	cr_expect(pool_owns(block));
	cr_expect(not(pool_owns(&other)));
	cr_expect(not(pool_owns(NULL)));
}

Test(shim_pool, a_request_too_large_leaves_room_for_smaller_ones)
{
	cr_expect(eq(ptr, pool_alloc(POOL_BYTES, 0), NULL));
	cr_expect(eq(ptr, pool_alloc(SIZE_MAX, 0), NULL));
	cr_expect(eq(ptr, pool_alloc(16, SIZE_MAX / 2 + 1), NULL));
	cr_expect(pool_owns(pool_alloc(100, 0)));
}

Test(shim_pool, ends_with_null_and_never_outside)
{
	char *block;
	size_t nr = 0;

	while ((block = pool_alloc(1000, 0))) {
		cr_assert(pool_owns(block) && pool_owns(block + 999));
		nr++;
	}
	cr_expect(gt(sz, nr, 55));
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_sizes - prints how large blocks really are, in which allocators differ, and then how many
 * it allocated and freed.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	int blocks = 0;

	for (size_t size = 1; size < 100000; size = size * 3 / 2 + 7, blocks++) {
		void *block = malloc(size);

		printf("%zu ", malloc_usable_size(block));
		free(block);
	}
	printf("\n%d\n", blocks);
	return 0;
}

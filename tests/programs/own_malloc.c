// SPDX-License-Identifier: MIT
// PFLAGS: -rdynamic
/* own_malloc: an executable with a malloc of its own, which a preloaded one cannot stand before. */
#include <stddef.h>
#include <stdlib.h>

static char memory[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	void *block = memory + used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(memory) ? block : NULL;
}

void free(void *block)
{
	(void)block;
}

int main(void)
{
	void *volatile block = malloc(1000);

	free(block);
	return block == NULL;
}

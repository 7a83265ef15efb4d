/* SPDX-License-Identifier: MIT */
// PFLAGS: -shared -fPIC -fno-builtin
/* heap_plugin_a - one of two libraries for heap_plugins, of the same size. */
#include <stdlib.h>

void *plugin_a(size_t size);

void *plugin_a(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

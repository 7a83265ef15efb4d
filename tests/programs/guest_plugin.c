/* SPDX-License-Identifier: MIT */
// PFLAGS: -shared -fPIC -fno-builtin
/* guest_plugin - a library for guest_scopes. */
#include <stdlib.h>

void *plugin_give(size_t size);
void plugin_take(void *block);

void *plugin_give(size_t size)
{
	return malloc(size);
}

void plugin_take(void *block)
{
	free(block);
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -ldl
/*
 * heap_plugins - loads and unloads two libraries in turn, which come to lie at the same addresses.
 *
 *	heap_plugins A.so B.so ROUNDS
 *
 * Each allocates one block a round, plugin_a of 101 bytes and plugin_b of 202, and neither is
 * freed. Prints at how many different addresses the functions were.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *call(const char *path, const char *name, size_t size)
{
	void *library = dlopen(path, RTLD_NOW);
	void *function = library ? dlsym(library, name) : NULL;

	if (!function || !((void *(*)(size_t))(uintptr_t)function)(size)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	dlclose(library);
	return function;
}

int main(int argc, char **argv)
{
	void *first = NULL;
	int moved = 0;

	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) {
		void *a = call(argv[1], "plugin_a", 101), *b = call(argv[2], "plugin_b", 202);

		first = first ? first : a;
		moved += a != first || b != first;
	}
	printf("%d\n", moved);
	return 0;
}

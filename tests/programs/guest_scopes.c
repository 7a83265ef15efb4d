/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin -ldl
/*
 * guest_scopes - hands blocks to a library whose malloc and free no preloaded one stands before,
 * and takes blocks from it.
 *
 *	guest_scopes deep LIBRARY N	loaded with RTLD_DEEPBIND: libc's own malloc
 *	guest_scopes apart LIBRARY N	loaded into a namespace of its own: with another libc, whose
 *					blocks stay among themselves
 *
 * Prints how many blocks it allocated, freed, got from and left to the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*give)(size_t size);
static void (*take)(void *block);

static int load(int is_deep, const char *path)
{
	void *library = is_deep ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
				: dlmopen(LM_ID_NEWLM, path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 0;
	}
	give = (void *(*)(size_t))(uintptr_t)dlsym(library, "plugin_give");
	take = (void (*)(void *))(uintptr_t)dlsym(library, "plugin_take");
	return give && take;
}

int main(int argc, char **argv)
{
	int is_deep = argc > 1 && !strcmp(argv[1], "deep");
	int rounds = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 4 || !load(is_deep, argv[2]))
		return 2;
	for (int i = 0; i < rounds; i++) {
		void *ours = malloc(64), *theirs = give(64);

		if (is_deep) {
			free(theirs);
			take(ours);
		} else {
			free(ours);
			take(theirs);
		}
	}
	printf("%d\n", rounds);
	return 0;
}

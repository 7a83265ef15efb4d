/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_early - allocates before any constructor has run: in the resolver of an indirect function,
 * while the loader still relocates, and from .preinit_array; then in a constructor and in main().
 *
 * Allocates a block of 100, 200, 400 and 800 bytes there, frees them in main() and prints how many
 * they were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *block[4];
static int places;

static void allocate(size_t size)
{
	block[places] = calloc(1, size);
	memset(block[places++], 1, size);
}

static int answer(void)
{
	return 42;
}

static int (*resolve(void))(void)
{
	allocate(100);
	return answer;
}

int indirect(void) __attribute__((ifunc("resolve")));

static void before_constructors(void)
{
	allocate(200);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_constructors;

__attribute__((constructor)) static void construct(void)
{
	allocate(400);
}

int main(void)
{
	allocate(800);
	for (int i = 0; i < places; i++)
		free(block[i]);
	printf("%d\n", places);
	return indirect() == 42 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
#include "base/stretch.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define PAGE ((size_t)64 << 10) /* of any kernel's size */
#define HUGE_PAGE ((size_t)2 << 20)
/* Address space is plenty, but where a limit says otherwise. */
#define TIMES 32

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static bool is_large(const struct stretch *stretch)
{
	return stretch->reserved > HUGE_PAGE;
}

static char *reserve(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Addresses for so many bytes, and more than that if they can be had. */
static void find_addresses(struct stretch *stretch, size_t bytes)
{
	stretch->reserved = bytes < HUGE_PAGE ? HUGE_PAGE : round_up(bytes, HUGE_PAGE) * TIMES;
	stretch->at = reserve(stretch->reserved);
	if (!stretch->at) {
		stretch->reserved = round_up(bytes, HUGE_PAGE);
		stretch->at = reserve(stretch->reserved);
	}
	if (!stretch->at)
		alloc_failed(bytes);
	if (is_large(stretch))
		madvise(stretch->at, stretch->reserved, MADV_HUGEPAGE);
}

/* With memory at all addresses of the pages that they are in: or none of them can be huge. */
static void populate(struct stretch *stretch, size_t bytes)
{
	size_t whole = round_up(bytes, is_large(stretch) ? HUGE_PAGE : PAGE);
	char *start = stretch->at + stretch->bytes;

	if (mprotect(start, whole - stretch->bytes, PROT_READ | PROT_WRITE) < 0)
		alloc_failed(bytes);
	madvise(start, whole - stretch->bytes, MADV_POPULATE_WRITE);
	stretch->bytes = whole;
}

static void move(struct stretch *stretch, size_t bytes)
{
	struct stretch moved = { 0 };

	find_addresses(&moved, bytes);
	populate(&moved, bytes);
	if (stretch->bytes)
		memcpy(moved.at, stretch->at, stretch->bytes);
	stretch_release(stretch);
	*stretch = moved;
}

void stretch_grow(struct stretch *stretch, size_t bytes)
{
	if (bytes > stretch->reserved)
		move(stretch, bytes);
	else if (bytes > stretch->bytes)
		populate(stretch, bytes);
}

void stretch_release(struct stretch *stretch)
{
	if (stretch->at)
		munmap(stretch->at, stretch->reserved);
	*stretch = (struct stretch){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*out_of_memory)(size_t size_bytes);

void alloc_set_out_of_memory(void (*handler)(size_t size_bytes))
{
	out_of_memory = handler;
}

void alloc_failed(size_t size)
{
	if (out_of_memory)
		out_of_memory(size);
	abort();
}

static void *checked(void *pointer, size_t size)
{
	if (!pointer)
		alloc_failed(size);
	return pointer;
}

void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1), size);
}

void *xcalloc(size_t nr, size_t size)
{
	return checked(calloc(nr ? nr : 1, size ? size : 1), nr * size);
}

void *xreallocarray(void *old, size_t nr, size_t size)
{
	return checked(reallocarray(old, nr ? nr : 1, size), nr * size);
}

char *xstrdup(const char *text)
{
	return checked(strdup(text), strlen(text));
}

char *xstrndup(const char *text, size_t length)
{
	return checked(strndup(text, length), length);
}

char *xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return checked(length < 0 ? NULL : text, 0);
}

void alloc_share_heap(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty has one, too */
#include "base/alloc.h"

/* libiberty asks for it; its own would bring its xmalloc() along, which ours is. */
void *xrealloc(void *old, size_t size)
{
	return xreallocarray(old, 1, size);
}

static bool may_be_mangled(const char *symbol)
{
	symbol += strspn(symbol, "_") > 1 ? strspn(symbol, "_") - 1 : 0; /* ___Z: clang's blocks */
	return symbol[0] == '_' && symbol[1] && strchr("ZRD", symbol[1]);
}

char *demangle(const char *symbol)
{
	if (!may_be_mangled(symbol))
		return NULL;
	if (symbol[0] == '_' && symbol[1] == 'D') /* which DMGL_AUTO leaves out */
		return dlang_demangle(symbol, DMGL_PARAMS);
	return cplus_demangle(symbol, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}

static bool all_digits(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length > 0;
}

static bool is_clone_word(const char *text, size_t length)
{
	static const char *const words[] = { "cold", "part",	 "constprop", "isra",
					     "llvm", "lto_priv", "localalias" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (length == strlen(words[i]) && !memcmp(text, words[i], length))
			return true;
	return all_digits(text, length);
}

size_t clone_base_length(const char *symbol)
{
	size_t length = strlen(symbol);

	for (;;) {
		const char *dot = memrchr(symbol, '.', length);

		if (!dot || dot == symbol ||
		    !is_clone_word(dot + 1, (size_t)(symbol + length - dot - 1)))
			return length;
		length = (size_t)(dot - symbol);
	}
}

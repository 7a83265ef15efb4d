/* SPDX-License-Identifier: MIT */
#include "object/decompress.h"

#include <dlfcn.h>

#include "base/alloc.h"

/* A function of a library, which stays loaded: the next file will want it as well. */
static void *function_of(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	return handle ? dlsym(handle, name) : NULL;
}

/* All that is called is declared here as in the library's header, which need not be installed. */

static bool by_libdeflate(const struct packed *packed, void *out, size_t out_size)
{
	static const char library[] = "libdeflate.so.0";
	void *(*begin)(void) = function_of(library, "libdeflate_alloc_decompressor");
	int (*run)(void *state, const void *in, size_t in_size, void *out, size_t out_size,
		   size_t *made) = function_of(library, "libdeflate_zlib_decompress");
	void (*end)(void *state) = function_of(library, "libdeflate_free_decompressor");
	void *state = begin && run && end ? begin() : NULL;

	if (!state)
		return false;
	/* Without a place for the size made, another size is an error. */
	bool done = run(state, packed->bytes, packed->size, out, out_size, NULL) == 0;
	end(state);
	return done;
}

static bool by_zlib(const struct packed *packed, void *out, size_t out_size)
{
	int (*run)(void *out, unsigned long *out_size, const void *in, unsigned long in_size) =
		function_of("libz.so.1", "uncompress");
	unsigned long made = out_size;

	return run && run(out, &made, packed->bytes, packed->size) == 0 && made == out_size;
}

static bool by_zstd(const struct packed *packed, void *out, size_t out_size)
{
	size_t (*run)(void *out, size_t out_size, const void *in, size_t in_size) =
		function_of("libzstd.so.1", "ZSTD_decompress");

	/* An error is a number near SIZE_MAX. */
	return run && run(out, out_size, packed->bytes, packed->size) == out_size;
}

static const struct {
	uint32_t type;
	bool (*run)(const struct packed *packed, void *out, size_t out_size);
} ways[] = {
	{ DECOMPRESS_ZLIB, by_libdeflate },
	{ DECOMPRESS_ZLIB, by_zlib },
	{ DECOMPRESS_ZSTD, by_zstd },
};

bool decompress(uint32_t type, const struct packed *packed, void *out, size_t out_size)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i].type == type && ways[i].run(packed, out, out_size))
			return true;
	return false;
}

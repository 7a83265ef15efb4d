/* SPDX-License-Identifier: MIT */
/*
 * decompress - what a compressed section of an ELF file (SHF_COMPRESSED) holds.
 *
 *	if (decompress(chdr.ch_type, &packed, out, chdr.ch_size))
 *		use(out);
 *
 * Done by whichever library is here, loaded when it is first needed: libdeflate, which takes a
 * third of the time of zlib, or else that; libzstd.
 */
#ifndef OBJECT_DECOMPRESS_H
#define OBJECT_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in ch_type of Elf64_Chdr; the second one is newer than some <elf.h>. */
enum {
	DECOMPRESS_ZLIB = 1,
	DECOMPRESS_ZSTD = 2,
};

struct packed {
	const void *bytes;
	size_t size;
};

/* False unless it makes exactly out_size bytes, or if no library is here that can. */
bool decompress(uint32_t type, const struct packed *packed, void *out, size_t out_size);

#endif

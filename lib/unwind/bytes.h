/* SPDX-License-Identifier: MIT */
/*
 * bytes - a reader of DWARF data that cannot leave its bytes.
 *
 *	struct bytes bytes = bytes_of(&block, address);
 *	length = bytes_u32(&bytes);
 *	if (bytes.bad)
 *		...			// some read went past the end; all later ones give 0
 *
 * Little endian, any alignment, no libc.  Internal to lib/unwind.
 */
#ifndef UNWIND_BYTES_H
#define UNWIND_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

struct bytes {
	const uint8_t *at, *end;
	uint64_t address; /* of `end` in the image */
	bool bad;
};

/* DW_EH_PE_*: how a pointer is stored, and relative to what. */
enum {
	POINTER_ABSOLUTE = 0x00,
	POINTER_ULEB = 0x01,
	POINTER_U16 = 0x02,
	POINTER_U32 = 0x03,
	POINTER_U64 = 0x04,
	POINTER_SLEB = 0x09,
	POINTER_S16 = 0x0a,
	POINTER_S32 = 0x0b,
	POINTER_S64 = 0x0c,
	POINTER_FORMAT = 0x0f,

	POINTER_PC_RELATIVE = 0x10,
	POINTER_TEXT_RELATIVE = 0x20,
	POINTER_DATA_RELATIVE = 0x30,
	POINTER_BASE = 0x70,
	POINTER_INDIRECT = 0x80,
	POINTER_OMITTED = 0xff,
};

static inline size_t bytes_left(const struct bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

/* The image's address of the next byte. */
static inline uint64_t bytes_address(const struct bytes *bytes)
{
	return bytes->address - bytes_left(bytes);
}

/* The block from address on; bad if that is outside. */
static inline struct bytes bytes_of(const struct unwind_block *block, uint64_t address)
{
	uint64_t offset = address - block->address;
	bool bad = offset > block->size;

	if (!block->bytes)
		return (struct bytes){ .bad = true };
	return (struct bytes){
		.at = block->bytes + (bad ? block->size : offset),
		.end = block->bytes + block->size,
		.address = block->address + block->size,
		.bad = bad,
	};
}

/* Steps over size bytes; NULL if there are not as many. */
static inline const uint8_t *bytes_take(struct bytes *bytes, uint64_t size)
{
	const uint8_t *taken = bytes->at;

	if (size > bytes_left(bytes)) {
		bytes->at = bytes->end;
		bytes->bad = true;
		return NULL;
	}
	bytes->at += size;
	return taken;
}

/* Cuts the next size bytes off as a reader of their own. */
static inline struct bytes bytes_cut(struct bytes *bytes, uint64_t size)
{
	const uint8_t *at = bytes_take(bytes, size);

	if (!at)
		return (struct bytes){ bytes->end, bytes->end, bytes->address, true };
	return (struct bytes){ at, bytes->at, bytes_address(bytes), false };
}

#define BYTES_FIXED(name, type)                                              \
	static inline type name(struct bytes *bytes)                         \
	{                                                                    \
		struct unaligned {                                           \
			type value;                                          \
		} __attribute__((packed));                                   \
		const void *at = bytes_take(bytes, sizeof(type));            \
		return at ? ((const struct unaligned *)at)->value : (type)0; \
	}
BYTES_FIXED(bytes_u8, uint8_t)
BYTES_FIXED(bytes_u16, uint16_t)
BYTES_FIXED(bytes_u32, uint32_t)
BYTES_FIXED(bytes_u64, uint64_t)
#undef BYTES_FIXED

enum {
	LEB_BITS_MAX =
		7 * 10, /* what 64 bits need; without a limit a number may be megabytes long */
};

static inline uint64_t bytes_uleb(struct bytes *bytes)
{
	uint8_t byte = bytes_u8(bytes);
	uint64_t value = byte & 0x7f;
	unsigned int shift = 7;

	while (byte & 0x80 && shift < LEB_BITS_MAX) {
		byte = bytes_u8(bytes);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	}
	bytes->bad |= byte >> 7;
	return value;
}

static inline int64_t bytes_sleb(struct bytes *bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(bytes);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < LEB_BITS_MAX);
	bytes->bad |= byte >> 7;
	if (shift < 64 && byte & 0x40)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* A value in the given format, without what it is relative to; an unknown format is bad. */
static inline uint64_t bytes_formatted(struct bytes *bytes, uint8_t format)
{
	switch (format & POINTER_FORMAT) {
	case POINTER_ABSOLUTE:
	case POINTER_U64:
	case POINTER_S64:
		return bytes_u64(bytes);
	case POINTER_U32:
		return bytes_u32(bytes);
	case POINTER_S32:
		return (uint64_t)(int64_t)(int32_t)bytes_u32(bytes);
	case POINTER_U16:
		return bytes_u16(bytes);
	case POINTER_S16:
		return (uint64_t)(int64_t)(int16_t)bytes_u16(bytes);
	case POINTER_ULEB:
		return bytes_uleb(bytes);
	case POINTER_SLEB:
		return (uint64_t)bytes_sleb(bytes);
	default:
		bytes->bad = true;
		return 0;
	}
}

/*
 * An encoded pointer.  Bad where it is relative to what is not known here, or indirect: the word
 * it points to is no constant of the image.
 */
static inline uint64_t bytes_pointer(struct bytes *bytes, uint8_t encoding, uint64_t text_base,
				     uint64_t data_base)
{
	uint64_t here = bytes_address(bytes);
	uint64_t value = bytes_formatted(bytes, encoding);

	switch (encoding & (POINTER_BASE | POINTER_INDIRECT)) {
	case POINTER_ABSOLUTE:
		return value;
	case POINTER_PC_RELATIVE:
		return here + value;
	case POINTER_TEXT_RELATIVE:
		return text_base + value;
	case POINTER_DATA_RELATIVE:
		return data_base + value;
	default:
		bytes->bad = true;
		return 0;
	}
}

#endif

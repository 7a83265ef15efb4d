/* SPDX-License-Identifier: MIT */
/*
 * cfi_made - CFI made by hand: .eh_frame is at FRAME, .eh_frame_hdr at HDR, code from CODE on.
 *
 *	struct builder frame = function_of(CFI(0x0e, 16));	// DW_CFA_def_cfa_offset 16
 *	struct unwind_image image = image_of(&frame);
 */
#ifndef TESTS_CFI_MADE_H
#define TESTS_CFI_MADE_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/cfi.h"

enum {
	HDR = 0x1000,
	FRAME = 0x2000,
	CODE = 0x10000,
};

/* Registers and DW_OP_breg of them. */
enum {
	FP = ARCH_DWARF_FP,
	SP = ARCH_DWARF_SP,
	RA = ARCH_DWARF_RETURN,
	AT_FP = 0x70 + FP,
	AT_SP = 0x70 + SP,
	OFFSET = 0x80, /* DW_CFA_offset */
	RESTORE = 0xc0,
};

struct builder {
	uint8_t bytes[4096];
	size_t nr;
};

static inline void put(struct builder *to, const void *bytes, size_t size)
{
	cr_assert(to->nr + size <= sizeof(to->bytes));
	for (size_t i = 0; i < size; i++)
		to->bytes[to->nr + i] = ((const uint8_t *)bytes)[i];
	to->nr += size;
}

static inline void put_u8(struct builder *to, uint8_t value)
{
	put(to, &value, sizeof(value));
}

static inline void put_u32(struct builder *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

static inline void put_u64(struct builder *to, uint64_t value)
{
	put(to, &value, sizeof(value));
}

/* Fills in the length of the entry that began at `at`. */
static inline void end_entry(struct builder *to, size_t at)
{
	uint32_t length = (uint32_t)(to->nr - at - 4);

	memcpy(to->bytes + at, &length, sizeof(length));
}

/* Initially: CFA = sp + 8, return address at CFA - 8, as every compiler says for x86-64. */
static const uint8_t usual[] = { 0x0c, SP, 8, OFFSET | RA, 1 };

static inline void put_cie(struct builder *to, const char *augmentation, const uint8_t *data,
			   size_t data_size)
{
	size_t at = to->nr;

	put_u32(to, 0); /* length */
	put_u32(to, 0); /* id */
	put_u8(to, 1);
	put(to, augmentation, strlen(augmentation) + 1);
	put_u8(to, 1);	  /* code factor */
	put_u8(to, 0x78); /* data factor -8 */
	put_u8(to, RA);
	if (augmentation[0] == 'z') {
		put_u8(to, (uint8_t)data_size);
		put(to, data, data_size);
	}
	put(to, usual, sizeof(usual));
	end_entry(to, at);
}

/* For a CIE at offset 0 with absolute 8-byte pointers. */
static inline void put_fde(struct builder *to, bool has_data, uint64_t start, uint64_t size,
			   const uint8_t *instructions, size_t nr)
{
	size_t at = to->nr;

	put_u32(to, 0);
	put_u32(to, (uint32_t)(at + 4));
	put_u64(to, start);
	put_u64(to, size);
	if (has_data)
		put_u8(to, 0);
	put(to, instructions, nr);
	end_entry(to, at);
}

#define CFI(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static inline struct unwind_image image_of(const struct builder *frame)
{
	return (struct unwind_image){ .frame = { frame->bytes, frame->nr, FRAME } };
}

/* One function of 0x100 bytes with these instructions. */
static inline struct builder function_of(const uint8_t *instructions, size_t nr)
{
	struct builder frame = { .nr = 0 };

	put_cie(&frame, "", NULL, 0);
	put_fde(&frame, false, CODE, 0x100, instructions, nr);
	return frame;
}

#endif

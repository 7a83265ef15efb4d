/* SPDX-License-Identifier: MIT */
/*
 * cfi - rules from the call frame information of an ELF image.
 *
 *	struct unwind_image image;
 *	struct unwind_row row;
 *
 *	unwind_image_loaded(&image, hdr, map_end);	// or filled in from a file
 *	unwind_cfi_find(&image, pc, &row);
 *	if (unwind_rule_kind(row.rule) == UNWIND_RULE_NONE)
 *		...;					// no CFI for row.start <= pc < row.end
 *
 * Lazy: a look-up is a binary search in .eh_frame_hdr and one run through the instructions of one
 * function.  It allocates nothing, keeps nothing and calls nothing but need(); remember rows in a
 * cache.h or a table.  No byte of the image is trusted: whatever it holds, nothing outside the two blocks is
 * read, the work is bounded by their size, and row.start <= pc < row.end.
 *
 * Addresses are those of the image: of a file, its virtual addresses; of code loaded in our own
 * process, simply addresses.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

/* Bytes of an image: where we can read them, and which address they have in the image. */
struct unwind_block {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

/* Borrowed; valid while the bytes are. */
struct unwind_image {
	struct unwind_block hdr;   /* .eh_frame_hdr; size 0: there is none */
	struct unwind_block frame; /* .eh_frame, or from its start to the end of what is mapped */
	uint64_t text_base;	   /* for DW_EH_PE_textrel, rarely needed; may be 0 */
	uint64_t data_base;	   /* for DW_EH_PE_datarel in .eh_frame, likewise */
	/* Called before bytes of hdr or frame, from offset on, are read, for who has only parts of
	 * them in memory: what is beyond the block is not read.  NULL: all are there. */
	void (*need)(void *context, const struct unwind_block *block, uint64_t offset,
		     uint64_t size);
	void *context;
};

/*
 * Of code loaded in our own process: hdr is what PT_GNU_EH_FRAME or _dl_find_object() point to,
 * map_end the end of the mapping it is in.  False if hdr makes no sense; the image is then empty
 * and all look-ups find no CFI.
 */
bool unwind_image_loaded(struct unwind_image *image, const void *hdr, const void *map_end);

/* The address of .eh_frame that .eh_frame_hdr gives, or 0. */
uint64_t unwind_hdr_frame_address(const struct unwind_block *hdr);

/* Whether .eh_frame_hdr has a table of functions; without it look-ups go through all of .eh_frame.
 */
bool unwind_hdr_is_searchable(const struct unwind_image *image);

/* The row that holds pc.  Its kind is NONE between functions and where there is no CFI at all; for
 * UINT64_MAX, behind which no row can end, it is empty. */
void unwind_cfi_find(const struct unwind_image *image, uint64_t pc, struct unwind_row *row);

/*
 * The function (FDE) around pc, as a row without rule: false if there is none.  For names of code
 * without symbols, and to evaluate a function at a time.
 */
bool unwind_cfi_function(const struct unwind_image *image, uint64_t pc, struct unwind_row *row);

enum unwind_place_kind {
	UNWIND_PLACE_SAME,	/* the function left the register alone */
	UNWIND_PLACE_CFA,	/* saved at CFA + offset */
	UNWIND_PLACE_SP,	/* saved at sp + offset */
	UNWIND_PLACE_FP,	/* saved at fp + offset */
	UNWIND_PLACE_REGISTER,	/* in another register: number offset */
	UNWIND_PLACE_UNDEFINED, /* gone */
	UNWIND_PLACE_OTHER,	/* somewhere else */
};

/* Where a function keeps its caller's value of a register. */
struct unwind_place {
	uint8_t kind; /* enum unwind_place_kind */
	int32_t offset;
};

/*
 * Of any general register, by its DWARF number: for a UNWIND_RULE_REGISTER in an outer frame.
 * Without CFI for pc it is OTHER.
 */
struct unwind_place unwind_cfi_register(const struct unwind_image *image, uint64_t pc,
					unsigned int reg);

/*
 * One FDE after the other, for an index of an image without .eh_frame_hdr:
 *
 *	uint64_t offset = 0;
 *	while (unwind_cfi_next(&image, &offset, &function))
 *		use(function.start, function.fde);
 *
 * Ends at the first FDE that cannot be read.
 */
struct unwind_function {
	uint64_t start, end;
	uint64_t fde; /* its address */
};
bool unwind_cfi_next(const struct unwind_image *image, uint64_t *offset,
		     struct unwind_function *function);

#endif

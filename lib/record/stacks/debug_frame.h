/* SPDX-License-Identifier: MIT */
/*
 * debug_frame - the section .debug_frame of an ELF file, in the form of .eh_frame.
 *
 *	uint8_t *bytes;
 *	size_t size = debug_frame_read(&bytes, fd);
 *	image.frame = (struct unwind_block){ bytes, size, 0 };
 *
 * The two sections differ in how an entry names its CIE only, so that what reads one reads the
 * other after each such field was rewritten.  Code that cannot throw, such as assembly and that of
 * some compilers, may have CFI nowhere else.
 */
#ifndef RECORD_STACKS_DEBUG_FRAME_H
#define RECORD_STACKS_DEBUG_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Sets *bytes, for free(), and returns how many; 0 if there is no such section.  It may be
 * compressed. */
size_t debug_frame_read(uint8_t **bytes, int fd);

/* Rewrites the bytes in place.  Returns how many of them, from the first, could be. */
size_t debug_frame_convert(uint8_t *bytes, size_t size);

#endif

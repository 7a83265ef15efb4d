/* SPDX-License-Identifier: MIT */
/*
 * rows - the call frame information of one module, ready for look-ups.
 *
 *	struct rows rows = { 0 };
 *
 *	rows_load(&rows, module);
 *	unwind_cfi_find(&rows.image, address, &row);
 *	rows_release(&rows);
 *
 * The bytes are copied out of the file, a few per cent of it, since a mapped file that somebody
 * truncates would kill us.  A file without .eh_frame_hdr gets an index of the same form.
 */
#ifndef RECORD_STACKS_ROWS_H
#define RECORD_STACKS_ROWS_H

#include "object/module.h"
#include "unwind/cfi.h"

struct rows {
	struct unwind_image image; /* empty where there is no CFI: every look-up finds none */
	uint8_t *hdr_bytes, *frame_bytes;
};

/* Does not fail: what cannot be read is logged, and the rows are empty. */
void rows_load(struct rows *rows, const struct module *module);
void rows_release(struct rows *rows);
size_t rows_bytes(const struct rows *rows);

#endif

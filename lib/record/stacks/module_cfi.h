/* SPDX-License-Identifier: MIT */
/*
 * module_cfi - the call frame information of one module, ready for look-ups.
 *
 *	struct module_cfi cfi = { 0 };
 *
 *	module_cfi_load(&cfi, module);
 *	unwind_cfi_find(&cfi.image, address, &row);
 *	module_cfi_release(&cfi);
 *
 * The bytes are copied out of the file, a few per cent of it, since a mapped file that somebody
 * truncates would kill us.  A file without .eh_frame_hdr gets an index of the same form.
 */
#ifndef RECORD_STACKS_MODULE_CFI_H
#define RECORD_STACKS_MODULE_CFI_H

#include "object/module.h"
#include "unwind/cfi.h"

struct module_cfi {
	struct unwind_image image; /* empty where there is no CFI: every look-up finds none */
	uint8_t *hdr_bytes, *frame_bytes;
};

/* Does not fail: what cannot be read is logged, and the image is empty. */
void module_cfi_load(struct module_cfi *cfi, const struct module *module);
void module_cfi_release(struct module_cfi *cfi);
size_t module_cfi_bytes(const struct module_cfi *cfi);

#endif

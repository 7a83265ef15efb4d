/* SPDX-License-Identifier: MIT */
/*
 * module_cfi - the call frame information of one module, ready for look-ups.
 *
 *	struct module_cfi cfi = { 0 };
 *
 *	module_cfi_load(&cfi, module);
 *	module_cfi_find(&cfi, address, &row);
 *	module_cfi_release(&cfi);
 *
 * The bytes are copied out of the file, since a mapped file that somebody truncates would kill us,
 * and only where a look-up needs them.  Of a file without .eh_frame_hdr all of .eh_frame is read, for
 * a table of the same form.
 *
 * .debug_frame is read where .eh_frame has nothing to say.
 */
#ifndef RECORD_STACKS_MODULE_CFI_H
#define RECORD_STACKS_MODULE_CFI_H

#include <stdbool.h>

#include "object/file_part.h"
#include "object/module.h"
#include "unwind/cfi.h"

struct module_cfi {
	struct unwind_image image; /* empty where there is no CFI: every look-up finds none */
	struct file_part hdr, frame;
	uint8_t *made_hdr;	   /* of a file without one */
	struct unwind_image debug; /* of .debug_frame, likewise */
	uint8_t *debug_hdr_bytes, *debug_bytes;
	const struct module *module;
	bool debug_was_tried;
};

/* Does not fail: what cannot be read is logged, and the image is empty.  module has to stay. */
void module_cfi_load(struct module_cfi *cfi, const struct module *module);
void module_cfi_release(struct module_cfi *cfi);
/* In memory. */
size_t module_cfi_bytes(const struct module_cfi *cfi);

/* As unwind_cfi_find() and unwind_cfi_register(). */
void module_cfi_find(struct module_cfi *cfi, uint64_t address, struct unwind_row *row);
struct unwind_place module_cfi_register(struct module_cfi *cfi, uint64_t address, unsigned int reg);
/* Whether address is in what a signal handler returns to; for where that has no CFI. */
bool module_cfi_is_sigreturn(const struct module_cfi *cfi, uint64_t address);
/* Whether the code at address is what begins functions, and nothing was pushed yet; likewise. */
bool module_cfi_is_entry(const struct module_cfi *cfi, uint64_t address);
/*
 * Whether at address, which has no CFI, both sides return from the system call that makes a thread:
 * a little further is the code that is the outermost of the new one.
 */
bool module_cfi_is_after_clone(struct module_cfi *cfi, uint64_t address);
/* Whether an instruction before address points the frame pointer into the function's own frame; for
 * where CFI does not say so since it does not need it. */
bool module_cfi_sets_fp(struct module_cfi *cfi, uint64_t address);
/* The start of the function around address; 0: none. */
uint64_t module_cfi_function(struct module_cfi *cfi, uint64_t address);

#endif

/* SPDX-License-Identifier: MIT */
#include "record/stacks/module_cfi.h"

#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/vec.h"

struct index_entry {
	uint64_t start, fde;
};

static int by_start(const void *a, const void *b)
{
	const struct index_entry *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* What a linker would have made, with 8-byte absolute addresses. */
static void build_index(struct module_cfi *cfi)
{
	static const uint8_t head[] = { 1, 0x04, 0x04, 0x04 }; /* version, DW_EH_PE_udata8 */
	VEC(struct index_entry) index = { 0 };
	struct unwind_function function;
	uint64_t offset = 0;

	while (unwind_cfi_next(&cfi->image, &offset, &function))
		vec_push(&index, (struct index_entry){ function.start, function.fde });
	if (!index.nr) { /* nothing that a look-up could find */
		cfi->image.frame.size = 0;
		return;
	}
	qsort(index.at, index.nr, sizeof(index.at[0]), by_start);

	uint64_t fields[] = { cfi->image.frame.address, index.nr };
	size_t entries = index.nr * sizeof(index.at[0]);
	size_t size = sizeof(head) + sizeof(fields) + entries;
	free(cfi->hdr_bytes);
	cfi->hdr_bytes = xmalloc(size);
	memcpy(cfi->hdr_bytes, head, sizeof(head));
	memcpy(cfi->hdr_bytes + sizeof(head), fields, sizeof(fields));
	memcpy(cfi->hdr_bytes + sizeof(head) + sizeof(fields), index.at, entries);
	cfi->image.hdr = (struct unwind_block){ cfi->hdr_bytes, size, 0 };
	vec_free(&index);
}

static int load_block(struct unwind_block *block, uint8_t **bytes, const struct module *module,
		      const struct elf_part *part, struct error *err)
{
	*bytes = elf_file_copy(module->fd, part, err);
	if (!*bytes)
		return err->code;
	*block = (struct unwind_block){ *bytes, part->size, part->address };
	return 0;
}

/* Where .eh_frame is: the section headers know its size, .eh_frame_hdr only its start. */
static struct elf_part frame_part(const struct module_cfi *cfi, const struct elf_file *elf)
{
	uint64_t address = cfi->image.hdr.size ? unwind_hdr_frame_address(&cfi->image.hdr) : 0;

	if (!address || address == elf->eh_frame.address)
		return elf->eh_frame;
	return elf_file_rest(elf, address);
}

static int load(struct module_cfi *cfi, const struct module *module, struct error *err)
{
	const struct elf_file *elf = &module->elf;
	int ret = 0;

	if (elf->eh_frame_hdr.size)
		ret = load_block(&cfi->image.hdr, &cfi->hdr_bytes, module, &elf->eh_frame_hdr, err);
	if (ret)
		return ret;

	struct elf_part part = frame_part(cfi, elf);
	if (!part.size)
		return error_set(err, ERR_UNSUPPORTED, "no .eh_frame");
	ret = load_block(&cfi->image.frame, &cfi->frame_bytes, module, &part, err);
	if (!ret && !unwind_hdr_is_searchable(&cfi->image))
		build_index(cfi);
	return ret;
}

void module_cfi_load(struct module_cfi *cfi, const struct module *module)
{
	struct error err = ERROR_INIT;

	*cfi = (struct module_cfi){ 0 };
	if (module->fd < 0 || !module->elf.is_64 || module->elf.machine != ARCH_ELF_MACHINE)
		return;
	if (load(cfi, module, &err) < 0) {
		log_debug(LOG_STACKS, "%s: no call frame information: %s", module->path,
			  err.message);
		module_cfi_release(cfi);
	}
}

void module_cfi_release(struct module_cfi *cfi)
{
	free(cfi->hdr_bytes);
	free(cfi->frame_bytes);
	*cfi = (struct module_cfi){ 0 };
}

size_t module_cfi_bytes(const struct module_cfi *cfi)
{
	return cfi->image.hdr.size + cfi->image.frame.size;
}

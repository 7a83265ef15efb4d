/* SPDX-License-Identifier: MIT */
#include "record/stacks/rows.h"

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
static void build_index(struct rows *rows)
{
	static const uint8_t head[] = { 1, 0x04, 0x04, 0x04 }; /* version, DW_EH_PE_udata8 */
	VEC(struct index_entry) index = { 0 };
	struct unwind_function function;
	uint64_t offset = 0;

	while (unwind_cfi_next(&rows->image, &offset, &function))
		vec_push(&index, (struct index_entry){ function.start, function.fde });
	if (!index.nr)
		return;
	qsort(index.at, index.nr, sizeof(index.at[0]), by_start);

	uint64_t fields[] = { rows->image.frame.address, index.nr };
	size_t entries = index.nr * sizeof(index.at[0]);
	size_t size = sizeof(head) + sizeof(fields) + entries;
	rows->hdr_bytes = xmalloc(size);
	memcpy(rows->hdr_bytes, head, sizeof(head));
	memcpy(rows->hdr_bytes + sizeof(head), fields, sizeof(fields));
	memcpy(rows->hdr_bytes + sizeof(head) + sizeof(fields), index.at, entries);
	rows->image.hdr = (struct unwind_block){ rows->hdr_bytes, size, 0 };
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
static struct elf_part frame_part(const struct rows *rows, const struct elf_file *elf)
{
	uint64_t address = rows->image.hdr.size ? unwind_hdr_frame_address(&rows->image.hdr) : 0;

	if (!address || address == elf->eh_frame.address)
		return elf->eh_frame;
	return elf_file_rest(elf, address);
}

static int load(struct rows *rows, const struct module *module, struct error *err)
{
	const struct elf_file *elf = &module->elf;
	int ret = 0;

	if (elf->eh_frame_hdr.size)
		ret = load_block(&rows->image.hdr, &rows->hdr_bytes, module, &elf->eh_frame_hdr,
				 err);
	if (ret)
		return ret;

	struct elf_part part = frame_part(rows, elf);
	if (!part.size)
		return error_set(err, ERR_UNSUPPORTED, "no .eh_frame");
	ret = load_block(&rows->image.frame, &rows->frame_bytes, module, &part, err);
	if (!ret && !rows->hdr_bytes)
		build_index(rows);
	return ret;
}

void rows_load(struct rows *rows, const struct module *module)
{
	struct error err = ERROR_INIT;

	*rows = (struct rows){ 0 };
	if (module->fd < 0 || !module->elf.is_64 || module->elf.machine != ARCH_ELF_MACHINE)
		return;
	if (load(rows, module, &err) < 0) {
		log_debug(LOG_STACKS, "%s: no call frame information: %s", module->path,
			  err.message);
		rows_release(rows);
	}
}

void rows_release(struct rows *rows)
{
	free(rows->hdr_bytes);
	free(rows->frame_bytes);
	*rows = (struct rows){ 0 };
}

size_t rows_bytes(const struct rows *rows)
{
	return rows->image.hdr.size + rows->image.frame.size;
}

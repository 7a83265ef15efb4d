/* SPDX-License-Identifier: MIT */
#include "record/stacks/module_cfi.h"

#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/vec.h"
#include "record/stacks/debug_frame.h"

enum {
	HDR_HEAD_BYTES = 64, /* all but the table */
	CLONE_GAP_BYTES_MAX = 16,
	PROLOGUE_WORDS = 64, /* of a function, looked through for the frame pointer */
};

struct index_entry {
	uint64_t start, fde;
};

static int by_start(const void *a, const void *b)
{
	const struct index_entry *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* What a linker would have made, with 8-byte absolute addresses. */
static void build_index(struct unwind_image *image, uint8_t **hdr_bytes)
{
	static const uint8_t head[] = { 1, 0x04, 0x04, 0x04 }; /* version, DW_EH_PE_udata8 */
	VEC(struct index_entry) index = { 0 };
	struct unwind_function function;
	uint64_t offset = 0;

	while (unwind_cfi_next(image, &offset, &function))
		vec_push(&index, (struct index_entry){ function.start, function.fde });
	if (!index.nr) { /* nothing that a look-up could find */
		image->frame.size = 0;
		return;
	}
	qsort(index.at, index.nr, sizeof(index.at[0]), by_start);

	uint64_t fields[] = { image->frame.address, index.nr };
	size_t entries = index.nr * sizeof(index.at[0]);
	size_t size = sizeof(head) + sizeof(fields) + entries;
	free(*hdr_bytes);
	*hdr_bytes = xmalloc(size);
	memcpy(*hdr_bytes, head, sizeof(head));
	memcpy(*hdr_bytes + sizeof(head), fields, sizeof(fields));
	memcpy(*hdr_bytes + sizeof(head) + sizeof(fields), index.at, entries);
	image->hdr = (struct unwind_block){ *hdr_bytes, size, 0 };
	vec_free(&index);
}

static void need(void *context, const struct unwind_block *block, uint64_t offset, uint64_t size)
{
	struct module_cfi *cfi = context;

	file_part_need(block == &cfi->image.hdr ? &cfi->hdr : &cfi->frame, offset, size);
}

/* The struct may have been moved. */
static const struct unwind_image *main_image(struct module_cfi *cfi)
{
	cfi->image.context = cfi;
	return &cfi->image;
}

static int open_block(struct unwind_block *block, struct file_part *bytes,
		      const struct module *module, const struct elf_part *part, struct error *err)
{
	int ret = file_part_open(bytes, module->fd, part, err);

	*block = (struct unwind_block){ bytes->bytes, bytes->size, part->address };
	return ret;
}

/* Where .eh_frame is: the section headers know its size, .eh_frame_hdr only its start. */
static struct elf_part frame_part(const struct module_cfi *cfi, const struct elf_file *elf)
{
	uint64_t address = cfi->image.hdr.size ? unwind_hdr_frame_address(&cfi->image.hdr) : 0;

	if (!address || address == elf->eh_frame.address)
		return elf->eh_frame;
	return elf_file_rest(elf, address);
}

static int load(struct module_cfi *cfi, struct error *err)
{
	const struct elf_file *elf = &cfi->module->elf;
	int ret;

	cfi->image.need = need;
	ret = open_block(&cfi->image.hdr, &cfi->hdr, cfi->module, &elf->eh_frame_hdr, err);
	if (ret)
		return ret;
	file_part_need(&cfi->hdr, 0, HDR_HEAD_BYTES);

	struct elf_part part = frame_part(cfi, elf);
	if (!part.size)
		return error_set(err, ERR_UNSUPPORTED, "no .eh_frame");
	ret = open_block(&cfi->image.frame, &cfi->frame, cfi->module, &part, err);
	if (!ret && !unwind_hdr_is_searchable(main_image(cfi))) {
		file_part_need(&cfi->frame, 0, cfi->frame.size);
		build_index(&cfi->image, &cfi->made_hdr);
		cfi->image.need = NULL;
	}
	return ret;
}

static bool is_readable(const struct module *module)
{
	return module->fd >= 0 && module->elf.is_64 && module->elf.machine == ARCH_ELF_MACHINE;
}

void module_cfi_load(struct module_cfi *cfi, const struct module *module)
{
	struct error err = ERROR_INIT;

	*cfi = (struct module_cfi){ .module = module };
	if (!is_readable(module))
		return;
	if (load(cfi, &err) < 0) {
		log_debug(LOG_STACKS, "%s: no call frame information: %s", module->path,
			  err.message);
		module_cfi_release(cfi);
		cfi->module = module;
	}
}

void module_cfi_release(struct module_cfi *cfi)
{
	free(cfi->made_hdr);
	file_part_close(&cfi->hdr);
	file_part_close(&cfi->frame);
	free(cfi->debug_hdr_bytes);
	free(cfi->debug_bytes);
	*cfi = (struct module_cfi){ 0 };
}

size_t module_cfi_bytes(const struct module_cfi *cfi)
{
	return cfi->hdr.nr_read + cfi->frame.nr_read + (cfi->made_hdr ? cfi->image.hdr.size : 0);
}

static const struct unwind_image *debug_image(struct module_cfi *cfi)
{
	if (cfi->debug_was_tried)
		return &cfi->debug;
	cfi->debug_was_tried = true;
	if (!is_readable(cfi->module))
		return &cfi->debug;
	cfi->debug.frame.size = debug_frame_read(&cfi->debug_bytes, cfi->module->fd);
	cfi->debug.frame.bytes = cfi->debug_bytes;
	if (cfi->debug.frame.size)
		build_index(&cfi->debug, &cfi->debug_hdr_bytes);
	return &cfi->debug;
}

static bool is_none(const struct unwind_row *row)
{
	return unwind_rule_kind(row->rule) == UNWIND_RULE_NONE;
}

void module_cfi_find(struct module_cfi *cfi, uint64_t address, struct unwind_row *row)
{
	struct unwind_row gap;

	unwind_cfi_find(main_image(cfi), address, row);
	if (!is_none(row))
		return;
	gap = *row;
	unwind_cfi_find(debug_image(cfi), address, row);
	if (row->start < gap.start)
		row->start = gap.start;
	if (row->end > gap.end)
		row->end = gap.end;
}

static bool read_code(const struct module_cfi *cfi, uint64_t address, void *code, size_t size)
{
	struct elf_part part = elf_file_rest(&cfi->module->elf, address);

	return part.size >= size &&
	       pread(cfi->module->fd, code, size, (off_t)part.offset) == (ssize_t)size;
}

static bool is_sigreturn_at(const struct module_cfi *cfi, uint64_t address)
{
	uint64_t code;

	return read_code(cfi, address, &code, sizeof(code)) && code == ARCH_SIGRETURN;
}

bool module_cfi_is_sigreturn(const struct module_cfi *cfi, uint64_t address)
{
	uint64_t instruction = address - address % ARCH_INSTRUCTION_MIN;

	return is_sigreturn_at(cfi, instruction) ||
	       is_sigreturn_at(cfi, instruction - ARCH_INSTRUCTION_MIN);
}

/* What is there, mostly _init(), is come to by a call only. */
static bool starts_segment(const struct elf_file *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->nr_loads; i++)
		if (elf->loads[i].executable && elf->loads[i].address == address)
			return true;
	return false;
}

bool module_cfi_is_entry(const struct module_cfi *cfi, uint64_t address)
{
	uint32_t code;

	return starts_segment(&cfi->module->elf, address) ||
	       (read_code(cfi, address, &code, sizeof(code)) && ARCH_IS_ENTRY(code));
}

bool module_cfi_is_after_clone(struct module_cfi *cfi, uint64_t address)
{
	struct unwind_row gap, after;
	uint16_t code;

	if (!read_code(cfi, address - sizeof(code), &code, sizeof(code)) || !ARCH_IS_SYSCALL(code))
		return false;
	module_cfi_find(cfi, address, &gap);
	if (gap.end - address > CLONE_GAP_BYTES_MAX)
		return false;
	module_cfi_find(cfi, gap.end, &after);
	return unwind_rule_kind(after.rule) == UNWIND_RULE_ROOT;
}

/* The image that knows the function. */
static const struct unwind_image *image_with(struct module_cfi *cfi, uint64_t address,
					     struct unwind_row *function)
{
	if (unwind_cfi_function(main_image(cfi), address, function))
		return &cfi->image;
	return unwind_cfi_function(debug_image(cfi), address, function) ? &cfi->debug : NULL;
}

struct unwind_place module_cfi_register(struct module_cfi *cfi, uint64_t address, unsigned int reg)
{
	struct unwind_row function;
	const struct unwind_image *image = image_with(cfi, address, &function);

	if (!image)
		return (struct unwind_place){ .kind = UNWIND_PLACE_OTHER };
	return unwind_cfi_register(image, address, reg);
}

uint64_t module_cfi_function(struct module_cfi *cfi, uint64_t address)
{
	struct unwind_row function;

	return image_with(cfi, address, &function) ? function.start : 0;
}

bool module_cfi_sets_fp(struct module_cfi *cfi, uint64_t address)
{
	uint64_t start = module_cfi_function(cfi, address);
	uint32_t code[PROLOGUE_WORDS];
	size_t nr = (address - start) / sizeof(code[0]);

	nr = nr < PROLOGUE_WORDS ? nr : PROLOGUE_WORDS;
	if (!start || !read_code(cfi, start, code, nr * sizeof(code[0])))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (ARCH_SETS_FP(code[i]))
			return true;
	return false;
}

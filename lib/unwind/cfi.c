/* SPDX-License-Identifier: MIT */
#include "unwind/cfi.h"

#include "unwind/bytes.h"
#include "unwind/program.h"

enum {
	HDR_VERSION = 1,
	/* A look-up reads a CIE and an FDE; real ones have up to 50 bytes and some 10 KiB. */
	AUGMENTATION_MAX = 16,
	CIE_MAX = 1 << 10,
	FDE_MAX = 1 << 20,
	LENGTH_IS_64 = 0xffffffff,
	LENGTH_BYTES_MAX = 12,
	HDR_HEAD_BYTES_MAX = 4 + 2 * 8,
};

static void need(const struct unwind_image *image, const struct unwind_block *block,
		 uint64_t address, uint64_t size)
{
	if (image->need)
		image->need(image->context, block, address - block->address, size);
}

/* --- .eh_frame: CIEs and FDEs ------------------------------------------------ */

/* A length and the bytes it covers; an empty one ends the section. */
static struct bytes read_entry(struct bytes *in)
{
	uint64_t length = bytes_u32(in);

	if (length == LENGTH_IS_64)
		length = bytes_u64(in);
	return bytes_cut(in, length);
}

static void read_augmentation(struct cie *cie, const uint8_t *letter, struct bytes *in)
{
	if (*letter == 'z') {
		uint64_t size = bytes_uleb(in);
		struct bytes data = bytes_cut(in, size);

		cie->has_augmentation_data = true;
		for (letter++; *letter && !data.bad; letter++) {
			switch (*letter) {
			case 'R':
				cie->pointer_encoding = bytes_u8(&data);
				break;
			case 'P':
				bytes_formatted(&data, bytes_u8(&data));
				break;
			case 'L':
				bytes_u8(&data);
				break;
			case 'S':
				cie->signal_frame = true;
				break;
			case 'B': /* aarch64: return addresses are signed with key B */
			case 'G': /* aarch64: memory tagging */
				break;
			default: /* what follows cannot be told apart, but its size is known */
				return;
			}
		}
		in->bad |= data.bad;
	} else if (*letter) {
		in->bad = true; /* what follows is of unknown size */
	}
}

static bool read_cie(struct cie *cie, struct bytes in)
{
	*cie = (struct cie){ .pointer_encoding = POINTER_ABSOLUTE };
	if (bytes_left(&in) > CIE_MAX || bytes_u32(&in) != 0)
		return false;

	uint8_t version = bytes_u8(&in);
	const uint8_t *augmentation = in.at;
	while (bytes_u8(&in))
		;
	if (in.bad || in.at - augmentation > AUGMENTATION_MAX ||
	    (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4)
		bytes_u16(&in); /* sizes of addresses and segment selectors */
	cie->code_factor = bytes_uleb(&in);
	cie->data_factor = bytes_sleb(&in);
	cie->return_column = version == 1 ? bytes_u8(&in) : bytes_uleb(&in);
	read_augmentation(cie, augmentation, &in);
	cie->instructions = in;
	return !in.bad;
}

/* The rest of an FDE, after its pointer to the CIE. */
static bool read_fde_rest(const struct unwind_image *image, struct fde *fde, struct bytes in)
{
	uint8_t encoding = fde->cie.pointer_encoding;

	fde->start = bytes_pointer(&in, encoding, image->text_base, image->data_base);
	fde->end = fde->start + bytes_formatted(&in, encoding);
	if (fde->cie.has_augmentation_data)
		bytes_take(&in, bytes_uleb(&in));
	fde->instructions = in;
	return !in.bad && fde->start < fde->end;
}

/* The CIE is given by its distance from the pointer to it; 0 marks a CIE itself. */
static bool read_fde(const struct unwind_image *image, struct fde *fde, struct bytes in)
{
	uint64_t here = bytes_address(&in);
	uint64_t distance = bytes_u32(&in);

	if (!distance || in.bad || bytes_left(&in) > FDE_MAX)
		return false;

	struct bytes at_cie = bytes_of(&image->frame, here - distance);
	need(image, &image->frame, here - distance, LENGTH_BYTES_MAX + CIE_MAX);
	return !at_cie.bad && read_cie(&fde->cie, read_entry(&at_cie)) &&
	       read_fde_rest(image, fde, in);
}

static bool read_fde_at(const struct unwind_image *image, struct fde *fde, uint64_t address)
{
	struct bytes in = bytes_of(&image->frame, address);

	if (in.bad)
		return false;
	need(image, &image->frame, address, LENGTH_BYTES_MAX);
	struct bytes entry = read_entry(&in);
	if (bytes_left(&entry) > FDE_MAX)
		return false;
	need(image, &image->frame, address, bytes_address(&in) - address);
	return read_fde(image, fde, entry);
}

/* --- .eh_frame_hdr: a sorted table of (start of function, address of FDE) ------ */

struct table {
	const struct unwind_image *image;
	struct bytes entries;
	uint64_t nr;
	uint8_t encoding;
	unsigned int value_size;
	uint64_t data_base;
};

static unsigned int size_of_format(uint8_t encoding)
{
	switch (encoding & POINTER_FORMAT) {
	case POINTER_ABSOLUTE:
	case POINTER_U64:
	case POINTER_S64:
		return 8;
	case POINTER_U32:
	case POINTER_S32:
		return 4;
	case POINTER_U16:
	case POINTER_S16:
		return 2;
	default:
		return 0;
	}
}

/* Reads the head up to and including the address of .eh_frame. */
static uint64_t read_hdr(const struct unwind_block *hdr, struct bytes *in, uint8_t *count_encoding,
			 uint8_t *table_encoding)
{
	*in = bytes_of(hdr, hdr->address);
	if (bytes_u8(in) != HDR_VERSION)
		in->bad = true;
	uint8_t frame_encoding = bytes_u8(in);
	*count_encoding = bytes_u8(in);
	*table_encoding = bytes_u8(in);
	return bytes_pointer(in, frame_encoding, 0, hdr->address);
}

/* False if there is no table that can be searched. */
static bool read_table(const struct unwind_image *image, struct table *table)
{
	struct bytes in;
	uint8_t count_encoding;

	need(image, &image->hdr, image->hdr.address, HDR_HEAD_BYTES_MAX);
	read_hdr(&image->hdr, &in, &count_encoding, &table->encoding);
	if (in.bad || count_encoding == POINTER_OMITTED || table->encoding == POINTER_OMITTED)
		return false;

	table->nr = bytes_pointer(&in, count_encoding, 0, image->hdr.address);
	table->value_size = size_of_format(table->encoding);
	table->data_base = image->hdr.address;
	table->image = image;
	table->entries = in;
	if (in.bad || !table->value_size)
		return false;

	uint64_t room = bytes_left(&in) / 2 / table->value_size;
	if (table->nr > room)
		table->nr = room;
	return true;
}

static uint64_t table_value(const struct table *table, uint64_t index)
{
	struct bytes in = table->entries;

	bytes_take(&in, index * table->value_size);
	need(table->image, &table->image->hdr, bytes_address(&in), table->value_size);
	return bytes_pointer(&in, table->encoding, 0, table->data_base);
}

/* The usual form of a table: 32-bit offsets from the start of .eh_frame_hdr. */
struct usual_entry {
	int32_t start, fde;
} __attribute__((packed));

static bool is_usual(const struct table *table)
{
	return table->encoding == (POINTER_DATA_RELATIVE | POINTER_S32);
}

static uint64_t table_start(const struct table *table, uint64_t index)
{
	const struct usual_entry *entries = (const void *)table->entries.at;

	if (!is_usual(table))
		return table_value(table, 2 * index);
	need(table->image, &table->image->hdr,
	     bytes_address(&table->entries) + index * sizeof(entries[0]), sizeof(entries[0]));
	return table->data_base + (uint64_t)(int64_t)entries[index].start;
}

/* The number of functions that start at or below pc. */
static uint64_t table_search(const struct table *table, uint64_t pc)
{
	uint64_t low = 0, high = table->nr;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_start(table, middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- look-ups ------------------------------------------------------------------ */

struct found {
	struct fde fde;
	bool is_function;
	bool damaged;		     /* an FDE should be there, but cannot be read */
	uint64_t gap_start, gap_end; /* without a function: pc is in here */
};

static void narrow(struct found *found, uint64_t pc, uint64_t start, uint64_t end)
{
	if (start <= pc && start > found->gap_start)
		found->gap_start = start;
	if (end <= pc && end > found->gap_start)
		found->gap_start = end;
	if (start > pc && start < found->gap_end)
		found->gap_end = start;
}

static void find_in_table(const struct unwind_image *image, const struct table *table, uint64_t pc,
			  struct found *found)
{
	uint64_t next = table_search(table, pc);

	if (next < table->nr)
		narrow(found, pc, table_start(table, next), UINT64_MAX);
	if (!next)
		return;
	if (!read_fde_at(image, &found->fde, table_value(table, 2 * next - 1))) {
		narrow(found, pc, table_start(table, next - 1), UINT64_MAX);
		found->damaged = true;
		return;
	}
	found->is_function = found->fde.start <= pc && pc < found->fde.end;
	narrow(found, pc, found->fde.start, found->fde.end);
}

static void find_in_frame(const struct unwind_image *image, uint64_t pc, struct found *found)
{
	struct bytes in = bytes_of(&image->frame, image->frame.address);

	while (!found->is_function && bytes_left(&in)) {
		struct bytes entry = read_entry(&in);

		if (in.bad || !bytes_left(&entry))
			return;
		if (!read_fde(image, &found->fde, entry))
			continue;
		found->is_function = found->fde.start <= pc && pc < found->fde.end;
		narrow(found, pc, found->fde.start, found->fde.end);
	}
}

static void find(const struct unwind_image *image, uint64_t pc, struct found *found)
{
	struct table table;

	found->is_function = found->damaged = false;
	found->gap_start = 0;
	found->gap_end = UINT64_MAX;
	if (read_table(image, &table))
		find_in_table(image, &table, pc, found);
	else
		find_in_frame(image, pc, found);
	/* Contradictory tables. */
	if (found->gap_start > pc || found->gap_end <= pc) {
		found->gap_start = pc;
		found->gap_end = pc + (pc < UINT64_MAX);
	}
}

void unwind_cfi_find(const struct unwind_image *image, uint64_t pc, struct unwind_row *row)
{
	struct found found;

	find(image, pc, &found);
	if (found.is_function) {
		program_find(&found.fde, pc, row);
		return;
	}
	row->start = found.gap_start;
	row->end = found.gap_end;
	row->rule = unwind_rule_make(found.damaged ? UNWIND_RULE_DAMAGED : UNWIND_RULE_NONE, 0,
				     UNWIND_FP_SAME);
}

bool unwind_cfi_function(const struct unwind_image *image, uint64_t pc, struct unwind_row *row)
{
	struct found found;

	find(image, pc, &found);
	if (!found.is_function)
		return false;
	*row = (struct unwind_row){ .start = found.fde.start, .end = found.fde.end };
	return true;
}

struct unwind_place unwind_cfi_register(const struct unwind_image *image, uint64_t pc,
					unsigned int reg)
{
	struct found found;

	find(image, pc, &found);
	if (!found.is_function)
		return (struct unwind_place){ .kind = UNWIND_PLACE_OTHER };
	return program_register(&found.fde, pc, reg);
}

bool unwind_cfi_next(const struct unwind_image *image, uint64_t *offset,
		     struct unwind_function *function)
{
	struct bytes in = bytes_of(&image->frame, image->frame.address + *offset);

	while (!in.bad && bytes_left(&in)) {
		struct fde fde;
		uint64_t address = bytes_address(&in);
		struct bytes entry = read_entry(&in);

		if (in.bad || !bytes_left(&entry))
			return false;
		*offset = bytes_address(&in) - image->frame.address;
		if (read_fde(image, &fde, entry)) {
			*function = (struct unwind_function){ fde.start, fde.end, address };
			return true;
		}
	}
	return false;
}

/* --- images ---------------------------------------------------------------------- */

uint64_t unwind_hdr_frame_address(const struct unwind_block *hdr)
{
	struct bytes in;
	uint8_t count_encoding, table_encoding;
	uint64_t address = read_hdr(hdr, &in, &count_encoding, &table_encoding);

	return in.bad ? 0 : address;
}

bool unwind_hdr_is_searchable(const struct unwind_image *image)
{
	struct table table;

	return read_table(image, &table);
}

bool unwind_image_loaded(struct unwind_image *image, const void *hdr, const void *map_end)
{
	uint64_t start = (uintptr_t)hdr, end = (uintptr_t)map_end;

	*image = (struct unwind_image){ 0 };
	if (!start || start >= end)
		return false;

	struct unwind_block block = { hdr, end - start, start };
	uint64_t frame = unwind_hdr_frame_address(&block);
	if (!frame || frame >= end)
		return false;

	image->hdr = block;
	image->frame =
		(struct unwind_block){ (const uint8_t *)(uintptr_t)frame, end - frame, frame };
	return true;
}

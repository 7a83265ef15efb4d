/* SPDX-License-Identifier: MIT */
#include "shim/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "shim/real.h"
#include "shim/self_maps.h"
#include "shim/sys.h"

/* An image that is there now. */
struct image {
	uintptr_t start, end, bias;
	const void *eh_frame_hdr;
	const char *name; /* "": the program */
};

#define CWD_BYTES 1024

struct bytes {
	const char *start;
	uint32_t size;
};

void modules_init(struct modules *modules, struct wire_segment *segment, struct trie *trie)
{
	for (uint32_t id = 1; id < modules->known; id++)
		modules->module[id] = (struct module){ 0 };
	modules->known = 1;
	modules->segment = segment;
	modules->trie = trie;
	atomic_store(&segment->modules_used, 1);
}

static struct wire_module *shared(const struct modules *modules, uint32_t id)
{
	return (struct wire_module *)((char *)modules->segment + WIRE_MODULES_AT) + id;
}

static char *text(const struct modules *modules)
{
	return (char *)modules->segment + WIRE_TEXT_AT;
}

/* Reserves room in the text; returns where, or WIRE_TEXT_BYTES if there is none. */
static uint32_t text_reserve(const struct modules *modules, uint32_t size)
{
	_Atomic uint32_t *used = &modules->segment->text_used;
	uint32_t at = atomic_load(used);

	do {
		if (size > WIRE_TEXT_BYTES - at)
			return WIRE_TEXT_BYTES;
	} while (!atomic_compare_exchange_weak(used, &at, at + size));
	return at;
}

/* --- what an image says of itself -------------------------------------------------------------*/

static uint32_t align4(uint32_t n)
{
	return (n + 3) & ~3u;
}

static struct bytes note_build_id(const char *note, size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const void *)note;
		size_t name = align4(header->n_namesz), total;

		total = sizeof(*header) + name + align4(header->n_descsz);
		if (total > size)
			break;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    !memcmp(header + 1, "GNU", 4))
			return (struct bytes){ (const char *)(header + 1) + name,
					       header->n_descsz };
		note += total;
		size -= total;
	}
	return (struct bytes){ NULL, 0 };
}

static struct bytes build_id(const struct image *image)
{
	const ElfW(Ehdr) *elf = (const void *)image->start;
	uintptr_t start = image->start, end = image->end;
	struct bytes none = { NULL, 0 };

	if (end - start < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > 4096)
		return none;
	const ElfW(Phdr) *header = (const void *)(start + elf->e_phoff);

	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		uintptr_t at = image->bias + header[i].p_vaddr;

		if (header[i].p_type != PT_NOTE || at < start || at > end ||
		    header[i].p_memsz > end - at)
			continue;
		struct bytes id = note_build_id((const char *)at, header[i].p_memsz);
		if (id.size)
			return id;
	}
	return none;
}

/* --- entering images --------------------------------------------------------------------------*/

/* The path, absolute; the first image is the program, which ld.so does not name. */
static void enter_path(struct modules *modules, struct wire_module *m, const char *name)
{
	const char *exe = text(modules) + modules->segment->exe_at;
	const char *path = *name ? name : exe;
	uint32_t size = *name ? (uint32_t)strlen(name) : modules->segment->exe_bytes;
	bool is_relative = *name && *name != '/' && strchr(name, '/');
	uint32_t room = is_relative ? CWD_BYTES : 0, at = text_reserve(modules, room + size);
	char *to = text(modules) + at;

	if (at == WIRE_TEXT_BYTES)
		return;
	long length = is_relative ? sys_getcwd(to, room) : 0;

	if (length > 0)
		to[length - 1] = '/';
	else
		length = 0;
	memcpy(to + length, path, size);
	m->path_at = at;
	m->path_bytes = (uint32_t)length + size;
}

static uint32_t enter_text(struct modules *modules, struct bytes bytes, uint32_t *at_is)
{
	uint32_t at = text_reserve(modules, bytes.size);

	if (at == WIRE_TEXT_BYTES || !bytes.size)
		return 0;
	memcpy(text(modules) + at, bytes.start, bytes.size);
	*at_is = at;
	return bytes.size;
}

static void keep(const struct modules *modules, struct module *m, const struct wire_module *wire)
{
	m->is_kept = wire->path_bytes + wire->build_id_bytes <= MODULE_TEXT_BYTES;
	if (!m->is_kept)
		return;
	m->bias = wire->bias;
	m->path_bytes = wire->path_bytes;
	m->build_id_bytes = wire->build_id_bytes;
	memcpy(m->text, text(modules) + wire->path_at, m->path_bytes);
	memcpy(m->text + m->path_bytes, text(modules) + wire->build_id_at, m->build_id_bytes);
}

static bool same(const struct modules *modules, uint32_t id, const struct image *image)
{
	const struct wire_module *wire = shared(modules, id);
	struct bytes found = build_id(image);

	return wire->start == image->start && wire->end == image->end && found.size &&
	       wire->build_id_bytes == found.size &&
	       !memcmp(text(modules) + wire->build_id_at, found.start, found.size);
}

/* Makes an image known that is there now. */
static struct module *set_ready(struct modules *modules, uint32_t id, const struct image *image)
{
	struct module *m = &modules->module[id];

	wire_raise(&modules->known, id + 1);
	m->id = id;
	m->start = image->start;
	m->checked = atomic_load(&modules->generation);
	unwind_image_loaded(&m->image, image->eh_frame_hdr, (const void *)image->end);
	atomic_store_explicit(&m->end, image->end, memory_order_release);
	return m;
}

/* One that was here before, went away, and is back. */
static struct module *revive(struct modules *modules, const struct image *image)
{
	uint32_t used = atomic_load(&modules->segment->modules_used);

	for (uint32_t id = 1; id < used && id < WIRE_MODULES; id++)
		if (modules->module[id].start && !modules->module[id].end &&
		    same(modules, id, image))
			return set_ready(modules, id, image);
	return NULL;
}

static struct module *enter(struct modules *modules, const struct image *image)
{
	uint32_t id = atomic_fetch_add(&modules->segment->modules_used, 1);

	if (id >= WIRE_MODULES) {
		atomic_fetch_sub(&modules->segment->modules_used, 1);
		return NULL;
	}
	struct wire_module *wire = shared(modules, id);

	wire->start = image->start;
	wire->end = image->end;
	wire->bias = image->bias;
	wire->generation = atomic_load(&modules->generation);
	enter_path(modules, wire, image->name);
	wire->build_id_bytes = enter_text(modules, build_id(image), &wire->build_id_at);
	keep(modules, &modules->module[id], wire);
	return set_ready(modules, id, image);
}

/* --- the child of a fork ----------------------------------------------------------------------*/

static void enter_kept(struct modules *modules, const struct module *m)
{
	struct wire_module *wire = shared(modules, m->id);
	const char *build_id = m->text + m->path_bytes;

	wire->start = m->start;
	wire->end = m->end;
	wire->bias = m->bias;
	wire->generation = m->checked;
	wire->path_bytes =
		enter_text(modules, (struct bytes){ m->text, m->path_bytes }, &wire->path_at);
	wire->build_id_bytes = enter_text(modules, (struct bytes){ build_id, m->build_id_bytes },
					  &wire->build_id_at);
}

void modules_inherit(struct modules *modules, struct wire_segment *segment)
{
	modules->segment = segment;
	atomic_store(&segment->modules_used, modules->known);
	for (uint32_t id = 1; id < modules->known; id++) {
		struct module *m = &modules->module[id];

		if (m->is_kept && m->end)
			enter_kept(modules, m);
		else
			*m = (struct module){ 0 };
	}
}

/* --- finding ----------------------------------------------------------------------------------*/

static struct module *known(struct modules *modules, uintptr_t pc)
{
	uint32_t used = atomic_load_explicit(&modules->segment->modules_used, memory_order_relaxed);

	for (uint32_t i = 1; i < used && i < WIRE_MODULES; i++) {
		struct module *m = &modules->module[i];
		uintptr_t end = atomic_load_explicit(&m->end, memory_order_acquire);

		if (pc < end && pc >= m->start)
			return m;
	}
	return NULL;
}

static bool ask_loader(struct image *image, uintptr_t pc)
{
	struct found_object object;

	if (real._dl_find_object((void *)pc, &object))
		return false;
	*image = (struct image){ .start = (uintptr_t)object.map_start,
				 .end = (uintptr_t)object.map_end,
				 .bias = object.link_map->l_addr,
				 .eh_frame_hdr = object.eh_frame_hdr,
				 .name = object.link_map->l_name };
	return true;
}

static bool ask_kernel(struct image *image, struct self_maps *maps, uintptr_t pc)
{
	if (!self_maps_find(maps, pc))
		return false;
	*image = (struct image){ .start = maps->start,
				 .end = maps->end,
				 .bias = maps->bias,
				 .eh_frame_hdr = maps->eh_frame_hdr,
				 .name = maps->path };
	return true;
}

/* Of a program with holes between its segments the loader tells the segment only. */
static bool is_segment(const struct image *image)
{
	uintptr_t hdr = (uintptr_t)image->eh_frame_hdr;

	return hdr && (hdr < image->start || hdr >= image->end);
}

static bool find_image(struct image *image, struct self_maps *maps, uintptr_t pc)
{
	struct image whole;

	if (!real._dl_find_object)
		return ask_kernel(image, maps, pc);
	if (!ask_loader(image, pc))
		return false;
	if (is_segment(image) && ask_kernel(&whole, maps, pc)) {
		whole.name = image->name;
		*image = whole;
	}
	return true;
}

/* What is there in place of an image that we knew, or in a place where we knew none. */
static struct module *find_again(struct modules *modules, struct module *m, uintptr_t pc)
{
	uint32_t generation = atomic_load(&modules->generation);
	struct self_maps maps = { 0 };
	struct image image;
	bool is_loaded = find_image(&image, &maps, pc);

	if (m && is_loaded && same(modules, m->id, &image)) {
		atomic_store(&m->checked, generation);
		goto out;
	}
	if (m) {
		atomic_store(&m->end, 0);
		trie_forget(modules->trie);
		m = NULL;
	}
	if (is_loaded && generation)
		m = revive(modules, &image);
	if (is_loaded && !m)
		m = enter(modules, &image);
out:
	self_maps_release(&maps);
	return m;
}

const struct module *modules_find(struct modules *modules, uintptr_t pc)
{
	struct module *m = known(modules, pc);

	if (m && m->checked == atomic_load_explicit(&modules->generation, memory_order_relaxed))
		return m;
	return find_again(modules, m, pc);
}

/* Few pages for few rows; where it grows, rows are looked up again. */
static unsigned int cache_bits(const struct modules *modules)
{
	uint32_t rows = atomic_load_explicit(&modules->rows, memory_order_relaxed);
	unsigned int bits = MODULES_CACHE_FIRST_BITS;

	while (bits < MODULES_CACHE_BITS && rows >> bits)
		bits++;
	return bits;
}

/*
 * The cache's half-written entries are misses for whoever reads them, another thread too.  It gives
 * the rule for pc, not the row, which is then one address long.
 */
void modules_row(struct modules *modules, uintptr_t pc, struct unwind_row *row)
{
	struct unwind_cache cache = { modules->cache, cache_bits(modules) };
	uint64_t offset = (uint64_t)atomic_load(&modules->generation) << 48;

	*row = (struct unwind_row){ .start = pc, .end = pc + 1 };
	if (unwind_cache_find(&cache, pc + offset, &row->rule))
		return;

	const struct module *m = modules_find(modules, pc);

	if (m)
		unwind_cfi_find(&m->image, pc, row);
	atomic_fetch_add_explicit(&modules->rows, 1, memory_order_relaxed);
	unwind_cache_add(&cache, pc + offset,
			 &(struct unwind_row){ row->start + offset, row->end + offset, row->rule });
}

uint64_t modules_code(struct modules *modules, uintptr_t pc)
{
	const struct module *m = modules_find(modules, pc);
	uint64_t code = 0;

	if (m && m->end - pc >= sizeof(code))
		memcpy(&code, (const void *)pc, sizeof(code));
	return code;
}

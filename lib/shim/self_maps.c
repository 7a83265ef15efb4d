/* SPDX-License-Identifier: MIT */
#include "shim/self_maps.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "shim/sys.h"

#define FIRST_BYTES ((size_t)64 << 10)
#define MOST_BYTES ((size_t)16 << 20)
#define HEADER_BYTES 4096

/* A line: start-end perms offset dev inode path */
struct line {
	uintptr_t start, end, offset;
	bool is_readable;
	char *path; /* "" without */
};

/* --- the text ---------------------------------------------------------------------------------*/

/* Terminated; false if it does not fit or cannot be read. */
static bool fill(struct self_maps *maps)
{
	long fd = sys_open("/proc/self/maps", O_RDONLY), got = -1;
	size_t used = 0;

	while (fd >= 0 && used < maps->text_bytes - 1 &&
	       (got = sys_read((int)fd, maps->text + used, maps->text_bytes - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		sys_close((int)fd);
	maps->text[used] = '\0';
	return !got;
}

static bool read_all(struct self_maps *maps)
{
	for (size_t size = FIRST_BYTES; size <= MOST_BYTES; size *= 4) {
		maps->text = sys_mmap_private(size);
		maps->text_bytes = size;
		if (sys_failed(maps->text)) {
			maps->text = NULL;
			return false;
		}
		if (fill(maps))
			return true;
		self_maps_release(maps);
	}
	return false;
}

static uintptr_t hex(char **at)
{
	uintptr_t value = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return value;
	}
}

static char *skip_words(char *at, int words)
{
	while (words--) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return at;
}

/* Takes the line at *at apart, and terminates it. */
static bool next_line(char **at, struct line *line)
{
	char *p = *at, *end = p + strcspn(p, "\n");

	if (!*p)
		return false;
	*at = *end ? end + 1 : end;
	*end = '\0';
	line->start = hex(&p);
	p += *p == '-';
	line->end = hex(&p);
	p = skip_words(p, 1);
	line->is_readable = *p == 'r';
	p = skip_words(p, 1);
	line->offset = hex(&p);
	line->path = skip_words(p, 3);
	return true;
}

/* --- the image --------------------------------------------------------------------------------*/

/* From the program headers in memory, at the start of the image. */
static bool read_headers(struct self_maps *maps)
{
	const ElfW(Ehdr) *elf = (const void *)maps->start;

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > HEADER_BYTES)
		return false;
	const ElfW(Phdr) *header = (const void *)(maps->start + elf->e_phoff);
	unsigned int i = 0;

	while (i < elf->e_phnum && header[i].p_type != PT_LOAD)
		i++;
	if (i == elf->e_phnum)
		return false;
	maps->bias = maps->start - (header[i].p_vaddr - header[i].p_offset);
	for (i = 0; i < elf->e_phnum; i++)
		if (header[i].p_type == PT_GNU_EH_FRAME)
			maps->eh_frame_hdr = (const void *)(maps->bias + header[i].p_vaddr);
	return true;
}

static bool begins_image(const struct line *line)
{
	return *line->path == '/' && line->is_readable && !line->offset;
}

/* An image is the lines of one file in a row; that of pc is looked for. */
static bool find_lines(struct self_maps *maps, uintptr_t pc)
{
	char *at = maps->text;
	bool has_pc = false;
	struct line line;

	maps->path = "";
	while (next_line(&at, &line)) {
		bool goes_on = *line.path == '/' && !strcmp(line.path, maps->path);

		if (!goes_on && has_pc)
			break;
		if (!goes_on) {
			maps->path = begins_image(&line) ? line.path : "";
			maps->start = line.start;
		}
		maps->end = line.end;
		has_pc |= *maps->path && pc >= line.start && pc < line.end;
	}
	return has_pc;
}

bool self_maps_find(struct self_maps *maps, uintptr_t pc)
{
	*maps = (struct self_maps){ 0 };
	return read_all(maps) && find_lines(maps, pc) && read_headers(maps);
}

void self_maps_release(struct self_maps *maps)
{
	if (maps->text)
		sys_munmap(maps->text, maps->text_bytes);
	maps->text = NULL;
}

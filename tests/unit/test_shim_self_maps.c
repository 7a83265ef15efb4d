/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/self_maps.h"

/* What the loader says of the image that address is in. */
struct truth {
	uintptr_t address, start, end, bias, eh_frame_hdr;
	const char *path;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct truth t = { .start = UINTPTR_MAX, .bias = info->dlpi_addr, .path = info->dlpi_name };
	struct truth *wanted = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			t.eh_frame_hdr = at;
		if (p->p_type != PT_LOAD)
			continue;
		t.start = at < t.start ? at : t.start;
		t.end = at + p->p_filesz > t.end ? at + p->p_filesz : t.end;
	}
	t.address = wanted->address;
	if (t.address < t.start || t.address >= t.end)
		return 0;
	*wanted = t;
	return 1;
}

static void expect_as_the_loader(uintptr_t address)
{
	struct truth truth = { .address = address };
	struct self_maps maps;

	cr_assert(dl_iterate_phdr(look, &truth));
	cr_assert(self_maps_find(&maps, address));
	cr_expect(eq(ulong, maps.start, truth.start & ~4095ul));
	cr_expect(ge(ulong, maps.end, truth.end));
	cr_expect(lt(ulong, maps.end, truth.end + 4096));
	cr_expect(eq(ulong, maps.bias, truth.bias));
	cr_expect(eq(ulong, (uintptr_t)maps.eh_frame_hdr, truth.eh_frame_hdr));
	char *path = realpath(*truth.path ? truth.path : "/proc/self/exe", NULL);

	cr_expect(eq(str, (char *)maps.path, path));
	self_maps_release(&maps);
}

Test(shim_self_maps, finds_code_where_the_loader_does)
{
	expect_as_the_loader((uintptr_t)expect_as_the_loader);
	expect_as_the_loader((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
	expect_as_the_loader((uintptr_t)dlsym(RTLD_DEFAULT, "elf_version"));
}

static bool is_found(const void *address)
{
	struct self_maps maps;
	bool found = self_maps_find(&maps, (uintptr_t)address);

	self_maps_release(&maps);
	return found;
}

Test(shim_self_maps, finds_nothing_in_memory_that_is_no_image)
{
	int local = 0;
	char *anonymous = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_expect(not(is_found(&local)));
	cr_expect(not(is_found(anonymous)));
	cr_expect(not(is_found(NULL)));
	cr_expect(not(is_found((void *)UINTPTR_MAX)));
}

Test(shim_self_maps, reads_lists_longer_than_its_first_buffer)
{
	/* Neighbours with different protection are a line each. */
	char *pages = mmap(NULL, 4096 * 3000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 3000; i += 2)
		mprotect(pages + i * 4096l, 4096, PROT_NONE);
	expect_as_the_loader((uintptr_t)expect_as_the_loader);
	expect_as_the_loader((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
}

// SPDX-License-Identifier: MIT
// FUZZ: lib/base/*.c lib/unwind/*.c lib/object/*.c lib/store/*.c lib/symbolize/*.c
/*
 * fuzz_symbolize - an ELF file that is not what it should be: everything that naming addresses
 * reads of one, in this process.
 *
 * libelf and libdw are not built for this and have crashes of their own, for which symbolize_file()
 * has its child; scripts/fuzz tells those from ours.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "object/elf_file.h"
#include "symbolize/source.h"

enum { PLACES = 40 }; /* to look up in each part of the code */

#define TIME_NS UINT64_C(2000000000)
#define MEMORY (UINT64_C(512) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int open_input(void *context, const struct profile_module *module)
{
	(void)module;
	return *(const int *)context;
}

static void look_up(struct source *source, uint64_t address, struct chain *chain)
{
	chain->at.nr = 0;
	source->kind->resolve(source, address, chain);
	if (!chain->at.nr)
		__builtin_trap(); /* at least one place, that is promised */
}

static void look_up_all(struct source *source, int fd)
{
	struct elf_file file = { 0 };
	struct chain chain = { 0 };

	if (elf_file_read(&file, fd, NULL) == 0)
		for (size_t i = 0; i < file.nr_loads && i < 4; i++)
			for (uint64_t place = 0; place < PLACES; place++)
				look_up(source,
					file.loads[i].address + file.loads[i].size / PLACES * place,
					&chain);
	look_up(source, UINT64_MAX, &chain);
	vec_free(&chain.at);
	elf_file_release(&file);
}

static void name_addresses(int fd)
{
	const struct symbolize_options options = { .open_module = open_input, .context = &fd };
	const struct profile_module module = { .name = "input" };
	struct profile_module described = module;
	const struct profile profile = { 0 };
	struct means means = { .options = &options, .packages.read = true };
	struct functions functions = { 0 };
	struct source_request request = {
		.profile = &profile, .module = &module, .means = &means, .functions = &functions
	};

	budget_begin(&means.budget, TIME_NS, MEMORY);
	struct source *source = source_open(&request);
	look_up_all(source, fd);
	source->kind->describe(source, &described);
	source->kind->close(source);
	functions_release(&functions);
	packages_release(&means.packages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size)
		name_addresses(fd);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "object/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its section headers come last; the kernel made it, so its own figures are right. */
static size_t size_of(const Elf64_Ehdr *ehdr)
{
	return ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
}

int vdso_copy(struct error *err)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!ehdr || ehdr->e_ident[EI_CLASS] != ELFCLASS64)
		return error_set(err, ERR_UNSUPPORTED, "this process has no vDSO to copy");

	int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "memfd_create");
	size_t size = size_of(ehdr);
	if (write(fd, ehdr, size) != (ssize_t)size) {
		close(fd);
		return error_errno(err, EIO, "copy the vDSO");
	}
	return fd;
}

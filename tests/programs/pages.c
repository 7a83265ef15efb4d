// SPDX-License-Identifier: MIT
/* pages N: writes to N fresh pages, so that it has N page faults more than "pages 0". */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = page * (argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
	char *memory;

	if (!size)
		return 0;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		((volatile char *)memory)[i] = 1;
	return 0;
}

// SPDX-License-Identifier: MIT
// PFLAGS: -static
/* static: allocates and computes a little, in an executable that no loader starts. */
#include <stdlib.h>

static volatile long sink;

int main(void)
{
	char *block = malloc(1000);

	for (long i = 0; i < 100000000; i++)
		sink += i;
	free(block);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * heap_succession CHILDREN - the program holds 5000 bytes, each of its children in turn 1,000,000 more, and
 * ends with them.  So no more than 1,005,000 are live at one time.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile block;

static _Noreturn void be_child(void)
{
	for (int i = 0; i < 10; i++)
		block = malloc(100000);
	_exit(0);
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 0;

	block = malloc(5000);
	for (int i = 0; i < children; i++) {
		if (!fork())
			be_child();
		wait(NULL);
	}
	return 0;
}

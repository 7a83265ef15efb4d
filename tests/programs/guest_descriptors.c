/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin -pthread
/*
 * guest_descriptors - looks at and closes all descriptors but the first three, and goes on.
 *
 * Prints the numbers of those that were open and the number that the next open() gives.  Then it
 * frees 1000 blocks, a new thread another 1000, and a child 1000.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void print_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	while ((entry = readdir(folder)))
		if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(folder))
			printf("%s ", entry->d_name);
	closedir(folder);
}

static void close_all(void)
{
	if (syscall(SYS_close_range, 3, ~0u, 0))
		for (int fd = 3; fd < 65536; fd++)
			close(fd);
}

static void *work(void *unused)
{
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i));
	return unused;
}

int main(void)
{
	pthread_t thread;

	print_open();
	close_all();
	printf("next %d\n", open("/dev/null", O_RDONLY));
	fflush(stdout);
	work(NULL);
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 2;
	pid_t pid = fork();
	if (!pid) {
		work(NULL);
		_exit(0);
	}
	int status;
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_seccomp HOW - gives up all system calls but those that an allocator and the end of a program
 * need, on pain of death, and goes on allocating: 3000 blocks.  HOW: by prctl, by syscall; writes: all
 * but write and _exit; twice: first the former, then the latter; strict: all but read, write and _exit, and the CPU's clock; try: only tries
 * whether it could, in every way that fails.
 *
 * Prints what it allocated and freed.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	ALLOW(mprotect),
	ALLOW(brk),
	ALLOW(futex),
	ALLOW(write),
	ALLOW(exit_group),
	ALLOW(prctl),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_filter only_writes[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(write),
	ALLOW(exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static unsigned long done;

static void allocate_and_free(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block));
	free(block);
	done++;
}

/* Stacks of many shapes, so that much is new to a guest. */
static __attribute__((noinline)) void deep(int n)
{
	volatile char room[512] = { 0 };

	if (n)
		deep(n - 1);
	else
		allocate_and_free(100);
	room[0]++;
}

static int fails(long result)
{
	return result == -1;
}

static int only_try(void)
{
	return fails(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL)) &&
			       fails(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL)) &&
			       fails(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1, NULL)) &&
			       fails(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL))
		       ? 0
		       : -1;
}

static int give_up(const char *how, struct sock_fprog *program)
{
	if (!strcmp(how, "try"))
		return only_try();
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	struct sock_fprog writes = { sizeof(only_writes) / sizeof(*only_writes), only_writes };
	static char buffer[128];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	allocate_and_free(1);
	if (argc != 2 || give_up(argv[1], strcmp(argv[1], "writes") ? &program : &writes))
		return 2;
	if (!strcmp(argv[1], "twice") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &writes))
		return 2;
	for (int i = 0; i < 3000; i++)
		deep(i % 60);
	printf("%lu %lu\n", done, done);
	fflush(stdout);
	if (!strcmp(argv[1], "strict"))
		syscall(SYS_exit, 0);
	return 0;
}

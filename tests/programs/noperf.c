// SPDX-License-Identifier: MIT
/*
 * noperf [-p | -t | -m] ERRNO PROGRAM [ARG...]: runs the program with perf_event_open refused by a
 * seccomp filter with that errno (1: as Docker does; 38: as older sandboxes do; 13: as security modules
 * do); with -p ptrace as well, with -t ptrace instead, with -m shared mappings to write to, as the rings
 * are, instead.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIELD_CALL = offsetof(struct seccomp_data, nr) };

#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field)
#define PASS_UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0), PASS
#define PASS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (reply & SECCOMP_RET_DATA))

static int set_filter(struct sock_filter *filter, size_t nr)
{
	struct sock_fprog program = { (unsigned short)nr, filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuse_call(unsigned int number, unsigned int reply)
{
	struct sock_filter filter[] = { LOAD(FIELD_CALL), PASS_UNLESS(number), REFUSE };

	return set_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

static int refuse_shared(unsigned int reply)
{
	struct sock_filter filter[] = { LOAD(FIELD_CALL),
					PASS_UNLESS(SYS_mmap),
					LOAD(ARGUMENT(2)),
					PASS_UNLESS(PROT_READ | PROT_WRITE),
					LOAD(ARGUMENT(3)),
					PASS_UNLESS(MAP_SHARED),
					REFUSE };

	return set_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

static int refuse(char what, unsigned int reply)
{
	int ret = what == 'm' ? refuse_shared(reply) : 0;

	if (!ret && (what == 'p' || what == 't'))
		ret = refuse_call(SYS_ptrace, reply);
	if (!ret && (what == 'p' || !what))
		ret = refuse_call(SYS_perf_event_open, reply);
	return ret;
}

int main(int argc, char **argv)
{
	char what = argc > 1 && argv[1][0] == '-' ? argv[1][1] : '\0';
	char **arguments = argv + 1 + !!what;
	unsigned int reply = argc > 2 + !!what ? (unsigned int)atoi(arguments[0]) : 0;

	if (!reply) {
		fprintf(stderr, "usage: noperf [-p | -t | -m] ERRNO PROGRAM [ARG...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || refuse(what, reply) < 0) {
		perror("seccomp");
		return 2;
	}
	execvp(arguments[1], arguments + 1);
	perror(arguments[1]);
	return 2;
}

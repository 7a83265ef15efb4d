// SPDX-License-Identifier: MIT
/*
 * noperf [-p | -t] ERRNO PROGRAM [ARG...]: runs the program with perf_event_open refused by a seccomp
 * filter with that errno (1: as Docker does; 38: as older sandboxes do); with -p ptrace as well, with
 * -t ptrace instead.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	bool both = argc > 1 && !strcmp(argv[1], "-p"), ptrace = argc > 1 && !strcmp(argv[1], "-t");
	char **arguments = argv + 1 + (both || ptrace);
	unsigned int reply = argc > 2 + (both || ptrace) ? (unsigned int)atoi(arguments[0]) : 0;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ptrace ? SYS_ptrace : SYS_perf_event_open, 1,
			 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 both || ptrace ? SYS_ptrace : SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (reply & SECCOMP_RET_DATA)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (!reply) {
		fprintf(stderr, "usage: noperf [-p | -t] ERRNO PROGRAM [ARG...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("seccomp");
		return 2;
	}
	execvp(arguments[1], arguments + 1);
	perror(arguments[1]);
	return 2;
}

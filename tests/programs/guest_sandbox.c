/* SPDX-License-Identifier: MIT */
/*
 * Filters its system calls, and then executes a program:
 *
 *	guest_sandbox ACTION WAY PROGRAM [ARGUMENT...]
 *
 * ACTION is what the filter does to all but what a plain program of libc's needs: kill, trap, errno; most:
 * errno as well, but only to what containers refuse.  WAY: path, lookup (along PATH), spawn, or list,
 * by execl().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

extern char **environ;

static const int plain[] = {
	__NR_execve,
	__NR_brk,
	__NR_mmap,
	__NR_munmap,
	__NR_mprotect,
	__NR_mremap,
	__NR_madvise,
	__NR_faccessat,
	__NR_openat,
	__NR_read,
	__NR_pread64,
	__NR_fstat,
	__NR_newfstatat,
	__NR_close,
	__NR_set_tid_address,
	__NR_set_robust_list,
	__NR_prlimit64,
	__NR_exit_group,
	__NR_exit,
	__NR_write,
	__NR_writev,
	__NR_ioctl,
	__NR_lseek,
	__NR_futex,
	__NR_rt_sigaction,
	__NR_rt_sigprocmask,
	__NR_rt_sigreturn,
	__NR_getpid,
	__NR_gettid,
	__NR_getuid,
	__NR_geteuid,
	__NR_getgid,
	__NR_getegid,
	__NR_fcntl,
	__NR_clock_gettime,
	__NR_clone,
	__NR_wait4,
	__NR_prctl,
#ifdef __NR_getrandom
	__NR_getrandom,
#endif
#ifdef __NR_rseq
	__NR_rseq,
#endif
#ifdef __NR_clone3
	__NR_clone3,
#endif
#ifdef __NR_access
	__NR_access,
	__NR_open,
	__NR_arch_prctl,
	__NR_stat,
	__NR_vfork,
	__NR_readlink,
#endif
};

static const int refused_by_most[] = { __NR_ptrace, __NR_mount, __NR_reboot, __NR_perf_event_open,
				       __NR_kexec_load };

static struct sock_filter code[LENGTH(plain) * 2 + 8];
static unsigned short used;

static void add(struct sock_filter instruction)
{
	code[used++] = instruction;
}

static void on_call(int number, unsigned int action)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static unsigned int action_called(const char *name)
{
	if (!strcmp(name, "kill"))
		return SECCOMP_RET_KILL_PROCESS;
	return !strcmp(name, "trap") ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM;
}

static void make(const char *name)
{
	unsigned int action = action_called(name);

	used = 0;
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	if (!strcmp(name, "most")) {
		for (size_t i = 0; i < LENGTH(refused_by_most); i++)
			on_call(refused_by_most[i], action);
		action = SECCOMP_RET_ALLOW;
	} else {
		for (size_t i = 0; i < LENGTH(plain); i++)
			on_call(plain[i], SECCOMP_RET_ALLOW);
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static int spawn(char **command)
{
	int status = 0;
	pid_t pid;

	if (posix_spawn(&pid, command[0], NULL, NULL, command, environ) ||
	    waitpid(pid, &status, 0) < 0)
		return 8;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };

	if (argc < 4)
		return 2;
	make(argv[1]);
	program.len = used;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	if (!strcmp(argv[2], "spawn"))
		return spawn(argv + 3);
	if (!strcmp(argv[2], "path"))
		execv(argv[3], argv + 3);
	else if (!strcmp(argv[2], "lookup"))
		execvp(argv[3], argv + 3);
	else
		execl(argv[3], argv[3], argv[4], argv[5], (char *)NULL);
	perror(argv[3]);
	return 8;
}

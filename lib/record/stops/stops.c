/* SPDX-License-Identifier: MIT */
#include "record/stops/stops.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/ptrace_regs.h"
#include "base/clock.h"
#include "base/proc_file.h"
#include "base/vec.h"

/* How it is known to headers since glibc 2.35 only. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
	ALARM_AGAIN_NS = 5000000,
	HALT_AGAIN_US = 20,
};

/* --- permission -------------------------------------------------------------------------------*/

static int refused(pid_t pid, int error, struct error *err)
{
	int scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", 0);

	if (error == ESRCH)
		return error_errno(err, error, "look at process %d", (int)pid);
	if (error == EPERM && scope > 0) {
		error_set(err, ERR_REFUSED,
			  "ptrace of this process is for privileged users only "
			  "(kernel.yama.ptrace_scope is %d)",
			  scope);
		return error_hint(err, "as root: sysctl kernel.yama.ptrace_scope=0%s",
				  scope == 1 ? "; of a program that cprof starts it is allowed"
					     : "");
	}
	return error_set(err, ERR_REFUSED, "ptrace is refused (%s)", strerror(error));
}

/*
 * Whoever may read its memory may trace it.  A filter of system calls may know the one and not the
 * other, so ptrace is called as well, with an argument that makes no sense.
 */
int stops_probe(pid_t pid, struct error *err)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { NULL, 1 };

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0 && errno != EFAULT)
		return refused(pid, errno, err);
	if (ptrace(PTRACE_SEIZE, pid, (void *)1, NULL) < 0 && errno != EIO)
		return refused(pid, errno, err);
	return 0;
}

/* --- the alarm --------------------------------------------------------------------------------*/

static void do_nothing(int signal)
{
	(void)signal;
}

int stops_make_timer(timer_t *timer, clockid_t clock)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = STOPS_SIGNAL };

	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	return timer_create(clock, &event, timer) < 0 ? -errno : 0;
}

/* It ends a wait, so it may not restart it. */
int stops_open(struct stops *stops, pid_t child, struct error *err)
{
	struct sigaction action = { .sa_handler = do_nothing };
	int ret;

	*stops = (struct stops){ .child = child };
	sigaction(STOPS_SIGNAL, &action, NULL);
	ret = stops_make_timer(&stops->alarm, CLOCK_MONOTONIC);
	if (ret < 0)
		return error_errno(err, -ret, "make a timer");
	stops->has_alarm = true;
	return 0;
}

/* SIG_BLOCK or SIG_UNBLOCK; former: NULL or what was. */
static void mask(int how, sigset_t *former)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, STOPS_SIGNAL);
	pthread_sigmask(how, &set, former);
}

/* Again and again: the first may come before the wait that it is to end. */
static void set_alarm(const struct stops *stops, uint64_t at_ns)
{
	const struct itimerspec when = {
		.it_value = { (time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000) },
		.it_interval = { 0, at_ns ? ALARM_AGAIN_NS : 0 },
	};

	timer_settime(stops->alarm, TIMER_ABSTIME, &when, NULL);
}

void stops_close(struct stops *stops)
{
	if (stops->has_alarm)
		timer_delete(stops->alarm);
	stops->has_alarm = false;
	vec_free(&stops->pending);
}

/* --- which are pending ------------------------------------------------------------------------*/

static bool is_pending(const struct stops *stops, pid_t tid)
{
	vec_each(&stops->pending, at) if (*at == tid) return true;
	return false;
}

static void forget(struct stops *stops, pid_t tid)
{
	for (size_t i = 0; i < stops->pending.nr; i++)
		if (stops->pending.at[i] == tid) {
			stops->pending.at[i] = *vec_last(&stops->pending);
			stops->pending.nr--;
			return;
		}
}

/* Of those that we trace only: nothing else is looked for by their parent. */
static int look(idtype_t type, pid_t tid, int what, siginfo_t *info)
{
	*info = (siginfo_t){ 0 };
	return waitid(type, (id_t)tid, info, what | __WALL | __WNOTHREAD);
}

static bool is_end(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

/* What has ended while it was traced waits for us before its parent hears of it. */
static bool take_end(const struct stops *stops, pid_t tid)
{
	siginfo_t info;

	if (look(P_PID, tid, WEXITED | WNOHANG | WNOWAIT, &info) < 0)
		return true;
	if (!info.si_pid || !is_end(&info))
		return false;
	if (tid != stops->child)
		look(P_PID, tid, WEXITED | WNOHANG, &info);
	return true;
}

static void take_ends(struct stops *stops)
{
	for (size_t i = stops->pending.nr; i--;)
		if (take_end(stops, stops->pending.at[i]))
			forget(stops, stops->pending.at[i]);
}

/*
 * One that has stopped and of which the kernel tells nothing more: somebody else's wait has taken
 * that.  Nothing may stay so.
 */
static bool find_untold(const struct stops *stops, struct stop *stop)
{
	siginfo_t info;

	for (size_t i = 0; i < stops->pending.nr; i++) {
		pid_t tid = stops->pending.at[i];

		if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
			continue;
		*stop = (struct stop){ tid, info.si_code >> 8 == PTRACE_EVENT_STOP
						    ? info.si_code
						    : info.si_signo };
		return true;
	}
	return false;
}

int stops_ask(struct stops *stops, pid_t tid)
{
	if (is_pending(stops, tid))
		return -EALREADY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	vec_push(&stops->pending, tid);
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

static bool next(struct stops *stops, int how, struct stop *stop)
{
	siginfo_t info;

	if (!stops->pending.nr)
		return false;
	if (look(P_ALL, 0, WSTOPPED | how, &info) < 0 && errno == ECHILD) {
		take_ends(stops);
		stops->pending.nr = 0;
		return false;
	}
	if (!info.si_pid)
		return false;
	*stop = (struct stop){ info.si_pid, info.si_status };
	return true;
}

bool stops_next(struct stops *stops, struct stop *stop)
{
	return next(stops, WNOHANG, stop);
}

static void sleep_until(int fd, uint64_t until_ns)
{
	uint64_t now = clock_now_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec time = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	sigset_t set;

	mask(SIG_BLOCK, &set);
	sigdelset(&set, STOPS_SIGNAL);
	ppoll(&poll, 1, &time, &set);
}

bool stops_wait(struct stops *stops, int fd, uint64_t until_ns, struct stop *stop)
{
	bool found;

	take_ends(stops);
	if (stops_next(stops, stop) || find_untold(stops, stop))
		return true;
	if (!stops->pending.nr) {
		sleep_until(fd, until_ns);
		return false;
	}
	set_alarm(stops, until_ns);
	mask(SIG_UNBLOCK, NULL);
	found = next(stops, 0, stop);
	mask(SIG_BLOCK, NULL);
	set_alarm(stops, 0);
	return found;
}

static void drop_ended(const struct stops *stops, struct stops_halted *halted)
{
	size_t kept = 0;

	for (size_t i = 0; i < halted->nr; i++)
		if (is_pending(stops, halted->at[i].tid))
			halted->at[kept++] = halted->at[i];
	halted->nr = kept;
}

bool stops_halt(struct stops *stops, struct stops_halted *halted, uint64_t until_ns)
{
	struct stop stop;

	for (;;) {
		while (stops_next(stops, &stop))
			vec_push(halted, stop);
		take_ends(stops);
		if (halted->nr >= stops->pending.nr)
			drop_ended(stops, halted);
		if (halted->nr == stops->pending.nr)
			return true;
		if (clock_now_ns() >= until_ns)
			return false;
		usleep(HALT_AGAIN_US);
	}
}

/* --- one that has stopped ---------------------------------------------------------------------*/

/* Whether it stopped for us, not by a signal or with its job. */
static bool is_ours(const struct stop *stop)
{
	return stop->status == (SIGTRAP | PTRACE_EVENT_STOP << 8);
}

/* These return EINTR after any stop, or where their socket has a timeout. */
static bool may_go_on(long system_call)
{
	static const long known[] = {
		SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_semtimedop,
		SYS_semop,	 SYS_io_getevents, SYS_io_pgetevents,	SYS_io_uring_enter,
		SYS_read,	 SYS_readv,	   SYS_write,		SYS_writev,
		SYS_recvfrom,	 SYS_recvmsg,	   SYS_recvmmsg,	SYS_sendto,
		SYS_sendmsg,	 SYS_sendmmsg,	   SYS_accept,		SYS_accept4,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] == system_call)
			return true;
	return false;
}

static void take_back_interruption(const struct stop *stop, struct user_regs_struct *registers)
{
	struct iovec bytes = { registers, sizeof(*registers) };

	if (!is_ours(stop) || !may_go_on(arch_ptrace_interrupted(registers)))
		return;
	arch_ptrace_restart(registers);
	ptrace(PTRACE_SETREGSET, stop->tid, NT_PRSTATUS, &bytes);
}

int stop_read(const struct stop *stop, struct stop_registers *registers)
{
	struct user_regs_struct raw = { 0 };
	struct iovec bytes = { &raw, sizeof(raw) };

	*registers = (struct stop_registers){ 0 };
	if (ptrace(PTRACE_GETREGSET, stop->tid, NT_PRSTATUS, &bytes) < 0)
		return -errno;
	registers->is_32_bit = bytes.iov_len < sizeof(raw);
	if (registers->is_32_bit) {
		registers->pc = (uint32_t)arch_ptrace_word(&raw, ARCH_PTRACE_PC_32);
		registers->words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_PC)] = registers->pc;
		return 0;
	}
	arch_ptrace_to_perf(&raw, registers->words);
	registers->ends_call = arch_ptrace_ends_call(&raw);
	registers->pc = registers->words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_PC)];
	registers->sp = registers->words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_SP)];
	take_back_interruption(stop, &raw);
	return 0;
}

/* What is killed while it is stopped stays pending until its end was taken. */
void stops_let_go(struct stops *stops, const struct stop *stop)
{
	bool is_event = stop->status >> 8;
	long signal = is_event ? 0 : stop->status;

	if (ptrace(PTRACE_DETACH, stop->tid, NULL, signal) < 0)
		return;
	forget(stops, stop->tid);
	/* The kernel told us of the stop of its job, and does not so again. */
	if (is_event && !is_ours(stop))
		kill(getpid(), SIGCHLD);
}

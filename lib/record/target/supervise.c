/* SPDX-License-Identifier: MIT */
#include "record/target/supervise.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * timeout(1) and service managers send a signal to us and, at once, to our whole group: this is
 * one request, not two.
 */
static const uint64_t same_request_ns = 200000000;
static const useconds_t job_moment_us = 20000;

int supervise_begin(struct supervisor *supervisor, struct error *err)
{
	static const int handled[] = {
		SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP
	};
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	*supervisor = (struct supervisor){ .signal_fd = -1 };
	terminal_modes_remember(&supervisor->modes);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaddset(&set, handled[i]);
	/* With SIGCHLD ignored there would be nothing to wait for. */
	sigaction(SIGCHLD, &standard, NULL);
	/* What cannot be written is an error to report, not an end. */
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);

	supervisor->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor->signal_fd < 0)
		return error_errno(err, errno, "make a signalfd");
	return 0;
}

void supervise_end(struct supervisor *supervisor)
{
	if (supervisor->signal_fd >= 0)
		close(supervisor->signal_fd);
	supervisor->signal_fd = -1;
}

/* The signal that the program is stopped by; 0: it is not stopped, or that was told already.
 * WNOWAIT as flag: this is no telling. */
static int stopped_by(pid_t pid, int flag)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | flag) < 0 || info.si_pid != pid ||
	    info.si_code != CLD_STOPPED)
		return 0;
	return info.si_status;
}

/* With the effect it has by default, at once: returns when we are continued. */
static void stop_by(int signal)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, former;
	sigset_t set, mask;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigaction(signal, &standard, &former);
	raise(signal);
	pthread_sigmask(SIG_UNBLOCK, &set, &mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	sigaction(signal, &former, NULL);
}

/*
 * The shell waits for us, so it learns that its job has stopped when we do.  The program comes
 * first: it may have to put the terminal in order.  A program stopped by SIGSTOP is somebody's who
 * will continue it.  A moment later the stop may be over: then it was that of a job which is
 * continued just now.
 */
static void follow_stop(pid_t pid)
{
	int signal;

	if (!stopped_by(pid, WNOWAIT))
		return;
	usleep(job_moment_us);
	signal = stopped_by(pid, WNOWAIT) ? stopped_by(pid, 0) : 0;
	if (!signal || signal == SIGSTOP || getpgid(pid) != getpgrp())
		return;
	log_debug(LOG_TARGET, "stopping like the program, by %s", strsignal(signal));
	stop_by(signal);
	/* Whoever continued us alone means the program. */
	kill(pid, SIGCONT);
}

/* Without taking away the stops of a thread of ours that traces it (record/stops). */
static bool is_over(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == pid && info.si_code != CLD_TRAPPED;
}

static bool has_ended(struct supervisor *supervisor, pid_t pid)
{
	if (is_over(pid) &&
	    wait4(pid, &supervisor->wait_status, WNOHANG, &supervisor->usage) == pid) {
		supervisor->ended_ns = clock_now_ns();
		if (WIFSIGNALED(supervisor->wait_status))
			terminal_modes_restore(&supervisor->modes);
		return true;
	}
	follow_stop(pid);
	return false;
}

/* From the terminal to our group, or from the program to its group, as `kill 0` in a script. */
static bool reached_program(const struct signalfd_siginfo *info, pid_t pid)
{
	if (info->ssi_code == SI_KERNEL)
		return getpgid(pid) == getpgrp();
	return (pid_t)info->ssi_pid == pid;
}

/* As under nohup, or in the background of a script, where ^C is meant for others.  What somebody
 * sends to us is meant for us. */
static bool is_to_be_ignored(const struct signalfd_siginfo *info)
{
	struct sigaction action;

	return info->ssi_code == SI_KERNEL && !sigaction((int)info->ssi_signo, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

/* By somebody else than the program, however that hears of it. */
static void note_request(struct supervisor *supervisor, const struct signalfd_siginfo *info,
			 pid_t pid)
{
	bool by_program = pid > 0 && (pid_t)info->ssi_pid == pid;

	if (!supervisor->asked && !by_program && !is_to_be_ignored(info))
		supervisor->asked = (int)info->ssi_signo;
}

/* True: it is the second request. */
static bool pass_on(struct supervisor *supervisor, const struct signalfd_siginfo *info, pid_t pid)
{
	uint64_t now = clock_now_ns();

	if (pid < 0)
		return !is_to_be_ignored(info);
	if (reached_program(info, pid))
		return false;
	if (supervisor->asked_ns && now - supervisor->asked_ns > same_request_ns)
		return true;
	if (!supervisor->asked_ns)
		supervisor->asked_ns = now;
	log_debug(LOG_TARGET, "passing on %s", strsignal((int)info->ssi_signo));
	kill(pid, (int)info->ssi_signo);
	return false;
}

/* ^Z: what the program makes of it, we do as well. */
static void take_stop(const struct signalfd_siginfo *info, pid_t pid)
{
	if (pid < 0)
		stop_by(SIGTSTP);
	else if (!reached_program(info, pid))
		kill(pid, SIGTSTP);
}

/* SUPERVISE_OTHER: nothing that the caller has to know. */
static enum supervise_event take_signal(struct supervisor *supervisor, pid_t pid)
{
	struct signalfd_siginfo info;

	if (read(supervisor->signal_fd, &info, sizeof(info)) != sizeof(info))
		return SUPERVISE_OTHER;
	switch (info.ssi_signo) {
	case SIGCHLD:
		return pid > 0 && has_ended(supervisor, pid) ? SUPERVISE_ENDED : SUPERVISE_OTHER;
	case SIGUSR1:
		return SUPERVISE_COMMIT;
	case SIGTSTP:
		take_stop(&info, pid);
		return SUPERVISE_OTHER;
	default:
		note_request(supervisor, &info, pid);
		return pass_on(supervisor, &info, pid) ? SUPERVISE_LEAVE : SUPERVISE_OTHER;
	}
}

enum supervise_event supervise_wait(struct supervisor *supervisor, pid_t pid, int other_fd)
{
	struct pollfd polls[] = { { supervisor->signal_fd, POLLIN, 0 }, { other_fd, POLLIN, 0 } };

	for (;;) {
		poll(polls, 2, -1);
		if (polls[0].revents & POLLIN) {
			enum supervise_event event = take_signal(supervisor, pid);

			if (event != SUPERVISE_OTHER)
				return event;
		}
		if (polls[1].revents & POLLIN)
			return SUPERVISE_OTHER;
	}
}

int supervise_asked(struct supervisor *supervisor)
{
	struct pollfd pending = { supervisor->signal_fd, POLLIN, 0 };

	while (poll(&pending, 1, 0) > 0)
		take_signal(supervisor, -1);
	return supervisor->asked;
}

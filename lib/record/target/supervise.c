/* SPDX-License-Identifier: MIT */
#include "record/target/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/*
 * timeout(1) and service managers send a signal to us and, at once, to our whole group: this is
 * one request, not two.
 */
static const uint64_t same_request_ns = 200000000;

int supervise_begin(struct supervisor *supervisor, struct error *err)
{
	static const int handled[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 };
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	*supervisor = (struct supervisor){ .signal_fd = -1 };
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
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

static bool has_ended(struct supervisor *supervisor, pid_t pid)
{
	if (wait4(pid, &supervisor->wait_status, WNOHANG, &supervisor->usage) != pid)
		return false;
	supervisor->ended_ns = clock_now_ns();
	return true;
}

static bool reached_program(const struct signalfd_siginfo *info, pid_t pid)
{
	return info->ssi_code == SI_KERNEL && getpgid(pid) == getpgrp();
}

/* As under nohup, or in the background of a script, where ^C is meant for others.  What somebody
 * sends to us is meant for us. */
static bool is_to_be_ignored(const struct signalfd_siginfo *info)
{
	struct sigaction action;

	return info->ssi_code == SI_KERNEL && !sigaction((int)info->ssi_signo, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
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
	default:
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

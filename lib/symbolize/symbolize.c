/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/signal_text.h"
#include "base/vec.h"
#include "store/writer.h"
#include "symbolize/job.h"

/* A module that keeps us busy for longer is made to do so. */
enum { SECONDS_PER_MODULE = 60 };

enum { TICK_MS = 200 }; /* between signs of life */

enum { LARGE_PAGE = 2 << 20, LARGE_HEAP = 256 << 20 };

enum { EXIT_NO_READER = 1, EXIT_NO_MEMORY };

/* What the child says; short enough that write() does not cut it into pieces. */
struct message {
	enum { BEGIN_MODULE, FETCH, DONE } kind;
	uint32_t module;
	struct symbolize_progress progress; /* but for its module's name, which is: */
	char name[256];
	struct error err; /* of DONE; code 0: all is well */
};

struct supervisor {
	struct job job;
	VEC(struct job_limit) limits;
	int pipe[2];
	pid_t child;
	int signals;	     /* of ours, to be passed on to the child */
	bool in_module;	     /* the last that was begun; a crash is its fault */
	struct message last; /* from the child */
	unsigned int seconds_per_module;
};

/* --- the child ----------------------------------------------------------------------------- */

static void send_message(int fd, const struct message *message)
{
	_Static_assert(sizeof(*message) <= 4096, "PIPE_BUF");
	if (write(fd, message, sizeof(*message)) < 0)
		_exit(EXIT_NO_READER);
}

static void begin_module(void *context, const struct profile_module *module, size_t done,
			 size_t total)
{
	struct supervisor *supervisor = context;
	struct message message = {
		.kind = BEGIN_MODULE,
		.module = module->id,
		.progress = { .done = done, .total = total },
	};

	snprintf(message.name, sizeof(message.name), "%s", module->name);
	send_message(supervisor->pipe[1], &message);
	supervisor->last = message;
	alarm(supervisor->seconds_per_module);
}

static volatile sig_atomic_t nr_interrupts;

static void note_interrupt(int signal_nr)
{
	(void)signal_nr;
	nr_interrupts++;
}

/* A slow network is not the module's fault. */
static void begin_fetching(void *context)
{
	(void)context;
	alarm(0);
	signal(SIGINT, note_interrupt);
}

static enum debuginfod_verdict watch_fetching(void *context, uint64_t got, uint64_t size)
{
	struct supervisor *supervisor = context;
	static int nr_obeyed;

	supervisor->last.kind = FETCH;
	supervisor->last.progress.fetching = true;
	supervisor->last.progress.fetched_bytes = got;
	supervisor->last.progress.fetch_bytes = size;
	send_message(supervisor->pipe[1], &supervisor->last);
	if (nr_obeyed == nr_interrupts)
		return DEBUGINFOD_GO_ON;
	nr_obeyed = nr_interrupts;
	return nr_interrupts > 1 ? DEBUGINFOD_STOP : DEBUGINFOD_SKIP;
}

static void end_fetching(void *context)
{
	struct supervisor *supervisor = context;

	signal(SIGINT, SIG_DFL);
	if (supervisor->last.kind == FETCH) {
		supervisor->last.progress.fetching = false;
		send_message(supervisor->pipe[1], &supervisor->last);
	}
	alarm(supervisor->seconds_per_module);
}

/* The recorder catches signals; here they do what they do by default, but for what is meant for it. */
static void reset_signals(void)
{
	sigset_t none;

	for (int signal_nr = 1; signal_nr < NSIG; signal_nr++)
		if (signal_nr != SIGUSR1)
			signal(signal_nr, SIG_DFL);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void out_of_memory(size_t size)
{
	(void)size;
	_exit(EXIT_NO_MEMORY);
}

/*
 * Debug information takes hundreds of MB, 4 KiB at a time: a quarter of the time goes to page
 * faults.  So the heap begins with a large piece, of which little is used until it is needed.
 */
static void prefer_large_pages(uint64_t budget_bytes)
{
	const uintptr_t mask = LARGE_PAGE - 1;
	bool small = budget_bytes && budget_bytes < LARGE_HEAP;

	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, LARGE_HEAP);
	mallopt(M_TOP_PAD, small ? (int)budget_bytes : LARGE_HEAP);
	uintptr_t start = ((uintptr_t)sbrk(0) + mask) & ~mask;
	void *volatile piece = malloc(LARGE_PAGE); /* or the compiler sees that nobody wants it */
	free(piece);
	uintptr_t end = (uintptr_t)sbrk(0) & ~mask;
	mallopt(M_TOP_PAD, LARGE_PAGE);
	if (start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

static void child(struct supervisor *supervisor)
{
	struct message done = { .kind = DONE };
	struct rlimit no_core = { 0, 0 };

	reset_signals();
	prefer_large_pages(supervisor->job.options->budget_bytes);
	alloc_set_out_of_memory(out_of_memory);
	setrlimit(RLIMIT_CORE, &no_core);
	/* libdw would ask there; no other thread is left here.
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	unsetenv("DEBUGINFOD_URLS");
	done.err.code = job_run(&supervisor->job, &done.err);
	send_message(supervisor->pipe[1], &done);
	_exit(0);
}

/* --- the parent ---------------------------------------------------------------------------- */

static bool receive(int fd, struct message *message)
{
	size_t got = 0;

	while (got < sizeof(*message)) {
		ssize_t n = read(fd, (char *)message + got, sizeof(*message) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* What a terminal sends has reached the child as well. */
static void pass_on(const struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	while (read(supervisor->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_code != SI_KERNEL)
			kill(supervisor->child, (int)info.ssi_signo);
}

/* Until the child says something, or a moment has passed: then false. */
static bool wait_for_message(const struct supervisor *supervisor)
{
	struct pollfd fds[] = { { .fd = supervisor->pipe[0], .events = POLLIN },
				{ .fd = supervisor->signals, .events = POLLIN } };

	if (poll(fds, ARRAY_SIZE(fds), TICK_MS) > 0 && fds[1].revents)
		pass_on(supervisor);
	return fds[0].revents;
}

static void show(struct supervisor *supervisor)
{
	const struct symbolize_options *options = supervisor->job.options;

	if (!options->progress || !supervisor->in_module)
		return;
	supervisor->last.progress.module = supervisor->last.name;
	options->progress(options->context, &supervisor->last.progress);
}

static int start(struct supervisor *supervisor, struct error *err)
{
	if (pipe2(supervisor->pipe, O_CLOEXEC) < 0)
		return error_errno(err, errno, "pipe for symbolizing");
	supervisor->in_module = false;
	supervisor->child = fork();
	if (supervisor->child == 0) {
		close(supervisor->pipe[0]);
		child(supervisor);
	}
	close(supervisor->pipe[1]);
	if (supervisor->child > 0)
		return 0;
	close(supervisor->pipe[0]);
	return error_errno(err, errno, "fork for symbolizing");
}

/* True when the child came to an end that it could tell of. */
static bool listen_to(struct supervisor *supervisor, struct error *err)
{
	struct message message;

	for (;;) {
		if (wait_for_message(supervisor)) {
			if (!receive(supervisor->pipe[0], &message))
				return false;
			if (message.kind == DONE)
				break;
			supervisor->in_module = true;
			supervisor->last = message;
		}
		show(supervisor);
	}
	*err = message.err;
	return true;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static char *reason_for(int status, unsigned int seconds)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return xasprintf("reading it took longer than %u s", seconds);
	if (WIFSIGNALED(status))
		return xasprintf("reading it crashed (%s)", signal_text(WTERMSIG(status)).text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MEMORY)
		return xasprintf("reading it takes more memory than there is");
	return xasprintf("reading it failed (exit status %d)", WEXITSTATUS(status));
}

static struct job_limit *limit_of(struct supervisor *supervisor, uint32_t module)
{
	vec_each(&supervisor->limits, limit) if (limit->module == module) return limit;
	struct job_limit *limit = vec_add(&supervisor->limits);
	limit->module = module;
	return limit;
}

/* The next attempt leaves out of that module what this one died of.  False if it had nothing. */
static bool lower_effort(struct supervisor *supervisor, int status)
{
	struct job_limit *limit = limit_of(supervisor, supervisor->last.module);

	if (limit->effort == EFFORT_NONE)
		return false;
	limit->effort++;
	free((char *)limit->reason);
	limit->reason = reason_for(status, supervisor->seconds_per_module);
	supervisor->job.limits = supervisor->limits.at;
	supervisor->job.nr_limits = supervisor->limits.nr;
	return true;
}

static bool was_stopped(int status)
{
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM ||
				       WTERMSIG(status) == SIGHUP);
}

/* A child that was killed within its transaction has left the means to undo it beside the file. */
static void undo(const char *path)
{
	struct writer *writer = NULL;

	if (writer_open_existing(&writer, path, NULL) == 0)
		writer_close(writer);
}

static void explain_end(const struct supervisor *supervisor, int status, struct error *err)
{
	char *path = command_fit(&supervisor->job.path, 1, SIZE_MAX);

	if (was_stopped(status))
		error_set(err, ERR_INTERRUPTED, "stopped by %s while looking up names",
			  signal_text(WTERMSIG(status)).text);
	else if (WIFSIGNALED(status))
		error_set(err, ERR_INTERNAL, "looking up names was ended by %s",
			  signal_text(WTERMSIG(status)).text);
	else
		error_set(err, ERR_INTERNAL, "looking up names ended with exit status %d",
			  WEXITSTATUS(status));
	error_hint(err, "the profile is whole; `cprof symbolize %s` looks them up again", path);
	free(path);
}

enum verdict { FINISHED, AGAIN };

static enum verdict attempt(struct supervisor *supervisor, struct error *err)
{
	if (start(supervisor, err) < 0)
		return FINISHED;
	bool told = listen_to(supervisor, err);
	close(supervisor->pipe[0]);
	int status = wait_for(supervisor->child);

	if (told)
		return FINISHED;
	undo(supervisor->job.path);
	if (!was_stopped(status) && supervisor->in_module && lower_effort(supervisor, status))
		return AGAIN;
	explain_end(supervisor, status, err);
	return FINISHED;
}

static unsigned int seconds_per_module(const struct symbolize_options *options)
{
	uint64_t budget_s = options->budget_ns / 1000000000;

	if (budget_s <= SECONDS_PER_MODULE)
		return SECONDS_PER_MODULE;
	return budget_s < UINT_MAX ? (unsigned int)budget_s : UINT_MAX;
}

/* Signals to stop come by a descriptor, so that the child can be told. */
static void take_signals(struct supervisor *supervisor, sigset_t *before)
{
	sigset_t taken;

	supervisor->signals = -1;
	sigemptyset(&taken);
	pthread_sigmask(SIG_BLOCK, &taken, before);
	if (supervisor->job.options->leave_signals)
		return;
	sigaddset(&taken, SIGINT);
	sigaddset(&taken, SIGQUIT);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &taken, before);
	supervisor->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void give_signals_back(struct supervisor *supervisor, const sigset_t *before)
{
	if (supervisor->signals >= 0)
		close(supervisor->signals);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int symbolize_file(const char *path, const struct symbolize_options *options, struct error *err)
{
	struct supervisor supervisor = {
		.job = { .path = path,
			 .options = options,
			 .begin_module = begin_module,
			 .watch = { .begin = begin_fetching,
				    .progress = watch_fetching,
				    .end = end_fetching } },
		.seconds_per_module = seconds_per_module(options),
	};
	struct error result = ERROR_INIT;
	sigset_t before;

	supervisor.job.context = supervisor.job.watch.context = &supervisor;
	take_signals(&supervisor, &before);
	while (attempt(&supervisor, &result) == AGAIN)
		;
	give_signals_back(&supervisor, &before);
	vec_each(&supervisor.limits, limit) free((char *)limit->reason);
	vec_free(&supervisor.limits);
	if (err)
		*err = result;
	return result.code;
}

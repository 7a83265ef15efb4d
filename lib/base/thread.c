/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_SLICE_NS 100000

/* The kernel's, SCHED_ATTR_SIZE_VER0; <linux/sched/types.h> is at odds with <sched.h>. */
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context,
		 struct error *err)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return error_errno(err, error, "start the thread %s", name);
	pthread_setname_np(*thread, name);
	return 0;
}

void thread_be_prompt(void)
{
	struct sched_attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_OTHER,
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime = SHORT_SLICE_NS,
	};

	syscall(SYS_sched_setattr, 0, &attributes, 0);
}

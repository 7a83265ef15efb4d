/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

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

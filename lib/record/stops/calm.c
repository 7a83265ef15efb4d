/* SPDX-License-Identifier: MIT */
#include "record/stops/calm.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "record/stops/halt.h"

enum {
	SETTLE_US = 1000,
	SHORT_TRY_NS = 20000000,
};

static void has_opened(const struct calm *calm)
{
	if (calm->opened)
		calm->opened(calm->context);
}

/* As calm_open().  Where all that were listed have ended, there are others. */
static int try(const struct calm *calm, struct error *err)
{
	struct attach_threads threads = { 0 };
	struct error error = ERROR_INIT;
	int ret;

	attach_all_threads(calm->attach, &threads);
	ret = calm->open(calm->context, &threads, &error);
	if (ret >= 0) {
		usleep(SETTLE_US);
		ret = attach_are_all(calm->attach, &threads);
	}
	if (ret > 0)
		has_opened(calm);
	else
		calm->close(calm->context);
	vec_free(&threads);
	if (ret == -ESRCH)
		return 0;
	if (ret < 0)
		*err = error;
	return ret;
}

struct halted {
	const struct calm *calm;
	struct error *why, *err;
	int ret; /* as calm_open() returns */
};

static void *open_halted(void *argument)
{
	struct halted *halted = argument;
	const struct calm *calm = halted->calm;
	uint64_t start_ns = clock_now_ns();
	struct halt halt;
	int ret;

	if (halt_begin(&halt, calm->attach, halted->why) < 0)
		return NULL;
	ret = calm->open(calm->context, &halt.threads, halted->err);
	if (ret >= 0)
		has_opened(calm);
	halt_end(&halt);
	log_debug(LOG_TARGET, "halted for %s",
		  units_time((int64_t)(clock_now_ns() - start_ns)).text);
	halted->ret = ret < 0 ? ret : 1;
	return NULL;
}

/* In a thread of its own, with whose end none is traced any more. */
static int open_while_halted(const struct calm *calm, struct error *why, struct error *err)
{
	struct halted halted = { calm, why, err, 0 };
	pthread_t thread;

	if (thread_start(&thread, "cprof-halt", open_halted, &halted, why) < 0)
		return 0;
	pthread_join(thread, NULL);
	return halted.ret;
}

int calm_open(const struct calm *calm, struct error *why, struct error *err)
{
	uint64_t took_ns = 0;

	for (unsigned int i = 0; i < calm->tries && took_ns < SHORT_TRY_NS; i++) {
		uint64_t start_ns = clock_now_ns();
		int ret = try(calm, err);

		if (ret)
			return ret;
		took_ns = clock_now_ns() - start_ns;
		log_debug(LOG_TARGET, "threads came or went within %s",
			  units_time((int64_t)took_ns).text);
	}
	if (took_ns <= calm->halt_most_ns)
		return open_while_halted(calm, why, err);
	error_set(why, ERR_UNSUPPORTED, "they would stand still for %s",
		  units_time((int64_t)took_ns).text);
	return 0;
}

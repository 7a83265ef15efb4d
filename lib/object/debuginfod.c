/* SPDX-License-Identifier: MIT */
#include "object/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
	PATIENCE_S = 15,
	CALLS_A_SECOND = 1000, /* of progress(), at most */
};

/* The functions of libdebuginfod, as <elfutils/debuginfod.h> declares them. */
struct client;
typedef int on_progress(struct client *client, long got, long size);
static struct client *(*begin)(void);
static void (*end)(struct client *client);
static int (*find_debuginfo)(struct client *client, const unsigned char *build_id, int size,
			     char **path);
static void (*set_progressfn)(struct client *client, on_progress *progress);
static void (*set_user_data)(struct client *client, void *data);
static void *(*get_user_data)(struct client *client);

static const struct {
	const char *name;
	void *place;
} functions[] = {
	{ "debuginfod_begin", &begin },
	{ "debuginfod_end", &end },
	{ "debuginfod_find_debuginfo", &find_debuginfo },
	{ "debuginfod_set_progressfn", &set_progressfn },
	{ "debuginfod_set_user_data", &set_user_data },
	{ "debuginfod_get_user_data", &get_user_data },
};

struct debuginfod {
	void *library;
	struct client *client;
	struct debuginfod_watch watch;
	uint64_t patience_ns;
	uint64_t heard_ns; /* when something came in last */
	long got;
	bool skipped; /* the file that is being fetched */
	bool stopped, silent;
};

static bool load(struct debuginfod *servers)
{
	servers->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; servers->library && i < ARRAY_SIZE(functions); i++) {
		void **function = functions[i].place;

		*function = dlsym(servers->library, functions[i].name);
		if (!*function)
			return false;
	}
	return servers->library;
}

static uint64_t patience_ns(void)
{
	const char *asked = getenv("DEBUGINFOD_TIMEOUT");
	long seconds = asked ? strtol(asked, NULL, 10) : 0;

	return UINT64_C(1000000000) * (uint64_t)(seconds > 0 ? seconds : PATIENCE_S);
}

/* Without a size it may be that only the calls are counted: no server has answered yet. */
static bool has_come_in(const struct debuginfod *servers, long got, long size)
{
	return size > 0 ? got != servers->got : got > servers->got + CALLS_A_SECOND;
}

static int progress(struct client *client, long got, long size)
{
	struct debuginfod *servers = get_user_data(client);
	const struct debuginfod_watch *watch = &servers->watch;
	uint64_t now_ns = clock_now_ns();

	if (has_come_in(servers, got, size)) {
		servers->got = got;
		servers->heard_ns = now_ns;
	}
	servers->silent = now_ns - servers->heard_ns > servers->patience_ns;
	switch (watch->progress(watch->context, size > 0 ? (uint64_t)got : 0,
				size > 0 ? (uint64_t)size : 0)) {
	case DEBUGINFOD_GO_ON:
		break;
	case DEBUGINFOD_STOP:
		servers->stopped = true;
		__attribute__((fallthrough));
	case DEBUGINFOD_SKIP:
		servers->skipped = true;
	}
	return servers->skipped || servers->silent;
}

struct debuginfod *debuginfod_open(const char *urls, const struct debuginfod_watch *watch,
				   struct error *err)
{
	struct debuginfod *servers = xcalloc(1, sizeof(*servers));

	servers->watch = *watch;
	servers->patience_ns = patience_ns();
	/* The one thread there is. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	setenv("DEBUGINFOD_URLS", urls, 1);
	if (load(servers))
		servers->client = begin();
	if (servers->client) {
		set_user_data(servers->client, servers);
		set_progressfn(servers->client, progress);
		return servers;
	}
	debuginfod_close(servers);
	error_set(err, ERR_UNSUPPORTED,
		  "nothing can be fetched: libdebuginfod is not installed (libdebuginfod1, "
		  "elfutils-debuginfod-client)");
	return NULL;
}

static int explain(const struct debuginfod *servers, int code, struct error *err)
{
	if (servers->silent)
		return error_set(err, ERR_UNSUPPORTED, "debuginfod does not answer");
	if (servers->skipped || servers->stopped)
		return error_set(err, ERR_INTERRUPTED, "skipped while it was fetched");
	if (code == -ENOENT)
		return error_set(err, ERR_UNSUPPORTED, "debuginfod has none either");
	return error_errno(err, -code, "debuginfod");
}

int debuginfod_fetch(struct debuginfod *servers, const uint8_t *build_id, size_t size, char **path,
		     struct error *err)
{
	if (servers->silent || servers->stopped)
		return explain(servers, 0, err);
	servers->heard_ns = clock_now_ns();
	servers->got = 0;
	servers->skipped = false;
	*path = NULL;

	servers->watch.begin(servers->watch.context);
	int fd = find_debuginfo(servers->client, build_id, (int)size, path);
	servers->watch.end(servers->watch.context);
	return fd >= 0 ? fd : explain(servers, fd, err);
}

void debuginfod_close(struct debuginfod *servers)
{
	if (!servers)
		return;
	if (servers->client)
		end(servers->client);
	/* Stays loaded: what it brought along (curl, TLS) does not like to be unloaded. */
	free(servers);
}

/* SPDX-License-Identifier: MIT */
#include "record/ring/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

enum {
	SIDE_BYTES = 32 * 1024,
	DATA_BYTES_MAX = 2 * 1024 * 1024,
	DATA_BYTES_MIN = 128 * 1024, /* less holds too few samples */
};

static size_t at_least_a_page(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bytes < page ? page : bytes;
}

static int open_side(struct rings *rings, const struct events *events)
{
	int ret = 0;

	for (size_t i = 0; i < rings->nr && !ret; i++)
		ret = ring_open(&rings->side[i], events->cpus[i].side, at_least_a_page(SIDE_BYTES));
	return ret;
}

static void close_data(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++)
		ring_close(&rings->data[i]);
}

static int open_data(struct rings *rings, const struct events *events, size_t bytes)
{
	int ret = 0;

	for (size_t i = 0; i < rings->nr && !ret; i++)
		ret = ring_open(&rings->data[i], events->cpus[i].group[0], bytes);
	if (ret)
		close_data(rings);
	return ret;
}

static int open_largest_data(struct rings *rings, const struct events *events)
{
	size_t least = at_least_a_page(DATA_BYTES_MIN);
	int ret = -EPERM;

	for (size_t bytes = DATA_BYTES_MAX; bytes >= least && (ret == -EPERM || ret == -ENOMEM);
	     bytes /= 2) {
		ret = open_data(rings, events, bytes);
		rings->data_bytes = bytes;
	}
	log_debug(LOG_RING, "%zu rings of %zu KiB", rings->nr, rings->data_bytes / 1024);
	return ret;
}

static int join_members(const struct events *events)
{
	for (size_t i = 0; i < events->nr_cpus; i++) {
		const int *group = events->cpus[i].group;

		for (size_t k = 1; k < events->nr_events; k++)
			if (ioctl(group[k], PERF_EVENT_IOC_SET_OUTPUT, group[0]) < 0)
				return -errno;
	}
	return 0;
}

int rings_open(struct rings *rings, const struct events *events, struct error *err)
{
	int ret;

	*rings = (struct rings){ .side = xcalloc(events->nr_cpus, sizeof(*rings->side)),
				 .data = xcalloc(events->nr_cpus, sizeof(*rings->data)),
				 .nr = events->nr_cpus };
	ret = open_side(rings, events);
	if (!ret)
		ret = open_largest_data(rings, events);
	if (!ret)
		ret = join_members(events);
	if (!ret)
		return 0;

	rings_close(rings);
	error_errno(err, -ret, "map the rings of perf events");
	if (ret == -EPERM)
		error_hint(err, "other recordings of this user hold the memory that perf may lock: "
				"end them, or as root raise kernel.perf_event_mlock_kb, or raise "
				"`ulimit -l`");
	return ret;
}

void rings_close(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++) {
		ring_close(&rings->data[i]);
		ring_close(&rings->side[i]);
	}
	free(rings->data);
	free(rings->side);
	*rings = (struct rings){ 0 };
}

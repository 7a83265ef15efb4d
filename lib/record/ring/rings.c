/* SPDX-License-Identifier: MIT */
#include "record/ring/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "record/events/perf_open.h"

enum {
	SIDE_BYTES = 32 * 1024,
	DATA_BYTES_MAX = 4 * 1024 * 1024, /* 64 samples with all of the stack that they can have */
	DATA_BYTES_MIN = 128 * 1024,	  /* less holds too few samples */
};

static size_t at_least_a_page(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bytes < page ? page : bytes;
}

/* An event without a PMU: any CPU that is online has it. */
static int open_owner(const struct perf_event_attr *like, int cpu)
{
	struct perf_event_attr attr;
	int fd;

	sampling_ring_attr(&attr, like);
	fd = perf_open(&attr, 0, cpu, -1);
	return fd;
}

static int open_owners(struct rings *rings, const struct events *events)
{
	int ret = 0;

	for (size_t i = 0; i < rings->nr; i++)
		rings->side_fds[i] = rings->data_fds[i] = -1;
	for (size_t i = 0; i < rings->nr && ret >= 0; i++) {
		int cpu = events->cpus.at[i];

		ret = rings->side_fds[i] = open_owner(&events->side_attr, cpu);
		if (ret >= 0)
			ret = rings->data_fds[i] = open_owner(&events->attrs[0], cpu);
		if (ret == -ENODEV) /* went offline: there are no events either */
			ret = 0;
	}
	return ret < 0 ? ret : 0;
}

static int open_each(struct ring *rings, const int *fds, size_t nr, size_t bytes)
{
	int ret = 0;

	for (size_t i = 0; i < nr && !ret; i++)
		if (fds[i] >= 0)
			ret = ring_open(&rings[i], fds[i], bytes);
	return ret;
}

static int open_data(struct rings *rings, size_t bytes)
{
	int ret = open_each(rings->data, rings->data_fds, rings->nr, bytes);

	for (size_t i = 0; ret && i < rings->nr; i++)
		ring_close(&rings->data[i]);
	return ret;
}

static int open_largest_data(struct rings *rings)
{
	size_t least = at_least_a_page(DATA_BYTES_MIN);
	int ret = -EPERM;

	for (size_t bytes = DATA_BYTES_MAX; bytes >= least && (ret == -EPERM || ret == -ENOMEM);
	     bytes /= 2) {
		ret = open_data(rings, bytes);
		rings->data_bytes = bytes;
	}
	log_debug(LOG_RING, "%zu rings of %zu KiB", rings->nr, rings->data_bytes / 1024);
	return ret;
}

static int join(const struct rings *rings, const struct events *events)
{
	vec_each(events, at)
	{
		if (at->side < 0)
			continue;
		if (ioctl(at->side, PERF_EVENT_IOC_SET_OUTPUT, rings->side_fds[at->cpu]) < 0)
			return -errno;
		for (size_t k = 0; k < events->nr_events; k++)
			if (ioctl(at->group[k], PERF_EVENT_IOC_SET_OUTPUT,
				  rings->data_fds[at->cpu]) < 0)
				return -errno;
	}
	return 0;
}

int rings_open(struct rings *rings, const struct events *events, struct error *err)
{
	size_t nr = events->cpus.nr;

	*rings = (struct rings){ .side = xcalloc(nr, sizeof(*rings->side)),
				 .data = xcalloc(nr, sizeof(*rings->data)),
				 .side_fds = xcalloc(nr, sizeof(*rings->side_fds)),
				 .data_fds = xcalloc(nr, sizeof(*rings->data_fds)),
				 .nr = nr };
	int ret = open_owners(rings, events);
	if (!ret)
		ret = open_each(rings->side, rings->side_fds, nr, at_least_a_page(SIDE_BYTES));
	if (!ret)
		ret = open_largest_data(rings);
	if (!ret)
		ret = join(rings, events);
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

static void close_owner(int fd)
{
	if (fd >= 0)
		close(fd);
}

void rings_close(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++) {
		ring_close(&rings->data[i]);
		ring_close(&rings->side[i]);
		close_owner(rings->data_fds[i]);
		close_owner(rings->side_fds[i]);
	}
	free(rings->data);
	free(rings->side);
	free(rings->data_fds);
	free(rings->side_fds);
	*rings = (struct rings){ 0 };
}

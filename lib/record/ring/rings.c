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
	NAMES_BYTES = 64 * 1024, /* of 500 threads that come and go, or 250 processes */
	NAMES_BYTES_MIN = 16 * 1024,
	SIDE_BYTES = 128 * 1024, /* of ten programs with 100 libraries each */
	SIDE_BYTES_MIN = 32 * 1024,
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
	const struct perf_event_attr *like[RING_KINDS] = { &events->names_attr, &events->side_attr,
							   &events->attrs[0] };
	int ret = 0;

	for (size_t i = 0; i < rings->nr && ret >= 0; i++) {
		for (size_t kind = 0; kind < RING_KINDS && ret >= 0; kind++)
			ret = rings->fds[kind][i] = open_owner(like[kind], events->cpus.at[i]);
		if (ret == -ENODEV) /* went offline: there are no events either */
			ret = 0;
	}
	return ret < 0 ? ret : 0;
}

static int open_each(struct rings *rings, enum ring_kind kind, size_t bytes)
{
	int ret = 0;

	for (size_t i = 0; i < rings->nr && !ret; i++)
		if (rings->fds[kind][i] >= 0)
			ret = ring_open(&rings->of[kind][i], rings->fds[kind][i],
					at_least_a_page(bytes));
	for (size_t i = 0; ret && i < rings->nr; i++)
		ring_close(&rings->of[kind][i]);
	return ret;
}

static int open_largest_data(struct rings *rings, size_t least)
{
	int ret = -EPERM;

	for (size_t bytes = DATA_BYTES_MAX; bytes >= least && (ret == -EPERM || ret == -ENOMEM);
	     bytes /= 2) {
		ret = open_each(rings, RING_DATA, bytes);
		rings->data_bytes = bytes;
	}
	log_debug(LOG_RING, "%zu rings of %zu KiB", rings->nr, rings->data_bytes / 1024);
	return ret;
}

static int open_sizes(struct rings *rings, size_t names_bytes, size_t side_bytes, size_t least_data)
{
	int ret = open_each(rings, RING_NAMES, names_bytes);

	if (!ret)
		ret = open_each(rings, RING_SIDE, side_bytes);
	if (!ret)
		ret = open_largest_data(rings, least_data);
	for (size_t i = 0; ret && i < rings->nr; i++) {
		ring_close(&rings->of[RING_NAMES][i]);
		ring_close(&rings->of[RING_SIDE][i]);
	}
	return ret;
}

static int open_rings(struct rings *rings)
{
	int ret = open_sizes(rings, NAMES_BYTES, SIDE_BYTES, 2 * DATA_BYTES_MIN);

	if (ret == -EPERM || ret == -ENOMEM)
		ret = open_sizes(rings, NAMES_BYTES_MIN, SIDE_BYTES_MIN, DATA_BYTES_MIN);
	return ret;
}

static int write_into(int event_fd, const struct rings *rings, enum ring_kind kind, size_t cpu)
{
	return ioctl(event_fd, PERF_EVENT_IOC_SET_OUTPUT, rings->fds[kind][cpu]) < 0 ? -errno : 0;
}

static int join(const struct rings *rings, const struct events *events)
{
	int ret = 0;

	for (size_t i = 0; i < events->nr && !ret; i++) {
		const struct events_at *at = &events->at[i];

		if (at->side < 0)
			continue;
		ret = write_into(at->names, rings, RING_NAMES, at->cpu);
		if (!ret)
			ret = write_into(at->side, rings, RING_SIDE, at->cpu);
		for (size_t k = 0; k < events->nr_events && !ret; k++)
			ret = write_into(at->group[k], rings, RING_DATA, at->cpu);
	}
	return ret;
}

static void allocate(struct rings *rings, size_t nr)
{
	*rings = (struct rings){ .nr = nr };
	for (size_t kind = 0; kind < RING_KINDS; kind++) {
		rings->of[kind] = xcalloc(nr, sizeof(*rings->of[kind]));
		rings->fds[kind] = xcalloc(nr, sizeof(*rings->fds[kind]));
		for (size_t i = 0; i < nr; i++)
			rings->fds[kind][i] = -1;
	}
}

int rings_open(struct rings *rings, const struct events *events, struct error *err)
{
	int ret;

	allocate(rings, events->cpus.nr);
	ret = open_owners(rings, events);
	if (!ret)
		ret = open_rings(rings);
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
	return error_recode(err, ERR_REFUSED);
}

void rings_close(struct rings *rings)
{
	for (size_t kind = 0; kind < RING_KINDS; kind++) {
		for (size_t i = 0; i < rings->nr; i++) {
			ring_close(&rings->of[kind][i]);
			if (rings->fds[kind][i] >= 0)
				close(rings->fds[kind][i]);
		}
		free(rings->of[kind]);
		free(rings->fds[kind]);
	}
	*rings = (struct rings){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include "record/ring/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/events/access.h"
#include "record/events/cpus.h"
#include "record/events/event_type.h"
#include "record/events/perf_open.h"
#include "record/ring/ring.h"

/* A program that touches memory as fast as it can has a fault in 3 us: 8,192 a CPU last 25 ms.  Half if
 * that is too much to lock; where nobody limits that, so many for all CPUs that few of them have 200 ms. */
#define RING_PAGES 64
#define RING_PAGES_LEAST 8
#define RING_PAGES_MOST 512
#define RING_PAGES_OF_ALL 2048

struct faults {
	struct faults_cpu {
		int fd;
		struct ring ring;
	} * at;
	size_t nr, room;
	size_t next; /* whose turn it is */
	uint64_t lost;
	bool user_only;
};

/* The records, in the order of the kernel's bits. */
struct fault_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t address;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static struct perf_event_attr attr_of(bool user_only, bool inherit)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.inherit_thread = !inherit,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX / 2, /* nobody sleeps on it */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static size_t pages_of_ring(size_t nr_cpus)
{
	size_t pages = RING_PAGES;

	while (!geteuid() && pages < RING_PAGES_MOST && 2 * pages * nr_cpus <= RING_PAGES_OF_ALL)
		pages *= 2;
	return pages;
}

static int map_ring(struct faults_cpu *cpu, size_t nr_cpus)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = pages_of_ring(nr_cpus);
	int ret = -EPERM;

	for (; ret == -EPERM && pages >= RING_PAGES_LEAST; pages /= 2)
		ret = ring_open(&cpu->ring, cpu->fd, pages * page);
	return ret;
}

static int open_cpu(struct faults *faults, pid_t pid, int cpu, size_t nr_cpus, bool inherit)
{
	struct perf_event_attr attr = attr_of(faults->user_only, inherit);
	int fd = perf_open(&attr, pid, cpu, -1);
	struct faults_cpu *at;

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd; /* it went offline */
	at = vec_add(faults);
	at->fd = fd;
	return map_ring(at, nr_cpus);
}

static int open_all(struct faults *faults, pid_t pid, const struct cpus *cpus, bool inherit)
{
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < cpus->nr; i++)
		ret = open_cpu(faults, pid, cpus->at[i], cpus->nr, inherit);
	return ret;
}

static void close_all(struct faults *faults)
{
	vec_each(faults, cpu)
	{
		ring_close(&cpu->ring);
		close(cpu->fd);
	}
	vec_free(faults);
}

static int explain(int ret, struct error *err)
{
	struct access access;

	access_read(&access);
	return access_explain(&access, -ret, event_type_find("page-faults"), err);
}

int faults_open(struct faults **faults, pid_t pid, bool inherit, struct error *err)
{
	struct faults *opened = xcalloc(1, sizeof(*opened));
	struct cpus cpus = { 0 };
	int ret;

	cpus_online(&cpus);
	ret = open_all(opened, pid, &cpus, inherit);
	if (ret == -EACCES || ret == -EPERM) {
		close_all(opened);
		opened->user_only = true;
		ret = open_all(opened, pid, &cpus, inherit);
	}
	cpus_release(&cpus);
	*faults = ret < 0 ? NULL : opened;
	if (ret >= 0)
		return 0;
	faults_close(opened);
	return explain(ret, err);
}

void faults_close(struct faults *faults)
{
	if (!faults)
		return;
	close_all(faults);
	free(faults);
}

/* True: it was a fault. */
static bool take_record(struct faults *faults, const struct perf_event_header *header,
			struct fault *to)
{
	if (header->type == PERF_RECORD_LOST && header->size >= sizeof(struct lost_record))
		faults->lost += ((const struct lost_record *)header)->lost;
	if (header->type != PERF_RECORD_SAMPLE || header->size < sizeof(struct fault_record))
		return false;

	const struct fault_record *record = (const struct fault_record *)header;

	*to = (struct fault){ record->time_ns, record->address, (int32_t)record->pid };
	return true;
}

size_t faults_take(struct faults *faults, struct fault *to, size_t room)
{
	size_t nr = 0;

	for (size_t i = 0; i < faults->nr; i++, faults->next++) {
		struct faults_cpu *cpu = &faults->at[faults->next % faults->nr];
		const struct perf_event_header *header;

		while (nr < room && (header = ring_next(&cpu->ring)))
			nr += take_record(faults, header, &to[nr]);
		if (nr == room)
			break;
	}
	return nr;
}

uint64_t faults_lost(const struct faults *faults)
{
	return faults->lost;
}

bool faults_user_only(const struct faults *faults)
{
	return faults->user_only;
}

/* SPDX-License-Identifier: MIT */
#include "record/heap/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/proc_file.h"

/* 32768 events, 1 MiB: they last 1 ms where a program frees all that it has, and no thread notices that
 * we slept for that long.  A program that needs less of it touches less. */
#define RING_LOG2 15

/* The first segments, which are claimed first, keep that much memory for the next process. */
#define WARM_SEGMENTS 64
#define WARM_BYTES (512 << 10)

/* It takes no room on any disk, but the kernel applies `ulimit -f` to its size.  The soft limit is
 * the program's: as it was, after this. */
static int set_size(int fd)
{
	struct rlimit limit, none;
	int ret;

	getrlimit(RLIMIT_FSIZE, &limit);
	none = (struct rlimit){ limit.rlim_max, limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &none);
	ret = ftruncate(fd, (off_t)WIRE_FILE_BYTES) < 0 ? errno : 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	return ret;
}

static int size_error(struct error *err, int error)
{
	int ret = error_errno(err, error, "memory to share with the program");

	if (error == EFBIG)
		error_hint(err, "the hard limit of file sizes is too low: `ulimit -Hf unlimited`, "
				"as root, lifts it");
	return ret;
}

static int make_file(struct error *err)
{
	int error;

	int fd = memfd_create(CHANNEL_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return error_errno(err, errno, "memory to share with the program: memfd_create");
	error = set_size(fd);
	if (!error && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		error = errno;
	if (error) {
		close(fd);
		return size_error(err, error);
	}
	return fd;
}

static int map_control(struct channel *channel, struct error *err)
{
	channel->control = channel_map(channel, 0, WIRE_CONTROL_BYTES, PROT_READ | PROT_WRITE);
	return channel->control
		       ? 0
		       : error_errno(err, errno, "map the memory to share with the program");
}

/* What each process that takes part will need. */
static int check_room(const struct channel *channel, struct error *err)
{
	void *segment = channel_map(channel, wire_segment_at(0), WIRE_SEGMENT_BYTES, PROT_READ);

	if (!segment)
		return error_errno(err, errno,
				   "address space for memory to share with the program");
	munmap(segment, WIRE_SEGMENT_BYTES);
	return 0;
}

/* The path by which the program gets to it. */
static int find_path(struct channel *channel, struct error *err)
{
	unsigned int nr_filters = proc_filters("/proc/self/status");

	channel->path = xasprintf("/proc/%d/fd/%d", (int)getpid(), channel->fd);
	channel->variable =
		nr_filters ? xasprintf("%s,%u", channel->path, nr_filters) : xstrdup(channel->path);
	if (!access(channel->path, F_OK))
		return 0;
	error_errno(err, errno, "memory to share with the program: %s", channel->path);
	return error_hint(err, "mount /proc: mount -t proc proc /proc");
}

int channel_open(struct channel *channel, unsigned int ring_log2, struct error *err)
{
	*channel = (struct channel){ .fd = make_file(err) };
	if (channel->fd < 0)
		return channel->fd;

	int ret = map_control(channel, err);
	if (ret >= 0)
		ret = check_room(channel, err);
	if (ret >= 0)
		ret = find_path(channel, err);
	if (ret < 0) {
		channel_close(channel);
		return ret;
	}
	wire_init(channel->control, (int32_t)getpid(), ring_log2 ? ring_log2 : RING_LOG2);
	return 0;
}

void channel_set_mode(const struct channel *channel, enum wire_mode mode, uint64_t sample_bytes)
{
	channel->control->mode = mode;
	channel->control->sample_bytes = sample_bytes;
}

static void unmap_segment(struct channel *channel, uint32_t segment)
{
	if (channel->segments[segment])
		munmap(channel->segments[segment], WIRE_SEGMENT_BYTES);
	channel->segments[segment] = NULL;
}

void channel_close(struct channel *channel)
{
	if (channel->control)
		munmap(channel->control, WIRE_CONTROL_BYTES);
	for (uint32_t i = 0; i < WIRE_SEGMENTS; i++)
		unmap_segment(channel, i);
	if (channel->fd >= 0)
		close(channel->fd);
	free(channel->path);
	free(channel->variable);
	*channel = (struct channel){ .fd = -1 };
}

void *channel_map(const struct channel *channel, uint64_t at, size_t size, int prot)
{
	void *memory = mmap(NULL, size, prot, MAP_SHARED, channel->fd, (off_t)at);

	return memory == MAP_FAILED ? NULL : memory;
}

bool channel_has_segment(const struct channel *channel, uint32_t segment)
{
	uint64_t at = wire_segment_at(segment) + offsetof(struct wire_segment, state);
	uint32_t state;

	return pread(channel->fd, &state, sizeof(state), (off_t)at) == sizeof(state) &&
	       state != WIRE_STATE_EMPTY;
}

/* In one piece: to unmap two costs a round to all CPUs more. */
void *channel_segment(struct channel *channel, uint32_t segment)
{
	char *whole = channel->segments[segment];

	if (whole)
		return whole;
	whole = channel_map(channel, wire_segment_at(segment), WIRE_SEGMENT_BYTES, PROT_READ);
	channel->segments[segment] = whole;
	if (whole && mprotect(whole, WIRE_HEAD_BYTES, PROT_READ | PROT_WRITE) < 0)
		unmap_segment(channel, segment);
	return channel->segments[segment];
}

/* --- recycling --------------------------------------------------------------------------------*/

/* Writes zeros over a part of the file whose pages exist. */
static bool zero(const struct channel *channel, off_t at, off_t size)
{
	static const char zeros[64 << 10];

	for (off_t part; size; at += part, size -= part) {
		part = size < (off_t)sizeof(zeros) ? size : (off_t)sizeof(zeros);
		if (pwrite(channel->fd, zeros, (size_t)part, at) != part)
			return false;
	}
	return true;
}

/* All pages that the segment has, whoever wrote to them.  False if they are not worth it. */
static bool zero_pages(const struct channel *channel, uint32_t segment)
{
	off_t at = (off_t)wire_segment_at(segment), end = at + (off_t)WIRE_SEGMENT_BYTES;
	off_t zeroed = 0, hole;

	while ((at = lseek(channel->fd, at, SEEK_DATA)) >= 0 && at < end) {
		hole = lseek(channel->fd, at, SEEK_HOLE);
		if (hole < at || hole > end)
			hole = end;
		zeroed += hole - at;
		if (zeroed > WARM_BYTES || !zero(channel, at, hole - at))
			return false;
		at = hole;
	}
	return at >= 0 || errno == ENXIO;
}

/* Unmapped first: a hole in what is mapped costs a round to all CPUs. */
static void free_pages(struct channel *channel, uint32_t segment)
{
	unmap_segment(channel, segment);
	fallocate(channel->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)wire_segment_at(segment), (off_t)WIRE_SEGMENT_BYTES);
}

void channel_recycle(struct channel *channel, uint32_t segment)
{
	if (segment >= WARM_SEGMENTS || !zero_pages(channel, segment))
		free_pages(channel, segment);
	atomic_store(&channel->control->owner[segment], 0);
}

bool channel_is_mapped_by(int32_t pid, bool unless_known)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");

	if (!maps)
		return unless_known;
	while (!found && getline(&line, &room, maps) > 0)
		found = strstr(line, CHANNEL_NAME);
	free(line);
	fclose(maps);
	return found;
}

void channel_beat(const struct channel *channel, uint64_t now_ns)
{
	atomic_store_explicit(&channel->control->heartbeat_ns, now_ns, memory_order_relaxed);
}

void channel_leave(const struct channel *channel)
{
	channel_beat(channel, 0);
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void channel_going_to_sleep(const struct channel *channel)
{
	atomic_store(&channel->control->sleeping, 1);
}

void channel_sleep(const struct channel *channel, uint64_t timeout_ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};

	futex(&channel->control->sleeping, FUTEX_WAIT, 1, &timeout);
	atomic_store(&channel->control->sleeping, 0);
}

void channel_wake(const struct channel *channel)
{
	atomic_store(&channel->control->sleeping, 0);
	futex(&channel->control->sleeping, FUTEX_WAKE, INT_MAX, NULL);
}

void channel_wake_producers(struct wire_ring *ring)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&ring->waiting, memory_order_relaxed))
		futex(&ring->tail, FUTEX_WAKE, INT_MAX, NULL);
}

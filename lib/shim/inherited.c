/* SPDX-License-Identifier: MIT */
#include "shim/inherited.h"

#include <string.h>

#include "shim/sys.h"

#define MODE "Seccomp:"
#define NUMBER "Seccomp_filters:" /* since Linux 5.9 */

/* The file comes in pieces: of a line, what is seen so far. */
struct reader {
	char line[32];
	size_t used;
	long mode, number; /* -1: not seen */
};

static long field(const struct reader *reader, const char *name)
{
	size_t at = strlen(name);
	long number = 0;

	if (strncmp(reader->line, name, at) != 0)
		return -1;
	while (reader->line[at] == '\t' || reader->line[at] == ' ')
		at++;
	for (; reader->line[at] >= '0' && reader->line[at] <= '9'; at++)
		number = number * 10 + (reader->line[at] - '0');
	return number;
}

static void take_line(struct reader *reader)
{
	reader->line[reader->used] = '\0';
	reader->used = 0;
	if (reader->line[0] != *MODE)
		return;
	if (reader->mode < 0)
		reader->mode = field(reader, MODE);
	if (reader->number < 0)
		reader->number = field(reader, NUMBER);
}

static void take(struct reader *reader, const char *text, long length)
{
	for (long i = 0; i < length; i++) {
		if (text[i] == '\n')
			take_line(reader);
		else if (reader->used < sizeof(reader->line) - 1)
			reader->line[reader->used++] = text[i];
	}
}

/* -1: it cannot be told.  An old kernel says only whether there are any. */
static long count(void)
{
	long fd = sys_open("/proc/self/status", O_RDONLY), got;
	struct reader reader = { .mode = -1, .number = -1 };
	char text[2048];

	if (fd < 0)
		return -1;
	while (reader.number < 0 && (got = sys_read((int)fd, text, sizeof(text))) > 0)
		take(&reader, text, got);
	sys_close((int)fd);
	return reader.number >= 0 ? reader.number : reader.mode > 0 ? 1 : reader.mode;
}

/* The loader made them, with arguments like ours. */
static uint64_t calls_of_loader(void)
{
	return filter_bit(__NR_openat) | filter_bit(__NR_read) | filter_bit(__NR_close) |
	       filter_bit(__NR_mmap) | filter_bit(__NR_munmap);
}

bool inherited_allow_session(struct filters known, uint32_t nr_of_recorder)
{
	long nr = count();

	/* Without /proc it is as it is said to be. */
	if (nr < 0)
		nr = known.nr;
	if (nr <= (long)nr_of_recorder)
		known = (struct filters){ nr_of_recorder, FILTERS_ALL_CALLS };
	else if (nr != (long)known.nr)
		known.calls &= calls_of_loader();
	filter_inherit(known);
	return filter_suffices(known.calls);
}

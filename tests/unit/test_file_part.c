/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object/file_part.h"

enum {
	FILE_BYTES = 100000,
	AT = 1000, /* the part */
	SIZE = 90000,
};

static int fd;
static uint8_t contents[FILE_BYTES];

static void make_file(void)
{
	char path[] = "/tmp/cprof-test-XXXXXX";

	for (size_t i = 0; i < sizeof(contents); i++)
		contents[i] = (uint8_t)(i % 251 + 1);
	fd = mkstemp(path);
	unlink(path);
	cr_assert(eq(int, (int)write(fd, contents, sizeof(contents)), FILE_BYTES));
}

TestSuite(file_part, .init = make_file);

static struct file_part open_part(void)
{
	struct file_part part;

	cr_assert(
		zero(int, file_part_open(&part, fd,
					 &(struct elf_part){ .offset = AT, .size = SIZE }, NULL)));
	return part;
}

static bool has(const struct file_part *part, size_t offset, size_t size)
{
	return !memcmp(part->bytes + offset, contents + AT + offset, size);
}

Test(file_part, has_what_was_needed_and_little_else)
{
	struct file_part part = open_part();

	cr_expect(zero(sz, part.nr_read));
	file_part_need(&part, 40000, 10);
	cr_expect(has(&part, 40000, 10));
	cr_expect(lt(sz, part.nr_read, SIZE / 2));
	cr_expect(zero(u8, part.bytes[0]));
	file_part_close(&part);
}

Test(file_part, reads_nothing_twice)
{
	struct file_part part = open_part();

	file_part_need(&part, 40000, 10);
	part.bytes[40000] = 0;
	file_part_need(&part, 40000, 10);
	cr_expect(zero(u8, part.bytes[40000]));
	file_part_close(&part);
}

Test(file_part, has_all_of_it_up_to_its_end)
{
	struct file_part part = open_part();

	file_part_need(&part, SIZE - 1, 1000);
	cr_expect(has(&part, SIZE - 1, 1));
	file_part_need(&part, 0, UINT64_MAX);
	cr_expect(has(&part, 0, SIZE));
	cr_expect(eq(sz, part.nr_read, SIZE));
	file_part_need(&part, SIZE, 1);
	file_part_need(&part, UINT64_MAX, 1);
	file_part_need(&part, 5, 0);
	cr_expect(eq(sz, part.nr_read, SIZE));
	file_part_close(&part);
}

Test(file_part, is_zero_where_the_file_was_cut_short)
{
	struct file_part part = open_part();

	file_part_need(&part, 0, 10);
	cr_assert(zero(int, ftruncate(fd, AT + 80000)));
	file_part_need(&part, 0, SIZE);
	cr_expect(has(&part, 0, 80000));
	cr_expect(zero(u8, part.bytes[SIZE - 1]));
	file_part_close(&part);
}

Test(file_part, is_not_opened_outside_the_file)
{
	struct file_part part;
	const struct elf_part too_long = { .offset = AT, .size = FILE_BYTES };

	cr_expect(lt(int, file_part_open(&part, fd, &too_long, NULL), 0));
	file_part_need(&part, 0, 10);
	file_part_close(&part);
}

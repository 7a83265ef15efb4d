/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/distance.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "base/proc_file.h"
#include "base/signal_text.h"
#include "base/stretch.h"
#include "base/thread.h"
#include "base/vec.h"

Test(error, names_the_object_and_the_reason)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, error_errno(&err, ENOENT, "open %s", "/x"), -ENOENT));
	cr_assert(eq(str, err.message, (char *)"open /x: No such file or directory"));

	error_hint(&err, "create %s", "/x");
	error_prefix(&err, "record");
	cr_assert(eq(str, err.message, (char *)"record: open /x: No such file or directory"));
	cr_assert(eq(str, err.hint, (char *)"create /x"));
	cr_assert(eq(int, err.code, -ENOENT));
}

Test(error, of_another_kind_has_the_same_words)
{
	struct error err = ERROR_INIT;

	error_errno(&err, EMFILE, "open %s", "/x");
	cr_assert(eq(int, error_recode(&err, ERR_REFUSED), ERR_REFUSED));
	cr_assert(eq(int, err.code, ERR_REFUSED));
	cr_assert(eq(str, err.message, (char *)"open /x: Too many open files"));
	cr_assert(ne(str, err.hint, (char *)""));
}

Test(error, a_new_error_drops_the_old_hint)
{
	struct error err = ERROR_INIT;

	error_set(&err, ERR_FORMAT, "first");
	error_hint(&err, "do this");
	error_set(&err, ERR_VERSION, "second");
	cr_assert(eq(str, err.hint, (char *)""));
}

Test(error, says_what_lifts_a_limit)
{
	struct error err = ERROR_INIT;

	error_errno(&err, EMFILE, "open %s", "a.out");
	cr_expect(ne(ptr, strstr(err.hint, "ulimit -n"), NULL));
	error_errno(&err, ENOENT, "open %s", "a.out");
	cr_expect(eq(str, err.hint, ""));
}

Test(error, without_an_error_only_the_code_is_returned)
{
	cr_assert(eq(int, error_set(NULL, ERR_FORMAT, "x"), ERR_FORMAT));
	cr_assert(eq(int, error_errno(NULL, EPERM, "x"), -EPERM));
	cr_assert(eq(int, error_recode(NULL, ERR_REFUSED), ERR_REFUSED));
}

Test(error, long_messages_are_cut_not_overflowed)
{
	struct error err = ERROR_INIT;
	char text[4096];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_errno(&err, ENOENT, "%s", text);
	for (int i = 0; i < 5; i++)
		error_prefix(&err, "%s", text);
	cr_assert(eq(sz, strlen(err.message), sizeof(err.message) - 1));
}

/* The same operations on the map and on a plain array must agree. */
Test(map, agrees_with_an_array_over_random_operations)
{
	static uint64_t expected[512];
	static bool present[512];
	struct map map = { 0 };
	uint64_t state = 1;
	size_t nr = 0;

	for (int i = 0; i < 200000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		unsigned int key = (state >> 33) % 512;

		if ((state >> 50) % 3) {
			nr += !present[key];
			present[key] = true;
			expected[key] = state;
			map_set(&map, key * 16, state);
		} else {
			cr_assert(eq(int, map_remove(&map, key * 16), present[key]));
			nr -= present[key];
			present[key] = false;
		}
		cr_assert(eq(sz, map.nr, nr));
	}
	for (unsigned int key = 0; key < 512; key++) {
		uint64_t *value = map_find(&map, key * 16);

		cr_assert(eq(int, value != NULL, present[key]));
		cr_assert(value == NULL || *value == expected[key]);
	}
	map_release(&map);
}

Test(map, tells_whether_a_key_is_new)
{
	struct map map = { 0 };
	bool added;

	*map_add(&map, UINT64_MAX, &added) = 5;
	cr_assert(added);
	cr_assert(eq(u64, *map_add(&map, UINT64_MAX, &added), 5));
	cr_assert(not(added));
	cr_assert(map_find(&map, 0) == NULL);
	map_release(&map);
	cr_assert(map_find(&map, UINT64_MAX) == NULL);
}

Test(intern, gives_one_id_a_text)
{
	struct intern names = { 0 };
	char text[16];

	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "name-%u", i);
			cr_assert(eq(u32, intern_add(&names, text), i));
		}
	}
	cr_assert(eq(str, (char *)intern_text(&names, 42), (char *)"name-42"));
	cr_assert(intern_text(&names, 1000) == NULL);
	intern_release(&names);
}

Test(arena, keeps_pieces_of_any_size_apart)
{
	static const size_t sizes[] = { 1, 3, 16, 250, 1025, 5000, 16384, 16385, 70000, 0 };
	struct arena arena = { 0 };
	unsigned char *pieces[60];

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		pieces[i] = arena_alloc(&arena, sizes[i % ARRAY_SIZE(sizes)]);
		cr_expect(eq(sz, (uintptr_t)pieces[i] % alignof(max_align_t), 0));
		memset(pieces[i], (int)i, sizes[i % ARRAY_SIZE(sizes)]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		for (size_t j = 0; j < sizes[i % ARRAY_SIZE(sizes)]; j++)
			cr_assert(eq(uint, pieces[i][j], (unsigned int)i));
	arena_release(&arena);
}

/* Each of thousands of processes has one in a report. */
Test(arena, of_one_word_takes_little)
{
	struct arena arena = { 0 };

	arena_strdup(&arena, "word");
	cr_expect(le(sz, arena.room, 1024));
	arena_release(&arena);
}

Test(vec, grows_and_keeps_what_it_holds)
{
	VEC(int) numbers = { 0 };
	int sum = 0;

	vec_each(&numbers, number) sum += *number;
	for (int i = 0; i < 100; i++)
		vec_push(&numbers, i);
	*vec_add(&numbers) += 1;
	vec_each(&numbers, number) sum += *number;

	cr_assert(eq(sz, numbers.nr, 101));
	cr_assert(eq(int, sum, 4951));
	vec_free(&numbers);
	cr_assert(eq(sz, numbers.nr, 0));
}

Test(vec, closes_up_where_elements_are_taken_out)
{
	VEC(int) numbers = { 0 };

	vec_remove(&numbers, 0, 0);
	for (int i = 0; i < 6; i++)
		vec_push(&numbers, i);
	vec_remove(&numbers, 4, 2);
	vec_remove(&numbers, 1, 2);
	cr_assert(eq(sz, numbers.nr, 2));
	cr_expect(eq(int, numbers.at[0], 0));
	cr_expect(eq(int, numbers.at[1], 3));
	vec_remove(&numbers, 0, 2);
	cr_expect(eq(sz, numbers.nr, 0));
	vec_free(&numbers);
}

static char last_line[64];

static void keep_line(enum log_domain domain, const char *line)
{
	snprintf(last_line, sizeof(last_line), "%s: %s", log_domain_name(domain), line);
}

Test(stretch, keeps_what_it_holds_and_new_bytes_are_zero)
{
	const size_t sizes[] = { 1, 100000, 1 << 20, (2 << 20) + 1, 6 << 20, 80 << 20 };
	struct stretch stretch = { 0 };
	size_t before = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		stretch_grow(&stretch, sizes[i]);
		cr_assert_geq(stretch.bytes, sizes[i]);

		unsigned char *at = stretch_start(&stretch);

		for (size_t n = 0; n < stretch.bytes; n += 512) {
			cr_assert_eq(at[n], n < before ? 1 + n / 512 % 251 : 0);
			at[n] = (unsigned char)(1 + n / 512 % 251);
		}
		before = stretch.bytes;
	}
	stretch_release(&stretch);
	cr_assert_null(stretch_start(&stretch));
}

#ifndef __SANITIZE_ADDRESS__ /* which needs more addresses than any limit leaves */

/* ulimit -v: there are none to spare. */
Test(stretch, grows_within_a_limit_of_addresses)
{
	const struct rlimit limit = { 1 << 30, RLIM_INFINITY };
	struct stretch stretch = { 0 };

	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	for (size_t bytes = 1 << 20; bytes <= 256 << 20; bytes *= 2) {
		stretch_grow(&stretch, bytes);
		cr_assert_eq(stretch.at[bytes - 1], 0);
		stretch.at[bytes - 1] = 1;
	}
	stretch_release(&stretch);
}

#endif

Test(log, only_enabled_domains_are_heard)
{
	log_set_sink(keep_line);
	cr_assert(eq(int, log_enable("ring,heap"), 0));

	log_debug(LOG_UNWIND, "no");
	cr_assert(eq(str, last_line, (char *)""));
	log_debug(LOG_HEAP, "%d blocks", 3);
	cr_assert(eq(str, last_line, (char *)"heap: 3 blocks"));
	cr_assert(eq(int, log_enable("nonsense"), -1));
}

static char thread_status[8192];

static void *read_own_status(void *path)
{
	FILE *file = fopen(path, "re");

	cr_assert(file && fread(thread_status, 1, sizeof(thread_status) - 1, file) > 0);
	fclose(file);
	return NULL;
}

static uint64_t blocked_signals(void)
{
	const char *line = strstr(thread_status, "\nSigBlk:");

	return line ? strtoull(line + strlen("\nSigBlk:"), NULL, 16) : 0;
}

Test(thread, blocks_all_signals_that_can_be_in_itself_only)
{
	static char path[] = "/proc/thread-self/status";
	struct error err = ERROR_INIT;
	pthread_t thread;

	read_own_status(path);
	cr_assert(eq(u64, blocked_signals() & 1ULL << (SIGTERM - 1), 0));
	cr_assert(eq(int, thread_start(&thread, "cprof-test", read_own_status, path, &err), 0));
	pthread_join(thread, NULL);
	for (int signal = 1; signal < 32; signal++)
		cr_expect(eq(int, blocked_signals() >> (signal - 1) & 1,
			     signal != SIGKILL && signal != SIGSTOP),
			  "%s", strsignal(signal));
	read_own_status(path);
	cr_assert(eq(u64, blocked_signals() & 1ULL << (SIGTERM - 1), 0));
}

static void *do_nothing(void *context)
{
	return context;
}

Test(thread, says_which_could_not_be_started)
{
	struct error err = ERROR_INIT;
	pthread_attr_t huge;
	pthread_t thread;

	pthread_attr_init(&huge);
	pthread_attr_setstacksize(&huge, (size_t)1 << 60);
	cr_assert(eq(int, pthread_setattr_default_np(&huge), 0));
	cr_assert(lt(int, thread_start(&thread, "cprof-test", do_nothing, NULL, &err), 0));
	cr_assert(ne(ptr, strstr(err.message, "start the thread cprof-test: "), NULL), "%s",
		  err.message);
}

Test(signal_text, names_every_signal)
{
	cr_expect(eq(str, signal_text(SIGSEGV).text, "SIGSEGV"));
	cr_expect(eq(str, signal_text(SIGRTMIN).text, "SIGRTMIN+0"));
	cr_expect(eq(str, signal_text(SIGRTMAX).text, "SIGRTMIN+30"));
	cr_expect(eq(str, signal_text(4711).text, "signal 4711"));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert(file && fputs(text, file) >= 0);
	fclose(file);
}

Test(proc_file, has_numbers_by_field_and_alone)
{
	char path[] = "/tmp/test-proc-file-XXXXXX";
	int fd = mkstemp(path);

	cr_assert(ge(int, fd, 0));
	close(fd);
	write_file(path, "-1\n");
	cr_expect(eq(int, proc_number(path, 7), -1));
	write_file(path, "none\n");
	cr_expect(eq(int, proc_number(path, 7), 7));
	write_file(path, "NotVmData: 1\nVmData:\t  4711 kB\nVmData: 2\n");
	cr_expect(eq(u64, proc_field(path, "VmData:"), 4711));
	cr_expect(eq(u64, proc_field(path, "VmSwap:"), 0));
	unlink(path);
	cr_expect(eq(int, proc_number(path, 7), 7));
	cr_expect(eq(u64, proc_field(path, "VmData:"), 0));
}

Test(distance, is_that_of_the_larger_from_the_smaller)
{
	cr_expect(eq(u64, distance_u64(3, UINT64_MAX), UINT64_MAX - 3));
	cr_expect(eq(u64, distance_u64(UINT64_MAX, 3), UINT64_MAX - 3));
	cr_expect(eq(u64, distance_s64(INT64_MIN, INT64_MAX), UINT64_MAX));
	cr_expect(eq(u64, distance_s64(2, -5), 7));
	cr_expect(eq(u64, distance_s64(-5, -5), 0));
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolize.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/reader.h"
#include "store/writer.h"

/* Functions of this very program are looked up: their names and lines are known here. */
enum { PROBE_LINE = __LINE__ + 1 };
static __attribute__((noinline, noclone)) int symbolize_probe(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static int note_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the first is the program itself */
}

static uint64_t probe_address(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(note_bias, &bias);
	return (uint64_t)(uintptr_t)symbolize_probe - bias;
}

struct place_in {
	enum profile_module_kind kind;
	const char *path; /* of the module */
	const char *build_id;
	uint64_t address;
};

static char *own_path(void)
{
	return realpath("/proc/self/exe", NULL);
}

static void put(struct writer *writer, uint32_t id, const struct place_in *place)
{
	const char *slash = strrchr(place->path, '/');
	struct profile_module module = {
		.id = id,
		.kind = place->kind,
		.path = place->path,
		.name = slash ? slash + 1 : place->path,
		.open_path = place->path,
		.build_id = place->build_id,
	};
	struct profile_address address = { .id = id, .module = id, .value = place->address };
	struct profile_stack stack = { .id = id, .parent = PROFILE_NONE, .address = id };
	struct profile_first_sample sample = { id, { .stack = id, .weight = 1 } };
	struct profile_sample_sum sum = { id, 10, 10, 10 };

	writer_put_module(writer, &module);
	writer_put_address(writer, &address);
	writer_put_stack(writer, &stack);
	writer_put_first_sample(writer, &sample);
	writer_put_sample_sum(writer, &sum);
}

/* A profile with one sampled address in each of some modules; its path, for unlink and free(). */
static char *make_profile(const struct place_in *places, uint32_t nr)
{
	char folder[] = "/tmp/cprof-test-XXXXXX";
	char *path = xasprintf("%s/cprof.data", mkdtemp(folder));
	struct profile_event event = { .name = "cpu-clock", .unit = "ns" };
	struct profile_process process = { .parent = PROFILE_NONE, .exit_status = 0 };
	struct profile_thread thread = { .name = "test" };
	struct profile_run run = { .cprof_version = "test" };
	struct error err = ERROR_INIT;
	struct writer *writer;

	cr_assert(eq(int, writer_open(&writer, path, &err), 0), "%s", err.message);
	writer_begin(writer);
	writer_put_run(writer, &run);
	writer_put_event(writer, &event);
	writer_put_process(writer, &process);
	writer_put_thread(writer, &thread);
	for (uint32_t id = 0; id < nr; id++)
		put(writer, id, &places[id]);
	cr_assert(eq(int, writer_commit(writer, &err), 0), "%s", err.message);
	writer_close(writer);
	return path;
}

static struct profile *read_profile(const char *path)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	cr_assert(eq(int, profile_open(&profile, path, &err), 0), "%s", err.message);
	return profile;
}

static void remove_profile(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	free(path);
}

static const struct profile_function *function_at(const struct profile *profile, uint32_t address)
{
	cr_assert(lt(u32, profile->first_frame[address], profile->first_frame[address + 1]));
	return &profile->functions[profile->frames[profile->first_frame[address]].function];
}

static void symbolize(const char *path, const struct symbolize_options *options)
{
	struct error err = ERROR_INIT;

	cr_assert(eq(int, symbolize_file(path, options, &err), 0), "%s", err.message);
}

Test(symbolize, names_a_function_with_file_and_line)
{
	char *exe = own_path();
	struct place_in place = { .path = exe, .address = probe_address() };
	char *path = make_profile(&place, 1);

	symbolize(path, &(struct symbolize_options){ 0 });

	struct profile *profile = read_profile(path);
	const struct profile_function *function = function_at(profile, 0);
	cr_assert(profile->symbolized);
	cr_assert(eq(str, (char *)function->name, "symbolize_probe"));
	cr_assert(function->has_name);
	cr_assert(eq(u32, function->line, PROBE_LINE));
	cr_assert_not_null(function->file);
	cr_assert_not_null(strstr(function->file, "test_symbolize.c"));
	cr_assert(ge(u32, profile->frames[0].line, PROBE_LINE));
	cr_assert(eq(int, profile->modules[0].debug, PROFILE_DEBUG_FULL));
	cr_assert(eq(sz, profile->nr_quality, 0));
	profile_free(profile);
	remove_profile(path);
	free(exe);
}

Test(symbolize, says_why_a_file_that_is_gone_gives_no_names)
{
	struct place_in place = { .path = "/nonexistent/libgone.so", .address = 0x1234 };
	char *path = make_profile(&place, 1);

	symbolize(path, &(struct symbolize_options){ 0 });

	struct profile *profile = read_profile(path);
	cr_assert(eq(str, (char *)function_at(profile, 0)->name, "libgone.so+0x0"));
	cr_assert(not(function_at(profile, 0)->has_name));
	cr_assert(eq(int, profile->modules[0].debug, PROFILE_DEBUG_NONE));
	cr_assert_not_null(strstr(profile->modules[0].reason, "No such file"));
	cr_assert(eq(sz, profile->nr_quality, 1));
	cr_assert(eq(int, profile->quality[0].kind, PROFILE_NO_SYMBOL));
	cr_assert(eq(u64, profile->quality[0].count, 10));
	profile_free(profile);
	remove_profile(path);
}

Test(symbolize, does_not_use_a_file_of_another_build_id)
{
	char *exe = own_path();
	struct place_in place = { .path = exe, .build_id = "00ff00ff", .address = probe_address() };
	char *path = make_profile(&place, 1);

	symbolize(path, &(struct symbolize_options){ 0 });

	struct profile *profile = read_profile(path);
	cr_assert(not(function_at(profile, 0)->has_name));
	cr_assert_not_null(strstr(profile->modules[0].reason, "build id"));
	profile_free(profile);
	remove_profile(path);
	free(exe);
}

/* --- what happens in the child ------------------------------------------------------------- */

/* Dies by the signal in context when the module "crash" is opened. */
static int die_of_module(void *context, const struct profile_module *module)
{
	if (!strcmp(module->name, "crash"))
		raise(*(int *)context);
	return -1;
}

static char *profile_with_crasher(const char *exe)
{
	struct place_in places[] = {
		{ .path = exe, .address = probe_address() },
		{ .path = "/nonexistent/crash", .address = 0x10 },
		{ .path = exe, .address = probe_address() },
	};

	return make_profile(places, 3);
}

static void expect_only_the_crasher_nameless(int signal_nr, const char *reason)
{
	char *exe = own_path(), *path = profile_with_crasher(exe);
	struct symbolize_options options = { .open_module = die_of_module, .context = &signal_nr };

	symbolize(path, &options);

	struct profile *profile = read_profile(path);
	cr_assert(eq(str, (char *)function_at(profile, 0)->name, "symbolize_probe"));
	cr_assert(eq(str, (char *)function_at(profile, 1)->name, "crash+0x0"));
	cr_assert(eq(str, (char *)function_at(profile, 2)->name, "symbolize_probe"));
	cr_assert_not_null(strstr(profile->modules[1].reason, reason), "%s",
			   profile->modules[1].reason);
	profile_free(profile);
	remove_profile(path);
	free(exe);
}

Test(symbolize, a_crash_costs_one_module_its_names)
{
	expect_only_the_crasher_nameless(SIGSEGV, "crashed");
}

Test(symbolize, a_module_that_takes_too_long_loses_its_names)
{
	expect_only_the_crasher_nameless(SIGALRM, "longer");
}

Test(symbolize, an_interrupt_leaves_the_profile_as_it_was)
{
	char *exe = own_path(), *path = profile_with_crasher(exe);
	int signal_nr = SIGINT;
	struct symbolize_options interrupted = { .open_module = die_of_module,
						 .context = &signal_nr };
	struct error err = ERROR_INIT;

	cr_assert(eq(int, symbolize_file(path, &interrupted, &err), ERR_INTERRUPTED));

	struct profile *profile = read_profile(path);
	cr_assert(not(profile->symbolized));
	cr_assert(eq(sz, profile->nr_frames, 0));
	profile_free(profile);
	remove_profile(path);
	free(exe);
}

Test(symbolize, keeps_the_names_of_a_file_that_went_away)
{
	char *exe = own_path();
	char copy[] = "/tmp/cprof-test-exe-XXXXXX";

	close(mkstemp(copy));
	char *command = xasprintf("cp %s %s", exe, copy);
	cr_assert(eq(int, system(command), 0));
	struct place_in place = { .path = copy, .address = probe_address() };
	char *path = make_profile(&place, 1);

	symbolize(path, &(struct symbolize_options){ 0 });
	unlink(copy);
	symbolize(path, &(struct symbolize_options){ 0 });

	struct profile *profile = read_profile(path);
	cr_assert(eq(str, (char *)function_at(profile, 0)->name, "symbolize_probe"));
	cr_assert(eq(u32, function_at(profile, 0)->line, PROBE_LINE));
	cr_assert(eq(int, profile->modules[0].debug, PROFILE_DEBUG_FULL));
	cr_assert(eq(sz, profile->nr_quality, 0));
	profile_free(profile);
	remove_profile(path);
	free(command);
	free(exe);
}

static int open_again(void *context, const struct profile_module *module)
{
	(void)context;
	return open(module->path, O_RDONLY | O_CLOEXEC);
}

struct seen {
	size_t begun, total; /* modules */
};

static void note_progress(void *context, const struct symbolize_progress *progress)
{
	struct seen *seen = context;

	cr_assert(ge(sz, progress->done + 1, seen->begun));
	cr_assert_not_null(progress->module);
	seen->begun = progress->done + 1;
	seen->total = progress->total;
}

Test(symbolize, reports_progress_module_by_module)
{
	char *exe = own_path();
	struct place_in places[] = { { .path = exe, .address = probe_address() },
				     { .path = "/nonexistent/x", .address = 1 } };
	char *path = make_profile(places, 2);
	struct seen seen = { 0 };

	symbolize(path, &(struct symbolize_options){ .open_module = open_again,
						     .progress = note_progress,
						     .context = &seen });
	cr_assert(eq(sz, seen.begun, 2));
	cr_assert(eq(sz, seen.total, 2));
	remove_profile(path);
	free(exe);
}

Test(symbolize, what_the_budget_leaves_out_keeps_its_names_and_is_said)
{
	char *exe = own_path();
	struct place_in place = { .path = exe, .address = probe_address() };
	char *path = make_profile(&place, 1);

	symbolize(path, &(struct symbolize_options){ .budget_ns = 1 });

	struct profile *profile = read_profile(path);
	cr_assert(eq(str, (char *)function_at(profile, 0)->name, "symbolize_probe"));
	cr_assert(eq(u32, profile->frames[0].line, 0));
	cr_assert_not_null(strstr(profile->modules[0].reason, "--symbol-budget"));
	cr_assert(eq(sz, profile->nr_quality, 1));
	cr_assert(eq(int, profile->quality[0].kind, PROFILE_NO_DEBUG));
	cr_assert(eq(u64, profile->quality[0].count, 10));
	profile_free(profile);
	remove_profile(path);
	free(exe);
}

Test(symbolize, a_file_that_is_no_profile_is_an_error)
{
	struct error err = ERROR_INIT;

	cr_assert(lt(int, symbolize_file("/nonexistent/p", &(struct symbolize_options){ 0 }, &err),
		     0));
	cr_assert_not_null(strstr(err.message, "/nonexistent/p"));
}

/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "toy_profile.h"

static json_t *print(struct toy *toy, const char *view)
{
	struct report_options options = { .view = view, .format = REPORT_JSON };
	struct report *report = report_new(toy_profile(toy));
	struct error err = ERROR_INIT;
	json_error_t json_error;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *root;

	cr_assert(eq(int, report_print(report, &options, out, &err), 0), "%s", err.message);
	fclose(out);
	root = json_loads(text, JSON_REJECT_DUPLICATES, &json_error);
	cr_assert(ne(ptr, root, NULL), "%s", json_error.text);
	free(text);
	report_close(report);
	return root;
}

/* Follows keys and indices: at(root, "cpu.functions.0.name"). */
static const json_t *at(const json_t *root, const char *path)
{
	char *copy = strdup(path), *rest = copy, *key;

	while ((key = strsep(&rest, ".")) && root)
		root = json_is_array(root) ? json_array_get(root, (size_t)atoi(key))
					   : json_object_get(root, key);
	free(copy);
	return root;
}

/*
 * The contract: type letters are o object, a array, s string, i integer, r real, b bool, and n
 * where it may be null.
 */
struct key {
	const char *path, *types;
};

static bool has_type(const json_t *value, char letter)
{
	switch (letter) {
	case 'o':
		return json_is_object(value);
	case 'a':
		return json_is_array(value);
	case 's':
		return json_is_string(value);
	case 'i':
		return json_is_integer(value);
	case 'r':
		return json_is_real(value);
	case 'b':
		return json_is_boolean(value);
	default:
		return json_is_null(value);
	}
}

static void check_keys(const json_t *object, const char *where, const struct key *keys)
{
	cr_assert(ne(ptr, (void *)object, NULL), "%s", where);
	for (; keys->path; keys++) {
		const json_t *value = at(object, keys->path);
		bool fits = false;

		for (const char *letter = keys->types; value && *letter; letter++)
			fits = fits || has_type(value, *letter);
		cr_expect(eq(int, fits, 1), "%s.%s", where, keys->path);
	}
}

static const struct key run_keys[] = {
	{ "cprof", "s" },
	{ "command", "a" },
	{ "exit_status", "in" },
	{ "signal", "in" },
	{ "wall_s", "rn" },
	{ "complete", "b" },
	{ "cpu", "o" },
	{ "heap", "o" },
	{ "processes", "a" },
	{ "quality", "a" },
	{ 0 },
};
static const struct key cpu_keys[] = {
	{ "event", "s" },
	{ "unit", "s" },
	{ "frequency_hz", "i" },
	{ "substituted_for", "n" },
	{ "reason", "n" },
	{ "samples", "i" },
	{ "lost", "i" },
	{ "truncated_stacks", "i" },
	{ "user_only", "b" },
	{ "cpu_s_with_cprof", "b" },
	{ "ipc", "r" },
	{ "counters.cycles.value", "i" },
	{ "counters.cycles.status", "s" },
	{ "counters.instructions.value", "i" },
	{ "counters.branch-misses.value", "n" },
	{ "counters.branch-misses.status", "s" },
	{ "counters.branch-misses.reason", "s" },
	{ "counters.cache-misses.value", "n" },
	{ "functions", "a" },
	{ 0 },
};
static const struct key function_keys[] = {
	{ "name", "s" },       { "module", "s" },
	{ "file", "s" },       { "line", "i" },
	{ "self", "r" },       { "total", "r" },
	{ "samples", "i" },    { "self_weight", "i" },
	{ "ipc", "rn" },       { "branch_mpki", "n" },
	{ "cache_mpki", "n" }, { "error", "r" },
	{ "reason", "s" },     { 0 },
};
static const struct key heap_keys[] = {
	{ "mode", "s" },
	{ "tracked", "b" },
	{ "reason", "n" },
	{ "allocations", "i" },
	{ "frees", "i" },
	{ "reallocations", "i" },
	{ "allocated_bytes", "i" },
	{ "freed_bytes", "i" },
	{ "peak_bytes", "i" },
	{ "peak_blocks", "i" },
	{ "peak_time_s", "r" },
	{ "peak_exact", "b" },
	{ "live_bytes", "i" },
	{ "live_blocks", "i" },
	{ "temporary", "i" },
	{ "churn.bytes", "i" },
	{ "churn.share", "r" },
	{ "churn.by_lifetime.0.below_s", "r" },
	{ "churn.by_lifetime.0.bytes", "i" },
	{ "churn.by_lifetime.0.blocks", "i" },
	{ "churn.by_lifetime.3.below_s", "n" },
	{ "moved", "in" },
	{ "copied_bytes", "in" },
	{ "allocator", "sn" },
	{ "slack_bytes", "in" },
	{ "at_peak_slack_bytes", "in" },
	{ "sizes", "a" },
	{ "lifetimes", "a" },
	{ "sites", "a" },
	{ "timeline", "a" },
	{ 0 },
};
static const struct key site_keys[] = {
	{ "stack.0", "s" },
	{ "frames.0.name", "s" },
	{ "frames.0.module", "s" },
	{ "frames.0.file", "s" },
	{ "frames.0.line", "i" },
	{ "frames.0.inlined", "b" },
	{ "allocations", "i" },
	{ "frees", "i" },
	{ "reallocations", "i" },
	{ "allocated_bytes", "i" },
	{ "freed_bytes", "i" },
	{ "at_peak_bytes", "i" },
	{ "at_peak_blocks", "i" },
	{ "live_bytes", "i" },
	{ "live_blocks", "i" },
	{ "temporary", "i" },
	{ "mean_lifetime_s", "rn" },
	{ "moved", "i" },
	{ "copied_bytes", "i" },
	{ "at_peak_slack_bytes", "in" },
	{ "sizes", "a" },
	{ "lifetimes", "a" },
	{ 0 },
};
static const struct key process_keys[] = {
	{ "pid", "i" },		 { "image", "i" },
	{ "parent", "n" },	 { "command.0", "s" },
	{ "start_s", "r" },	 { "end_s", "r" },
	{ "exit_status", "in" }, { "signal", "n" },
	{ "tracked", "b" },	 { "reason", "n" },
	{ "cpu.samples", "i" },	 { "cpu.share", "r" },
	{ "heap.tracked", "b" }, { 0 },
};
static const struct key quality_keys[] = {
	{ "kind", "s" },
	{ "count", "i" },
	{ "detail", "s" },
	{ 0 },
};

static struct toy *both_sides(void)
{
	struct toy *toy = toy_new();
	struct profile_heap_site *site;
	struct profile_heap *heap;
	uint32_t stack;

	toy_event(toy, "cycles", "cycles")->value = 1000;
	toy_event(toy, "instructions", "")->value = 1500;
	toy_event(toy, "branch-misses", "")->status = PROFILE_NOT_SUPPORTED;
	stack = toy_stack(toy, "main@m.c:3", "f@f.c:4", NULL);
	toy_sample(toy, stack, "cycles", 50, 20);
	toy_sample(toy, stack, "instructions", 50, 30);
	for (uint32_t process = 0; process < 2; process++) {
		heap = toy_heap(toy, process ? PROFILE_NONE : 0);
		heap->allocations = heap->live_blocks = heap->peak_blocks = 7;
		heap->allocated_bytes = heap->live_bytes = heap->peak_bytes = 77;
		heap->peak_time_us = 500000;
	}
	site = toy_site(toy, 0, stack, PROFILE_CALLOC);
	site->allocations = site->live_blocks = site->at_peak_blocks = site->at_tree_peak_blocks =
		7;
	site->allocated_bytes = site->live_bytes = site->at_peak_bytes = site->at_tree_peak_bytes =
		77;
	toy_quality(toy, PROFILE_TRUNCATED, 2, "no CFI");
	return toy;
}

Test(report_json, has_every_key_of_the_contract)
{
	struct toy *toy = both_sides();
	json_t *root = print(toy, NULL);

	check_keys(root, "", run_keys);
	check_keys(at(root, "cpu"), "cpu", cpu_keys);
	check_keys(at(root, "cpu.functions.0"), "function", function_keys);
	check_keys(at(root, "heap"), "heap", heap_keys);
	check_keys(at(root, "heap.sites.0"), "site", site_keys);
	check_keys(at(root, "processes.0"), "process", process_keys);
	check_keys(at(root, "processes.0.heap"), "process heap", heap_keys);
	check_keys(at(root, "processes.0.heap.sites.0"), "process site", site_keys);
	check_keys(at(root, "quality.0"), "quality", quality_keys);
	json_decref(root);
	toy_free(toy);
}

#define is_text(path, expected) \
	cr_expect(eq(str, (char *)json_string_value(at(root, path)), (expected)))
#define is_integer(path, expected) \
	cr_expect(eq(i64, json_integer_value(at(root, path)), (expected)))

#define is_null(path) cr_expect(eq(int, json_is_null(at(root, path)), 1))

Test(report_json, has_the_values_of_the_profile)
{
	struct toy *toy = both_sides();
	json_t *root = print(toy, "summary");

	is_text("command.2", "3");
	is_integer("exit_status", 0);
	is_text("cpu.functions.0.name", "f");
	is_text("cpu.functions.0.module", "app");
	is_integer("cpu.functions.0.samples", 50);
	is_integer("cpu.functions.0.self_weight", 1000);
	cr_expect(epsilon_eq(dbl, json_real_value(at(root, "cpu.functions.0.ipc")), 1.5, 1e-9));
	is_text("cpu.functions.0.reason", "not-supported");
	is_text("cpu.counters.branch-misses.status", "not-supported");
	is_integer("heap.peak_bytes", 77);
	cr_expect(epsilon_eq(dbl, json_real_value(at(root, "heap.peak_time_s")), 0.5, 1e-9));
	is_text("heap.sites.0.stack.0", "main");
	is_text("heap.sites.0.stack.2", "calloc");
	is_text("heap.sites.0.frames.1.file", "f.c");
	is_integer("heap.sites.0.frames.1.line", 4);
	is_null("heap.sites.0.frames.2.file");
	is_integer("processes.0.heap.sites.0.at_peak_bytes", 77);
	is_integer("processes.0.pid", 100);
	is_integer("processes.0.cpu.samples", 50);
	json_decref(root);
	toy_free(toy);
}

Test(report_json, a_view_prints_an_object_with_its_name)
{
	static const char *const paths[][2] = {
		{ "functions", "functions.0.name" },
		{ "heap", "heap.sites.0.stack" },
		{ "leaks", "leaks.0.live_bytes" },
		{ "quality", "quality.0.kind" },
	};
	struct toy *toy = both_sides();

	for (size_t i = 0; i < 4; i++) {
		json_t *root = print(toy, paths[i][0]);

		cr_expect(eq(sz, json_object_size(root), 1));
		cr_expect(ne(ptr, (void *)at(root, paths[i][1]), NULL), "%s", paths[i][1]);
		json_decref(root);
	}
	toy_free(toy);
}

Test(report_json, an_untracked_heap_has_null_for_every_figure)
{
	struct toy *toy = toy_new();
	const char *key;
	json_t *root, *value;

	toy_run(toy)->heap_tracked = false;
	toy_run(toy)->heap_reason = "statically linked";
	root = print(toy, NULL);

	is_text("heap.mode", "exact");
	is_text("heap.reason", "statically linked");
	cr_expect(eq(int, json_is_false(at(root, "heap.tracked")), 1));
	json_object_foreach((json_t *)at(root, "heap"), key,
			    value) if (!strstr("mode tracked reason", key))
		cr_expect(eq(int, json_is_null(value), 1), "%s", key);
	is_null("processes.0.heap.allocations");
	is_text("processes.0.reason", "statically linked");
	is_text("quality.0.kind", "untracked");
	json_decref(root);
	toy_free(toy);
}

Test(report_json, a_recording_that_was_cut_off_before_its_heap_came_blames_no_program)
{
	struct toy *toy = toy_new();
	json_t *root;

	toy_run(toy)->complete = false;
	toy_run(toy)->heap_tracked = false;
	toy_profile(toy)->processes[0].tracked = false;
	root = print(toy, NULL);

	is_text("heap.reason", "the recording has not come as far as the heap's figures");
	is_text("processes.0.reason", "the recording has not come as far as the heap's figures");
	cr_expect(eq(sz, json_array_size(at(root, "quality")), 1));
	is_text("quality.0.kind", "interrupted");
	json_decref(root);
	toy_free(toy);
}

Test(report_json, a_side_that_was_not_sampled_is_an_object_with_the_reason)
{
	struct toy *toy = toy_new();
	json_t *root;

	toy_run(toy)->cpu_on = false;
	toy_run(toy)->cpu_reason = "perf_event_paranoid is 3";
	root = print(toy, NULL);

	is_null("cpu.event");
	is_text("cpu.reason", "perf_event_paranoid is 3");
	is_null("cpu.samples");
	is_null("cpu.ipc");
	is_text("cpu.counters.cycles.status", "not-counted");
	is_null("processes.0.cpu.share");
	json_decref(root);
	toy_free(toy);
}

Test(report_json, text_that_is_not_utf8_is_replaced_and_controls_are_escaped)
{
	struct toy *toy = toy_new();
	uint32_t stack = toy_stack(toy, "f\377\033[1m\n\"", NULL);
	json_t *root;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, stack, "cycles", 1, 1);
	toy_heap(toy, 0);
	toy_site(toy, 0, stack, PROFILE_MALLOC);
	root = print(toy, NULL);

	is_text("cpu.functions.0.name", "f\xef\xbf\xbd\033[1m\n\"");
	is_text("heap.sites.0.stack.0", "f\xef\xbf\xbd\033[1m\n\"");
	json_decref(root);
	toy_free(toy);
}

Test(report_json, figures_no_integer_holds_are_still_json)
{
	struct toy *toy = toy_new();
	json_t *root;

	toy_event(toy, "cycles", "cycles")->value = 1e300;
	toy_heap(toy, 0)->allocated_bytes = UINT64_MAX;
	root = print(toy, NULL);

	is_integer("heap.allocated_bytes", INT64_MAX);
	is_integer("cpu.counters.cycles.value", INT64_MAX);
	json_decref(root);
	toy_free(toy);
}

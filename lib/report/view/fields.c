/* SPDX-License-Identifier: MIT */
/* These keys are the JSON of cprof-report(1): they do not change. */
#include "base/alloc.h"
#include "report/view/field.h"

#define FIELD(type_, unit_, key_, struct_, member, ...)                     \
	{                                                                   \
		.key = (key_), .type = FIELD_##type_, .unit = UNIT_##unit_, \
		.offset = offsetof(struct struct_, member), __VA_ARGS__     \
	}
#define TITLE(text) .title = (text),
#define OF(fields) .of = &(fields),
#define ALWAYS .always = true,
#define DETAIL .detail = true,
#define TEXT_ONLY .text_only = true,
#define SPARSE .sparse = true,

#define LIST(list)                                   \
	{                                            \
		.at = (list), .nr = ARRAY_SIZE(list) \
	}

/* Of an object of which nothing is known where its member is false. */
#define LIST_IF_KNOWN(list, struct_, member)                                  \
	{                                                                     \
		.at = (list), .nr = ARRAY_SIZE(list), .may_be_unknown = true, \
		.known = offsetof(struct struct_, member)                     \
	}

/* --- cpu --- */

static const struct field function_list[] = {
	FIELD(TEXT, PLAIN, "name", cpu_function, name, TITLE("function")),
	FIELD(TEXT, PLAIN, "module", cpu_function, module),
	FIELD(TEXT, PLAIN, "file", cpu_function, file),
	FIELD(LINE, PLAIN, "line", cpu_function, line),
	FIELD(DOUBLE, SHARE, "self", cpu_function, self),
	FIELD(DOUBLE, SHARE, "total", cpu_function, total),
	FIELD(U64, COUNT, "samples", cpu_function, samples),
	FIELD(U64, COUNT, "self_weight", cpu_function, self_weight, TITLE("weight")),
	FIELD(FIGURE, RATIO, "ipc", cpu_function, ipc, TITLE("IPC")),
	FIELD(FIGURE, RATIO, "branch_mpki", cpu_function, branch_mpki, TITLE("br/1k")),
	FIELD(FIGURE, RATIO, "cache_mpki", cpu_function, cache_mpki, TITLE("$/1k")),
	FIELD(DOUBLE, ERROR, "error", cpu_function, error, TITLE("\xc2\xb1 %")),
	FIELD(TEXT, PLAIN, "reason", cpu_function, reason),
	FIELD(TEXT, PLAIN, "rank", cpu_function, rank_text, TITLE("#") TEXT_ONLY),
};
const struct fields function_fields = LIST(function_list);

static const struct field counter_list[] = {
	FIELD(TEXT, PLAIN, "name", cpu_counter, name, TEXT_ONLY),
	FIELD(FIGURE, COUNT, "value", cpu_counter, value),
	FIELD(TEXT, PLAIN, "unit", cpu_counter, unit),
	FIELD(TEXT, PLAIN, "status", cpu_counter, status),
	FIELD(FIGURE, SHARE, "coverage", cpu_counter, coverage),
	FIELD(TEXT, PLAIN, "reason", cpu_counter, reason),
};
static const struct fields counter_fields = LIST(counter_list);

static const struct field cpu_list[] = {
	FIELD(TEXT, PLAIN, "event", cpu, event, ALWAYS),
	FIELD(TEXT, PLAIN, "unit", cpu, unit, ALWAYS),
	FIELD(FIGURE, PLAIN, "frequency_hz", cpu, frequency_hz),
	FIELD(FIGURE, PLAIN, "period", cpu, period),
	FIELD(TEXT, PLAIN, "substituted_for", cpu, substituted_for, ALWAYS),
	FIELD(TEXT, PLAIN, "reason", cpu, reason, ALWAYS),
	FIELD(U64, COUNT, "samples", cpu, samples),
	FIELD(U64, COUNT, "lost", cpu, lost),
	FIELD(U64, COUNT, "truncated_stacks", cpu, truncated),
	FIELD(BOOL, PLAIN, "user_only", cpu, user_only),
	FIELD(FIGURE, SECONDS, "cpu_s", cpu, seconds),
	FIELD(BOOL, PLAIN, "cpu_s_with_cprof", cpu, seconds_with_overhead),
	FIELD(FIGURE, RATIO, "ipc", cpu, ipc),
	FIELD(FIGURE, RATIO, "branch_mpki", cpu, branch_mpki),
	FIELD(FIGURE, RATIO, "cache_mpki", cpu, cache_mpki),
	FIELD(MAP, PLAIN, "counters", cpu, counters, ALWAYS OF(counter_fields)),
	FIELD(ROWS, PLAIN, "functions", cpu, functions, OF(function_fields)),
};
static const struct fields cpu_fields = LIST_IF_KNOWN(cpu_list, cpu, sampled);

/* --- heap --- */

static const struct field place_list[] = {
	FIELD(TEXT, PLAIN, "name", heap_place, name),
	FIELD(TEXT, PLAIN, "module", heap_place, module),
	FIELD(TEXT, PLAIN, "file", heap_place, file),
	FIELD(LINE, PLAIN, "line", heap_place, line),
	FIELD(BOOL, PLAIN, "inlined", heap_place, inlined),
};
const struct fields place_fields = LIST(place_list);

static const struct field size_list[] = {
	FIELD(U64, BYTES, "most_bytes", heap_size, most_bytes, TITLE("up to")),
	FIELD(U64, COUNT, "blocks", heap_size, blocks),
	FIELD(DOUBLE, SHARE, "share", heap_size, share, TITLE("%") TEXT_ONLY),
	FIELD(U64, BYTES, "bytes", heap_size, bytes),
	FIELD(FIGURE, BYTES, "slack_bytes", heap_size, slack_bytes, TITLE("slack")),
	FIELD(FIGURE, SHARE, "slack_share", heap_size, slack_share, TITLE("%") TEXT_ONLY),
};
const struct fields size_fields = LIST(size_list);

static const struct field site_size_list[] = {
	FIELD(U64, BYTES, "most_bytes", heap_size, most_bytes),
	FIELD(U64, COUNT, "blocks", heap_size, blocks),
};
static const struct fields site_size_fields = LIST(site_size_list);

static const struct field age_list[] = {
	FIELD(FIGURE, SECONDS, "below_s", heap_age, below_s),
	FIELD(U64, COUNT, "blocks", heap_age, blocks),
};
static const struct fields age_fields = LIST(age_list);

static const struct field handoff_list[] = {
	FIELD(INT, PLAIN, "pid", heap_handoff, pid),
	FIELD(INT, PLAIN, "image", heap_handoff, image),
	FIELD(FIGURE, PLAIN, "from_tid", heap_handoff, from_tid),
	FIELD(TEXT, PLAIN, "from_comm", heap_handoff, from_comm),
	FIELD(FIGURE, PLAIN, "to_tid", heap_handoff, to_tid),
	FIELD(TEXT, PLAIN, "to_comm", heap_handoff, to_comm),
	FIELD(U64, COUNT, "frees", heap_handoff, frees),
	FIELD(U64, BYTES, "freed_bytes", heap_handoff, freed_bytes, TITLE("bytes")),
	FIELD(DOUBLE, SHARE, "share", heap_handoff, share, TITLE("%") TEXT_ONLY),
	FIELD(TEXT, PLAIN, "from", heap_handoff, from, TITLE("allocated by") TEXT_ONLY),
	FIELD(TEXT, PLAIN, "to", heap_handoff, to, TITLE("freed by") TEXT_ONLY),
};
const struct fields handoff_fields = LIST(handoff_list);

static const struct field site_list[] = {
	FIELD(TEXTS, PLAIN, "stack", heap_site, stack),
	FIELD(ROWS, PLAIN, "frames", heap_site, frames, OF(place_fields)),
	FIELD(U64, COUNT, "calls", heap_site, calls, TEXT_ONLY),
	FIELD(U64, COUNT, "allocations", heap_site, allocations),
	FIELD(U64, COUNT, "frees", heap_site, frees),
	FIELD(U64, COUNT, "reallocations", heap_site, reallocations, TITLE("reallocs")),
	FIELD(U64, BYTES, "allocated_bytes", heap_site, allocated_bytes, TITLE("allocated")),
	FIELD(U64, BYTES, "freed_bytes", heap_site, freed_bytes, TITLE("freed")),
	FIELD(U64, BYTES, "at_peak_bytes", heap_site, at_peak_bytes, TITLE("at peak")),
	FIELD(U64, COUNT, "at_peak_blocks", heap_site, at_peak_blocks, TITLE("blocks")),
	FIELD(U64, BYTES, "live_bytes", heap_site, live_bytes, TITLE("not freed")),
	FIELD(U64, COUNT, "live_blocks", heap_site, live_blocks, TITLE("blocks")),
	FIELD(U64, BYTES, "leaked_bytes", heap_site, leaked_bytes, TITLE("leaked")),
	FIELD(U64, COUNT, "leaked_blocks", heap_site, leaked_blocks, TITLE("blocks")),
	FIELD(U64, COUNT, "temporary", heap_site, temporary),
	FIELD(DOUBLE, SHARE, "temporary_share", heap_site, temporary_share,
	      TITLE("temp") TEXT_ONLY),
	FIELD(U64, COUNT, "cross_thread_frees", heap_site, cross_thread_frees, TITLE("crossed")),
	FIELD(FIGURE, SECONDS, "mean_lifetime_s", heap_site, mean_lifetime_s, TITLE("lifetime")),
	FIELD(FIGURE, COUNT, "allocations_error", heap_site, error.allocations, TITLE("+-")),
	FIELD(FIGURE, BYTES, "allocated_bytes_error", heap_site, error.allocated_bytes,
	      TITLE("+-")),
	FIELD(FIGURE, BYTES, "at_peak_bytes_error", heap_site, error.at_peak_bytes, TITLE("+-")),
	FIELD(FIGURE, BYTES, "live_bytes_error", heap_site, error.live_bytes, TITLE("+-")),
	FIELD(FIGURE, COUNT, "page_faults", heap_site, page_faults, TITLE("faults")),
	FIELD(FIGURE, COUNT, "moved", heap_site, moved),
	FIELD(FIGURE, BYTES, "copied_bytes", heap_site, copied_bytes, TITLE("copied")),
	FIELD(FIGURE, BYTES, "at_peak_slack_bytes", heap_site, at_peak_slack_bytes, TITLE("slack")),
	FIELD(ROWS, PLAIN, "sizes", heap_site, sizes, OF(site_size_fields)),
	FIELD(ROWS, PLAIN, "lifetimes", heap_site, lifetimes, OF(age_fields)),
};
const struct fields site_fields = LIST(site_list);

static const struct field lifetime_list[] = {
	FIELD(FIGURE, SECONDS, "below_s", heap_lifetime, below_s),
	FIELD(U64, BYTES, "bytes", heap_lifetime, bytes),
	FIELD(U64, COUNT, "blocks", heap_lifetime, blocks),
};
static const struct fields lifetime_fields = LIST(lifetime_list);

static const struct field churn_list[] = {
	FIELD(U64, BYTES, "bytes", heap_churn, bytes),
	FIELD(FIGURE, SHARE, "share", heap_churn, share),
	FIELD(ROWS, PLAIN, "by_lifetime", heap_churn, by_lifetime, OF(lifetime_fields)),
};
static const struct fields churn_fields = LIST(churn_list);

#define HEAP_SLICE                                                                         \
	FIELD(DOUBLE, SECONDS, "t_s", time_slice, t_s, TITLE("time")),                     \
		FIELD(DOUBLE, SECONDS, "duration_s", time_slice, duration_s),              \
		FIELD(FIGURE, BYTES, "live_bytes", time_slice, live_bytes, TITLE("live")), \
		FIELD(FIGURE, BYTES, "max_live_bytes", time_slice, max_live_bytes,         \
		      TITLE("most live")),                                                 \
		FIELD(FIGURE, COUNT, "allocations", time_slice, allocations),              \
		FIELD(FIGURE, BYTES, "allocated_bytes", time_slice, allocated_bytes,       \
		      TITLE("allocated")),                                                 \
		FIELD(FIGURE, BYTES, "rss_bytes", time_slice, rss_bytes, TITLE("RSS"))

static const struct field heap_slice_list[] = { HEAP_SLICE };
static const struct fields heap_slice_fields = LIST(heap_slice_list);

static const struct field slice_list[] = {
	HEAP_SLICE,
	FIELD(FIGURE, COUNT, "samples", time_slice, samples),
	FIELD(FIGURE, SECONDS, "cpu_s", time_slice, cpu_s, TITLE("CPU")),
};
const struct fields slice_fields = LIST(slice_list);

static const struct field counted_list[] = {
	FIELD(U64, COUNT, "allocations", heap_counted, allocations),
	FIELD(U64, COUNT, "frees", heap_counted, frees),
	FIELD(U64, COUNT, "reallocations", heap_counted, reallocations),
	FIELD(U64, BYTES, "allocated_bytes", heap_counted, allocated_bytes),
	FIELD(U64, COUNT, "difference", heap_counted, difference),
};
static const struct fields counted_fields = LIST(counted_list);

static const struct field heap_list[] = {
	FIELD(TEXT, PLAIN, "mode", heap, mode, ALWAYS),
	FIELD(BOOL, PLAIN, "tracked", heap, tracked, ALWAYS),
	FIELD(TEXT, PLAIN, "reason", heap, reason, ALWAYS),
	FIELD(FIGURE, BYTES, "sample_bytes", heap, sample_bytes, ALWAYS),
	FIELD(U64, COUNT, "allocations", heap, allocations),
	FIELD(U64, COUNT, "frees", heap, frees),
	FIELD(U64, COUNT, "reallocations", heap, reallocations),
	FIELD(U64, BYTES, "allocated_bytes", heap, allocated_bytes),
	FIELD(U64, BYTES, "freed_bytes", heap, freed_bytes, DETAIL),
	FIELD(FIGURE, BYTES, "peak_bytes", heap, peak_bytes),
	FIELD(FIGURE, COUNT, "peak_blocks", heap, peak_blocks),
	FIELD(FIGURE, SECONDS, "peak_time_s", heap, peak_time_s),
	FIELD(BOOL, PLAIN, "peak_exact", heap, peak_exact, DETAIL),
	FIELD(FIGURE, BYTES, "peak_most_bytes", heap, peak_most_bytes),
	FIELD(FIGURE, BYTES, "peak_bytes_error", heap, peak_bytes_error),
	FIELD(U64, BYTES, "live_bytes", heap, live_bytes, DETAIL),
	FIELD(FIGURE, BYTES, "live_bytes_error", heap, live_bytes_error),
	FIELD(BOOL, PLAIN, "live_exact", heap, live_exact, DETAIL),
	FIELD(U64, COUNT, "live_blocks", heap, live_blocks, DETAIL),
	FIELD(U64, BYTES, "live_at_exec_bytes", heap, live_at_exec_bytes, DETAIL),
	FIELD(U64, COUNT, "live_at_exec_blocks", heap, live_at_exec_blocks, DETAIL),
	FIELD(U64, COUNT, "temporary", heap, temporary, DETAIL),
	FIELD(U64, BYTES, "inherited_bytes", heap, inherited_bytes, DETAIL),
	FIELD(U64, COUNT, "inherited_frees", heap, inherited_frees, DETAIL),
	FIELD(U64, COUNT, "cross_thread_frees", heap, handoffs.frees, DETAIL),
	FIELD(U64, BYTES, "cross_thread_bytes", heap, handoffs.freed_bytes, DETAIL),
	FIELD(ROWS, PLAIN, "handoffs", heap, handoffs.rows, OF(handoff_fields) DETAIL),
	FIELD(U64, COUNT, "lost_events", heap, lost_events),
	FIELD(OBJECT, PLAIN, "counted", heap, counted, OF(counted_fields)),
	FIELD(OBJECT, PLAIN, "churn", heap, churn, OF(churn_fields) DETAIL),
	FIELD(FIGURE, COUNT, "page_faults", heap, page_faults, DETAIL),
	FIELD(FIGURE, COUNT, "page_faults_in_blocks", heap, page_faults_in_blocks, DETAIL),
	FIELD(FIGURE, COUNT, "moved", heap, moved, DETAIL),
	FIELD(FIGURE, BYTES, "copied_bytes", heap, copied_bytes, DETAIL),
	FIELD(TEXT, PLAIN, "allocator", heap, allocator, DETAIL),
	FIELD(FIGURE, BYTES, "slack_bytes", heap, slack_bytes, DETAIL),
	FIELD(FIGURE, BYTES, "at_peak_slack_bytes", heap, at_peak_slack_bytes, DETAIL),
	FIELD(ROWS, PLAIN, "sizes", heap, sizes, OF(size_fields) DETAIL),
	FIELD(ROWS, PLAIN, "lifetimes", heap, lifetimes, OF(age_fields) DETAIL),
	FIELD(ROWS, PLAIN, "sites", heap, sites, OF(site_fields) DETAIL),
	FIELD(ROWS, PLAIN, "timeline", heap, timeline.rows, OF(heap_slice_fields)),
};
const struct fields heap_fields = {
	.at = heap_list,
	.nr = ARRAY_SIZE(heap_list),
	.may_be_unknown = true,
	.known = offsetof(struct heap, tracked),
	.may_lack_details = true,
	.detailed = offsetof(struct heap, followed),
};

/* --- the whole --- */

static const struct field moment_list[] = {
	FIELD(TEXT, PLAIN, "reason", memory_moment, reason, ALWAYS),
	FIELD(DOUBLE, SECONDS, "time_s", memory_moment, time_s),
	FIELD(U64, BYTES, "rss_bytes", memory_moment, rss_bytes),
	FIELD(U64, BYTES, "anonymous_bytes", memory_moment, anonymous_bytes),
	FIELD(U64, BYTES, "file_bytes", memory_moment, file_bytes),
	FIELD(U64, BYTES, "shared_bytes", memory_moment, shared_bytes),
	FIELD(U64, BYTES, "swap_bytes", memory_moment, swap_bytes),
	FIELD(U64, BYTES, "heap_bytes", memory_moment, heap_bytes),
	FIELD(FIGURE, BYTES, "other_bytes", memory_moment, other_bytes),
};
static const struct fields moment_fields = LIST_IF_KNOWN(moment_list, memory_moment, known);

static const struct field memory_list[] = {
	FIELD(TEXT, PLAIN, "reason", memory, reason),
	FIELD(FIGURE, BYTES, "peak_rss_bytes", memory, peak_rss_bytes),
	FIELD(OBJECT, PLAIN, "at_heap_peak", memory, at_heap_peak, OF(moment_fields)),
};
static const struct fields memory_fields = LIST(memory_list);

static const struct field process_cpu_list[] = {
	FIELD(TEXT, PLAIN, "reason", cpu_use, reason, ALWAYS),
	FIELD(U64, COUNT, "samples", cpu_use, samples),
	FIELD(DOUBLE, SHARE, "share", cpu_use, share),
};
static const struct fields process_cpu_fields = LIST_IF_KNOWN(process_cpu_list, cpu_use, sampled);

static const struct field process_list[] = {
	FIELD(INT, PLAIN, "pid", process_row, pid),
	FIELD(INT, PLAIN, "image", process_row, image),
	FIELD(FIGURE, PLAIN, "parent", process_row, parent),
	FIELD(TEXTS, PLAIN, "command", process_row, command),
	FIELD(FIGURE, SECONDS, "start_s", process_row, start_s),
	FIELD(FIGURE, SECONDS, "end_s", process_row, end_s),
	FIELD(BOOL, PLAIN, "executed", process_row, executed),
	FIELD(BOOL, PLAIN, "replaced", process_row, replaced),
	FIELD(FIGURE, PLAIN, "exit_status", process_row, exit_status, TITLE("exit")),
	FIELD(FIGURE, PLAIN, "signal", process_row, signal),
	FIELD(BOOL, PLAIN, "tracked", process_row, tracked),
	FIELD(TEXT, PLAIN, "reason", process_row, reason),
	FIELD(OBJECT, PLAIN, "cpu", process_row, cpu, OF(process_cpu_fields)),
	FIELD(OBJECT, PLAIN, "heap", process_row, heap, OF(heap_fields)),
	FIELD(OBJECT, PLAIN, "memory", process_row, memory, OF(memory_fields)),
	FIELD(FIGURE, SHARE, "cpu_share", process_row, cpu_share, TITLE("CPU") TEXT_ONLY),
	FIELD(FIGURE, SHARE, "event_share", process_row, cpu_share, TITLE("share") TEXT_ONLY),
	FIELD(FIGURE, BYTES, "heap_peak", process_row, heap_peak, TITLE("heap peak") TEXT_ONLY),
	FIELD(FIGURE, COUNT, "heap_allocations", process_row, heap_allocations,
	      TITLE("allocations") TEXT_ONLY),
};
const struct fields process_fields = LIST(process_list);

static const struct field thread_list[] = {
	FIELD(INT, PLAIN, "pid", thread_row, pid),
	FIELD(INT, PLAIN, "image", thread_row, image),
	FIELD(INT, PLAIN, "tid", thread_row, tid),
	FIELD(TEXT, PLAIN, "comm", thread_row, name),
	FIELD(TEXTS, PLAIN, "command", thread_row, command),
	FIELD(TEXT, PLAIN, "start_function", thread_row, start_function, TITLE("began in")),
	FIELD(FIGURE, COUNT, "samples", thread_row, samples),
	FIELD(FIGURE, SHARE, "share", thread_row, share, TITLE("CPU")),
	FIELD(FIGURE, SHARE, "event_share", thread_row, share, TITLE("share") TEXT_ONLY),
	FIELD(FIGURE, SECONDS, "start_s", thread_row, start_s, TITLE("start")),
	FIELD(FIGURE, SECONDS, "end_s", thread_row, end_s, TITLE("end")),
	FIELD(FIGURE, COUNT, "allocations", thread_row, allocations, TITLE("allocs")),
	FIELD(FIGURE, COUNT, "frees", thread_row, frees),
	FIELD(FIGURE, COUNT, "reallocations", thread_row, reallocations),
	FIELD(FIGURE, BYTES, "allocated_bytes", thread_row, allocated_bytes, TITLE("allocated")),
	FIELD(FIGURE, BYTES, "freed_bytes", thread_row, freed_bytes, TITLE("freed")),
	FIELD(FIGURE, COUNT, "temporary", thread_row, temporary),
	FIELD(TEXT, PLAIN, "reason", thread_row, reason),
};
const struct fields thread_fields = LIST(thread_list);

static const struct field module_list[] = {
	FIELD(TEXT, PLAIN, "module", module_row, name),
	FIELD(TEXT, PLAIN, "path", module_row, path),
	FIELD(TEXT, PLAIN, "build_id", module_row, build_id),
	FIELD(FIGURE, SHARE, "self", module_row, self),
	FIELD(FIGURE, SHARE, "total", module_row, total),
	FIELD(FIGURE, COUNT, "samples", module_row, samples),
	FIELD(FIGURE, COUNT, "allocations", module_row, allocations, TITLE("allocs")),
	FIELD(FIGURE, BYTES, "allocated_bytes", module_row, allocated_bytes, TITLE("allocated")),
	FIELD(U64, COUNT, "addresses", module_row, addresses),
	FIELD(U64, COUNT, "unnamed", module_row, unnamed),
	FIELD(TEXT, PLAIN, "names", module_row, names),
	FIELD(TEXT, PLAIN, "debug_path", module_row, debug_path),
	FIELD(TEXT, PLAIN, "reason", module_row, reason),
};
const struct fields module_fields = LIST(module_list);

static const struct field caller_list[] = {
	FIELD(TEXT, PLAIN, "name", caller_row, name, TITLE("function")),
	FIELD(TEXT, PLAIN, "module", caller_row, module),
	FIELD(TEXT, PLAIN, "caller", caller_row, caller),
	FIELD(TEXT, PLAIN, "caller_module", caller_row, caller_module),
	FIELD(FIGURE, SHARE, "self", caller_row, self),
	FIELD(FIGURE, SHARE, "total", caller_row, total),
	FIELD(FIGURE, COUNT, "samples", caller_row, samples),
	FIELD(FIGURE, COUNT, "allocations", caller_row, allocations, TITLE("allocs")),
	FIELD(FIGURE, COUNT, "reallocations", caller_row, reallocations),
	FIELD(FIGURE, BYTES, "allocated_bytes", caller_row, allocated_bytes, TITLE("allocated")),
	FIELD(FIGURE, BYTES, "at_peak_bytes", caller_row, at_peak_bytes, TITLE("at peak")),
	FIELD(FIGURE, COUNT, "calls", caller_row, calls, TEXT_ONLY),
};
const struct fields caller_fields = LIST(caller_list);

static const struct field quality_list[] = {
	FIELD(TEXT, PLAIN, "kind", quality_row, kind),
	FIELD(U64, COUNT, "count", quality_row, count),
	FIELD(TEXT, PLAIN, "detail", quality_row, detail),
};
const struct fields quality_fields = LIST(quality_list);

static const struct field analysis_list[] = {
	FIELD(TEXT, PLAIN, "cprof", analysis, cprof_version),
	FIELD(TEXTS, PLAIN, "command", analysis, command),
	FIELD(FIGURE, PLAIN, "exit_status", analysis, exit_status),
	FIELD(FIGURE, PLAIN, "signal", analysis, signal),
	FIELD(FIGURE, SECONDS, "wall_s", analysis, wall_s),
	FIELD(BOOL, PLAIN, "complete", analysis, complete),
	FIELD(OBJECT, PLAIN, "cpu", analysis, cpu, OF(cpu_fields)),
	FIELD(OBJECT, PLAIN, "heap", analysis, heap, OF(heap_fields)),
	FIELD(OBJECT, PLAIN, "memory", analysis, memory, OF(memory_fields)),
	FIELD(ROWS, PLAIN, "processes", analysis, processes, OF(process_fields)),
	FIELD(ROWS, PLAIN, "quality", analysis, quality, OF(quality_fields)),
};
const struct fields analysis_fields = LIST(analysis_list);

/* Why there are no rows, or what is null in all of them. */
#define REASON(member) FIELD(TEXT, PLAIN, "reason", analysis, member, SPARSE)

static const struct field functions_view_list[] = {
	FIELD(ROWS, PLAIN, "functions", analysis, cpu.functions, OF(function_fields)),
	REASON(cpu.functions.absent),
};
const struct fields functions_view_fields = LIST(functions_view_list);

static const struct field heap_view_list[] = {
	FIELD(OBJECT, PLAIN, "heap", analysis, heap, OF(heap_fields)),
};
const struct fields heap_view_fields = LIST(heap_view_list);

static const struct field leaks_view_list[] = {
	FIELD(ROWS, PLAIN, "leaks", analysis, leaks, OF(site_fields)),
	REASON(leaks.absent),
};
const struct fields leaks_view_fields = LIST(leaks_view_list);

static const struct field callers_view_list[] = {
	FIELD(ROWS, PLAIN, "callers", analysis, callers.rows, OF(caller_fields)),
	REASON(callers.reason),
};
const struct fields callers_view_fields = LIST(callers_view_list);

static const struct field threads_view_list[] = {
	FIELD(ROWS, PLAIN, "threads", analysis, threads.rows, OF(thread_fields)),
	REASON(threads.rows.absent),
};
const struct fields threads_view_fields = LIST(threads_view_list);

static const struct field modules_view_list[] = {
	FIELD(ROWS, PLAIN, "modules", analysis, modules.rows, OF(module_fields)),
	REASON(modules.reason),
};
const struct fields modules_view_fields = LIST(modules_view_list);

static const struct field timeline_view_list[] = {
	FIELD(ROWS, PLAIN, "timeline", analysis, heap.timeline.rows, OF(slice_fields)),
	REASON(timeline_reason),
};
const struct fields timeline_view_fields = LIST(timeline_view_list);

static const struct field quality_view_list[] = {
	FIELD(ROWS, PLAIN, "quality", analysis, quality, OF(quality_fields)),
};
const struct fields quality_view_fields = LIST(quality_view_list);

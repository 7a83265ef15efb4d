/* SPDX-License-Identifier: MIT */
#include "store/columns.h"

#include <stddef.h>

#include "base/alloc.h"
#include "store/profile.h"

static const char *status_word(unsigned int value)
{
	return profile_status_name(value);
}

static const char *allocator_word(unsigned int value)
{
	return profile_allocator_name(value);
}

static const char *quality_word(unsigned int value)
{
	return profile_quality_name(value);
}

static const char *module_kind_word(unsigned int value)
{
	return profile_module_kind_name(value);
}

static const char *debug_word(unsigned int value)
{
	return profile_debug_name(value);
}

#define COLUMNS(type_, ...)                                                           \
	.row_size = sizeof(type_), .columns = (const struct column[]){ __VA_ARGS__ }, \
	.nr_columns = ARRAY_SIZE(((const struct column[]){ __VA_ARGS__ }))

#define FIELD(name_, type_)                                                            \
	{                                                                              \
		.name = #name_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_) \
	}
#define FIELD_AS(column_, name_, type_)                                                 \
	{                                                                               \
		.name = column_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_) \
	}
#define REF(name_, type_, refers_)                                                      \
	{                                                                               \
		.name = #name_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_), \
		.refers = &(refers_)                                                    \
	}
#define REF_AS(column_, name_, refers_)                                              \
	{                                                                            \
		.name = column_, .type = COLUMN_REF, .offset = offsetof(ROW, name_), \
		.refers = &(refers_)                                                 \
	}
#define WORD(name_, word_, nr_)                                                                 \
	{                                                                                       \
		.name = #name_, .type = COLUMN_WORD, .offset = offsetof(ROW, name_), .words = { \
			word_,                                                                  \
			nr_                                                                     \
		}                                                                               \
	}

#define ROW struct profile_run
const struct table table_meta = {
	"meta",
	COLUMNS(ROW, FIELD(cprof_version, TEXT_OR_NULL), FIELD(host, TEXT_OR_NULL),
		FIELD(kernel, TEXT_OR_NULL), FIELD(cpu_model, TEXT_OR_NULL), FIELD(nr_cpus, U32),
		FIELD(start_realtime_us, I64), FIELD(start_monotonic_ns, I64), FIELD(wall_us, I64),
		FIELD(options, TEXT_OR_NULL), FIELD(exit_status, EXIT_STATUS),
		FIELD(signal, SIGNAL), FIELD(complete, BOOL), FIELD(cpu_on, BOOL),
		FIELD(cpu_reason, TEXT_OR_NULL), FIELD(user_only, BOOL), FIELD(no_inherit, BOOL),
		FIELD(heap_mode, TEXT_OR_NULL), FIELD(heap_sample_bytes, U32_OR_NULL),
		FIELD(heap_tracked, BOOL), FIELD(heap_reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct file
const struct table table_file = {
	"file",
	COLUMNS(ROW, FIELD(id, ID), FIELD(path, TEXT)),
};
#undef ROW

#define ROW struct profile_event
const struct table table_event = {
	"event",
	COLUMNS(ROW, FIELD(id, ID), FIELD(name, TEXT), FIELD(unit, TEXT),
		FIELD(substituted_for, TEXT_OR_NULL), FIELD(reason, TEXT_OR_NULL),
		WORD(status, status_word, PROFILE_NR_STATUS), FIELD(value, DOUBLE),
		FIELD(coverage, DOUBLE), FIELD(frequency_hz, U32_OR_NULL), FIELD(period, U64),
		FIELD(precise, I32)),
};
#undef ROW

#define ROW struct profile_process
const struct table table_process = {
	"process",
	COLUMNS(ROW, FIELD(id, ID), REF(parent, REF_OR_NULL, table_process), FIELD(pid, I32),
		FIELD(image, U32), FIELD(executable, TEXT_OR_NULL), FIELD(start_us, TIME),
		FIELD(end_us, TIME), FIELD(executed, BOOL), FIELD(replaced, BOOL),
		FIELD(exit_status, EXIT_STATUS), FIELD(signal, SIGNAL), FIELD(tracked, BOOL),
		FIELD(untracked_reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct profile_thread
const struct table table_thread = {
	"thread",
	COLUMNS(ROW, FIELD(id, ID), REF(process, REF, table_process), FIELD(tid, I32),
		FIELD(name, TEXT_OR_NULL), FIELD(start_us, TIME), FIELD(end_us, TIME)),
};
#undef ROW

#define ROW struct profile_module
const struct table table_module = {
	"module",
	COLUMNS(ROW, FIELD(id, ID), WORD(kind, module_kind_word, PROFILE_MODULE_NR),
		FIELD(path, TEXT_OR_NULL), FIELD(name, TEXT), FIELD(build_id, TEXT_OR_NULL),
		FIELD(open_path, TEXT_OR_NULL), WORD(debug, debug_word, PROFILE_DEBUG_NR),
		FIELD(debug_path, TEXT_OR_NULL), FIELD(reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct profile_address
const struct table table_address = {
	"address",
	COLUMNS(ROW, FIELD(id, ID),
		{ .name = "kind",
		  .type = COLUMN_KIND,
		  .offset = offsetof(ROW, kind),
		  .words = { NULL, PROFILE_ADDRESS_NR } },
		REF(module, REF_OR_NULL, table_module), FIELD(value, U64)),
};
#undef ROW

#define ROW struct profile_stack
const struct table table_stack = {
	"stack",
	COLUMNS(ROW, FIELD(id, ID), REF(parent, REF_OR_NULL, table_stack),
		REF(address, REF, table_address)),
};
#undef ROW

#define ROW struct profile_first_sample
const struct table table_first_sample = {
	"first_sample",
	COLUMNS(ROW, FIELD(id, ID), FIELD_AS("time_us", sample.time_us, I64),
		REF_AS("thread", sample.thread, table_thread),
		REF_AS("stack", sample.stack, table_stack),
		REF_AS("event", sample.event, table_event), FIELD_AS("weight", sample.weight, U64)),
};
#undef ROW

#define ROW struct profile_later_sample
const struct table table_later_sample = {
	"later_sample",
	COLUMNS(ROW, FIELD(time_us, I64), REF(first, REF, table_first_sample),
		FIELD(weight, U64_OR_NULL)),
};
#undef ROW

#define ROW struct profile_sample_sum
const struct table table_sample_sum = {
	"sample_sum",
	COLUMNS(ROW, REF(first, REF, table_first_sample), FIELD(samples, U64), FIELD(weight, U64),
		FIELD(weight_squared, DOUBLE)),
};
#undef ROW

#define ROW struct profile_heap
const struct table table_heap = {
	"heap",
	COLUMNS(ROW, REF(process, REF_OR_ALL, table_process), FIELD(allocations, U64),
		FIELD(frees, U64), FIELD(reallocations, U64), FIELD(allocated_bytes, U64),
		FIELD(freed_bytes, U64_OR_NULL), FIELD(peak_bytes, U64_OR_NULL),
		FIELD(peak_blocks, U64_OR_NULL), FIELD(peak_time_us, TIME), FIELD(peak_exact, BOOL),
		FIELD(peak_most_bytes, U64_OR_NULL), FIELD(live_bytes, U64_OR_NULL),
		FIELD(live_blocks, U64_OR_NULL), FIELD(peak_variance, DOUBLE),
		FIELD(live_variance, DOUBLE), FIELD(temporary, U64_OR_NULL),
		FIELD_AS("churn_below_10us_bytes", churn[0].bytes, U64_OR_NULL),
		FIELD_AS("churn_below_10us_blocks", churn[0].blocks, U64_OR_NULL),
		FIELD_AS("churn_below_1ms_bytes", churn[1].bytes, U64_OR_NULL),
		FIELD_AS("churn_below_1ms_blocks", churn[1].blocks, U64_OR_NULL),
		FIELD_AS("churn_below_100ms_bytes", churn[2].bytes, U64_OR_NULL),
		FIELD_AS("churn_below_100ms_blocks", churn[2].blocks, U64_OR_NULL),
		FIELD_AS("churn_longer_bytes", churn[3].bytes, U64_OR_NULL),
		FIELD_AS("churn_longer_blocks", churn[3].blocks, U64_OR_NULL),
		FIELD(unknown_frees, U64), FIELD(late_events, U64), FIELD(lost_events, U64),
		FIELD(stall_us, U64), FIELD(inherited_bytes, U64), FIELD(inherited_frees, U64),
		FIELD(page_faults, U64_OR_NULL), FIELD(counted_allocations, U64),
		FIELD(counted_reallocations, U64), FIELD(counted_frees, U64),
		FIELD(counted_bytes, U64), FIELD(allocator, TEXT_OR_NULL),
		FIELD(slack_known, BOOL)),
};
#undef ROW

#define ROW struct profile_heap_site
const struct table table_heap_site = {
	"heap_site",
	COLUMNS(ROW, REF(process, REF, table_process), REF(stack, REF, table_stack),
		WORD(allocator, allocator_word, PROFILE_NR_ALLOCATORS), FIELD(allocations, U64),
		FIELD(frees, U64), FIELD(reallocations, U64), FIELD(allocated_bytes, U64),
		FIELD(freed_bytes, U64), FIELD(at_peak_bytes, U64), FIELD(at_peak_blocks, U64),
		FIELD(at_tree_peak_bytes, U64), FIELD(at_tree_peak_blocks, U64),
		FIELD(live_bytes, U64), FIELD(live_blocks, U64), FIELD(temporary, U64),
		FIELD(cross_thread_frees, U64), FIELD(lifetime_us, U64),
		FIELD(lifetime_blocks, U64), FIELD(allocations_variance, DOUBLE),
		FIELD(allocated_variance, DOUBLE), FIELD(at_peak_variance, DOUBLE),
		FIELD(at_tree_peak_variance, DOUBLE), FIELD(live_variance, DOUBLE),
		FIELD(page_faults, U64), FIELD(moved, U64), FIELD(copied_bytes, U64),
		FIELD(at_peak_slack_bytes, U64), FIELD(at_tree_peak_slack_bytes, U64),
		FIELD(sizes, HISTOGRAM), FIELD(lifetimes, HISTOGRAM)),
};
#undef ROW

#define ROW struct profile_heap_size
const struct table table_heap_size = {
	"heap_size",
	COLUMNS(ROW, REF(process, REF, table_process), FIELD(most_bytes, U64), FIELD(blocks, U64),
		FIELD(bytes, U64), FIELD(slack_bytes, U64)),
};
#undef ROW

#define ROW struct profile_heap_thread
const struct table table_heap_thread = {
	"heap_thread",
	COLUMNS(ROW, REF(process, REF, table_process), FIELD(tid, I32), FIELD(allocations, U64),
		FIELD(frees, U64), FIELD(reallocations, U64), FIELD(allocated_bytes, U64),
		FIELD(freed_bytes, U64), FIELD(temporary, U64)),
};
#undef ROW

#define ROW struct profile_heap_handoff
const struct table table_heap_handoff = {
	"heap_handoff",
	COLUMNS(ROW, REF(process, REF, table_process), FIELD(from_tid, I32), FIELD(to_tid, I32),
		FIELD(frees, U64), FIELD(freed_bytes, U64)),
};
#undef ROW

#define ROW struct profile_slice
const struct table table_slice = {
	"slice",
	COLUMNS(ROW, REF(process, REF_OR_ALL, table_process), FIELD(time_us, I64),
		FIELD(duration_us, U64), FIELD(live_bytes, U64), FIELD(max_live_bytes, U64),
		FIELD(allocations, U64), FIELD(allocated_bytes, U64)),
};
#undef ROW

#define ROW struct profile_memory
const struct table table_memory = {
	"memory",
	COLUMNS(ROW, REF(process, REF, table_process), FIELD(time_us, I64),
		FIELD(anonymous_bytes, U64), FIELD(file_bytes, U64), FIELD(shared_bytes, U64),
		FIELD(swap_bytes, U64), FIELD(peak_rss_bytes, U64)),
};
#undef ROW

#define ROW struct profile_function
const struct table table_function = {
	"function",
	COLUMNS(ROW, FIELD(id, ID), REF(module, REF, table_module), FIELD(name, TEXT),
		FIELD(linkage_name, TEXT_OR_NULL), FIELD(has_name, BOOL), FIELD(file, FILE),
		FIELD(line, U32_OR_NULL)),
};
#undef ROW

#define ROW struct profile_frame
const struct table table_frame = {
	"frame",
	COLUMNS(ROW, REF(address, REF, table_address), FIELD(depth, U32),
		REF(function, REF, table_function), FIELD(file, FILE), FIELD(line, U32_OR_NULL)),
};
#undef ROW

#define ROW struct profile_quality
const struct table table_quality = {
	"quality",
	COLUMNS(ROW, WORD(kind, quality_word, PROFILE_NR_QUALITY), FIELD(count, U64),
		FIELD(detail, TEXT)),
};
#undef ROW

/* SPDX-License-Identifier: MIT */
#include "record/events/event_type.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/alloc.h"

/* Known to headers since Linux 5.13 only. */
#define PERF_COUNT_SW_CGROUP_SWITCHES 11

#define HARDWARE(id) .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##id
#define SOFTWARE(id) .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##id
#define CACHE(id, op, result)                                                    \
	.type = PERF_TYPE_HW_CACHE, .config = PERF_COUNT_HW_CACHE_##id |         \
					      PERF_COUNT_HW_CACHE_OP_##op << 8 | \
					      PERF_COUNT_HW_CACHE_RESULT_##result << 16

/* clang-format off */

/* One kind of access of a cache: how many there were, and how many missed. */
#define CACHE_PAIR(accesses, misses, id, op, cache, what)				\
	{ accesses, "", CACHE(id, op, ACCESS), .rate_divisor = 4, .about = cache ": " what },	\
	{ misses, "", CACHE(id, op, MISS), .rate_divisor = 4, .about = cache ": missed " what }
#define CACHE_LOADS(name, id, cache)							\
	CACHE_PAIR(name "-loads", name "-load-misses", id, READ, cache, "reads")
#define CACHE_STORES(name, id, cache)							\
	CACHE_PAIR(name "-stores", name "-store-misses", id, WRITE, cache, "writes")
#define CACHE_PREFETCHES(name, id, cache)						\
	CACHE_PAIR(name "-prefetches", name "-prefetch-misses", id, PREFETCH, cache, "prefetches")

static const struct event_type generic[] = {
	{ "cycles", "cycles", HARDWARE(CPU_CYCLES), .about = "CPU cycles while running" },
	{ "instructions", "", HARDWARE(INSTRUCTIONS), .about = "instructions retired" },
	{ "branches", "", HARDWARE(BRANCH_INSTRUCTIONS), .rate_divisor = 4,
	  .about = "branches retired" },
	{ "branch-misses", "", HARDWARE(BRANCH_MISSES), .rate_divisor = 4,
	  .about = "branches predicted wrongly" },
	{ "cache-references", "", HARDWARE(CACHE_REFERENCES), .rate_divisor = 4,
	  .about = "cache accesses; at which level varies" },
	{ "cache-misses", "", HARDWARE(CACHE_MISSES), .rate_divisor = 4,
	  .about = "cache misses; at which level varies" },
	{ "bus-cycles", "cycles", HARDWARE(BUS_CYCLES), .about = "cycles of the bus clock" },
	{ "ref-cycles", "cycles", HARDWARE(REF_CPU_CYCLES),
	  .about = "cycles of a clock with a constant rate" },
	{ "stalled-cycles-frontend", "cycles", HARDWARE(STALLED_CYCLES_FRONTEND),
	  .about = "cycles without instructions to start" },
	{ "stalled-cycles-backend", "cycles", HARDWARE(STALLED_CYCLES_BACKEND),
	  .about = "cycles waiting for data or units" },

	CACHE_LOADS("L1-dcache", L1D, "L1 data cache"),
	CACHE_STORES("L1-dcache", L1D, "L1 data cache"),
	CACHE_PREFETCHES("L1-dcache", L1D, "L1 data cache"),
	CACHE_LOADS("L1-icache", L1I, "L1 instruction cache"),
	CACHE_PREFETCHES("L1-icache", L1I, "L1 instruction cache"),
	CACHE_LOADS("LLC", LL, "last level cache"),
	CACHE_STORES("LLC", LL, "last level cache"),
	CACHE_PREFETCHES("LLC", LL, "last level cache"),
	CACHE_LOADS("dTLB", DTLB, "TLB for data"),
	CACHE_STORES("dTLB", DTLB, "TLB for data"),
	CACHE_PREFETCHES("dTLB", DTLB, "TLB for data"),
	CACHE_LOADS("iTLB", ITLB, "TLB for instructions"),
	CACHE_LOADS("branch", BPU, "branch predictor"),
	CACHE_LOADS("node", NODE, "memory of this node"),
	CACHE_STORES("node", NODE, "memory of this node"),
	CACHE_PREFETCHES("node", NODE, "memory of this node"),

	{ "cpu-clock", "ns", SOFTWARE(CPU_CLOCK), .about = "time on a CPU, by a timer" },
	{ "task-clock", "ns", SOFTWARE(TASK_CLOCK), .about = "time on a CPU, per thread" },
	{ "page-faults", "", SOFTWARE(PAGE_FAULTS), .about = "page faults" },
	{ "minor-faults", "", SOFTWARE(PAGE_FAULTS_MIN), .about = "page faults without reading" },
	{ "major-faults", "", SOFTWARE(PAGE_FAULTS_MAJ), .about = "page faults that read a file" },
	{ "context-switches", "", SOFTWARE(CONTEXT_SWITCHES),
	  .about = "switches to another thread" },
	{ "cpu-migrations", "", SOFTWARE(CPU_MIGRATIONS), .about = "moves to another CPU" },
	{ "cgroup-switches", "", SOFTWARE(CGROUP_SWITCHES),
	  .about = "switches to a thread of another cgroup" },
	{ "alignment-faults", "", SOFTWARE(ALIGNMENT_FAULTS),
	  .about = "unaligned accesses fixed up by the kernel" },
	{ "emulation-faults", "", SOFTWARE(EMULATION_FAULTS),
	  .about = "instructions emulated by the kernel" },

	{ "cpu-time", "ns", .type = EVENT_TYPE_STOPS,
	  .about = "time on a CPU, by stopping threads" },
	{ 0 },
};

static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "cpu-cycles", "cycles" },
	{ "branch-instructions", "branches" },
	{ "idle-cycles-frontend", "stalled-cycles-frontend" },
	{ "idle-cycles-backend", "stalled-cycles-backend" },
	{ "L1-dcache", "L1-dcache-loads" },
	{ "L1-icache", "L1-icache-loads" },
	{ "LLC", "LLC-loads" },
	{ "dTLB", "dTLB-loads" },
	{ "iTLB", "iTLB-loads" },
	{ "node", "node-loads" },
	{ "faults", "page-faults" },
	{ "cs", "context-switches" },
	{ "migrations", "cpu-migrations" },
};
/* clang-format on */

const struct event_type *event_types_generic(void)
{
	return generic;
}

bool event_type_is_software(const struct event_type *type)
{
	return type->type == PERF_TYPE_SOFTWARE;
}

bool event_type_is_stops(const struct event_type *type)
{
	return type->type == EVENT_TYPE_STOPS;
}

bool event_type_is_clock(const struct event_type *type)
{
	return event_type_is_software(type) && (type->config == PERF_COUNT_SW_CPU_CLOCK ||
						type->config == PERF_COUNT_SW_TASK_CLOCK);
}

static const char *resolve_alias(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].alias, name))
			return aliases[i].name;
	return name;
}

const char *event_type_alias(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			return aliases[i].alias;
	return NULL;
}

const struct event_type *event_type_find(const char *name)
{
	name = resolve_alias(name);
	for (const struct event_type *type = generic; type->name; type++)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

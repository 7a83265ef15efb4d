/* SPDX-License-Identifier: MIT */
#include "record/events/event_type.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "record/events/pfm.h"

const char event_types_default[] = "cycles,instructions,branch-misses,cache-misses";

#define HARDWARE(id) .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##id
#define SOFTWARE(id) .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##id
#define CACHE(id, op, result)                                                    \
	.type = PERF_TYPE_HW_CACHE, .config = PERF_COUNT_HW_CACHE_##id |         \
					      PERF_COUNT_HW_CACHE_OP_##op << 8 | \
					      PERF_COUNT_HW_CACHE_RESULT_##result << 16

/* clang-format off */
static const struct event_type generic[] = {
	{ "cycles", "cycles", HARDWARE(CPU_CYCLES), .about = "CPU cycles while running" },
	{ "instructions", "", HARDWARE(INSTRUCTIONS), .about = "instructions retired" },
	{ "branches", "", HARDWARE(BRANCH_INSTRUCTIONS), .rate_divisor = 4,
	  .about = "branches retired" },
	{ "branch-misses", "", HARDWARE(BRANCH_MISSES), .rate_divisor = 4,
	  .about = "branches predicted wrongly" },
	{ "cache-references", "", HARDWARE(CACHE_REFERENCES), .rate_divisor = 4,
	  .about = "accesses of a cache level that depends on the CPU" },
	{ "cache-misses", "", HARDWARE(CACHE_MISSES), .rate_divisor = 4,
	  .about = "misses of a cache level that depends on the CPU" },
	{ "bus-cycles", "cycles", HARDWARE(BUS_CYCLES), .about = "cycles of the bus clock" },
	{ "ref-cycles", "cycles", HARDWARE(REF_CPU_CYCLES),
	  .about = "cycles at a constant rate, whatever the frequency" },
	{ "stalled-cycles-frontend", "cycles", HARDWARE(STALLED_CYCLES_FRONTEND),
	  .about = "cycles without instructions to start" },
	{ "stalled-cycles-backend", "cycles", HARDWARE(STALLED_CYCLES_BACKEND),
	  .about = "cycles waiting for data or units" },

	{ "L1-dcache-loads", "", CACHE(L1D, READ, ACCESS), .rate_divisor = 4 },
	{ "L1-dcache-load-misses", "", CACHE(L1D, READ, MISS), .rate_divisor = 4 },
	{ "L1-dcache-stores", "", CACHE(L1D, WRITE, ACCESS), .rate_divisor = 4 },
	{ "L1-icache-load-misses", "", CACHE(L1I, READ, MISS), .rate_divisor = 4 },
	{ "LLC-loads", "", CACHE(LL, READ, ACCESS), .rate_divisor = 4 },
	{ "LLC-load-misses", "", CACHE(LL, READ, MISS), .rate_divisor = 4 },
	{ "LLC-stores", "", CACHE(LL, WRITE, ACCESS), .rate_divisor = 4 },
	{ "LLC-store-misses", "", CACHE(LL, WRITE, MISS), .rate_divisor = 4 },
	{ "dTLB-loads", "", CACHE(DTLB, READ, ACCESS), .rate_divisor = 4 },
	{ "dTLB-load-misses", "", CACHE(DTLB, READ, MISS), .rate_divisor = 4 },
	{ "dTLB-stores", "", CACHE(DTLB, WRITE, ACCESS), .rate_divisor = 4 },
	{ "dTLB-store-misses", "", CACHE(DTLB, WRITE, MISS), .rate_divisor = 4 },
	{ "iTLB-loads", "", CACHE(ITLB, READ, ACCESS), .rate_divisor = 4 },
	{ "iTLB-load-misses", "", CACHE(ITLB, READ, MISS), .rate_divisor = 4 },
	{ "node-loads", "", CACHE(NODE, READ, ACCESS), .rate_divisor = 4 },
	{ "node-load-misses", "", CACHE(NODE, READ, MISS), .rate_divisor = 4 },

	{ "cpu-clock", "ns", SOFTWARE(CPU_CLOCK), .about = "time on a CPU, by a timer" },
	{ "task-clock", "ns", SOFTWARE(TASK_CLOCK), .about = "time on a CPU, per thread" },
	{ "page-faults", "", SOFTWARE(PAGE_FAULTS), .about = "page faults" },
	{ "minor-faults", "", SOFTWARE(PAGE_FAULTS_MIN), .about = "page faults without reading" },
	{ "major-faults", "", SOFTWARE(PAGE_FAULTS_MAJ), .about = "page faults that read a file" },
	{ "context-switches", "", SOFTWARE(CONTEXT_SWITCHES),
	  .about = "switches to another thread" },
	{ "cpu-migrations", "", SOFTWARE(CPU_MIGRATIONS), .about = "moves to another CPU" },
	{ "alignment-faults", "", SOFTWARE(ALIGNMENT_FAULTS),
	  .about = "unaligned accesses fixed up by the kernel" },
	{ "emulation-faults", "", SOFTWARE(EMULATION_FAULTS),
	  .about = "instructions emulated by the kernel" },
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

const struct event_type *event_type_find(const char *name)
{
	name = resolve_alias(name);
	for (const struct event_type *type = generic; type->name; type++)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

static int unknown(const char *name, struct error *err)
{
	const char *names[ARRAY_SIZE(generic)] = { 0 };
	const char *meant;

	for (size_t i = 0; generic[i].name; i++)
		names[i] = generic[i].name;
	error_set(err, ERR_USAGE, "there is no event '%s'", name);
	meant = suggest(name, names);
	if (meant)
		return error_hint(err, "did you mean '%s'?", meant);
	return error_hint(err, "`cprof list` shows the events of this machine");
}

static int add(struct event_types *types, const char *name, struct error *err)
{
	const struct event_type *known = event_type_find(name);
	struct event_type type = { 0 };

	if (known)
		type = *known;
	else if (pfm_find(&type, name) < 0)
		return unknown(name, err);

	vec_each(types, other) if (!strcmp(other->name, known ? type.name : name)) return error_set(
		err, ERR_USAGE, "event '%s' is there twice", name);
	type.name = xstrdup(known ? type.name : name);
	vec_push(types, type);
	return 0;
}

int event_types_parse(struct event_types *types, const char *list, struct error *err)
{
	char *copy = xstrdup(list), *rest = copy, *name;
	int ret = 0;

	while (!ret && (name = strsep(&rest, ",")))
		ret = *name ? add(types, name, err)
			    : error_set(err, ERR_USAGE, "an empty name in the list of events '%s'",
					list);
	free(copy);
	return ret;
}

void event_types_release(struct event_types *types)
{
	vec_each(types, type) free((char *)type->name);
	vec_free(types);
}

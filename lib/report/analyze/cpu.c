/* SPDX-License-Identifier: MIT */
#include "report/analyze/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/vec.h"

/* What is looked at of each event: the leading one, and those that make up the rates. */
enum role { LEADING, CYCLES, INSTRUCTIONS, BRANCH_MISSES, CACHE_MISSES, NR_ROLES };

static const char *const counter_names[NR_ROLES] = {
	[CYCLES] = "cycles",
	[INSTRUCTIONS] = "instructions",
	[BRANCH_MISSES] = "branch-misses",
	[CACHE_MISSES] = "cache-misses",
};

struct tally {
	double weight, squares;
	uint64_t samples;
};

struct work {
	struct cpu *cpu;
	const struct profile *profile;
	const struct chains *chains;
	const struct selection *selection;
	unsigned int *roles; /* by event: a bit for each role it plays */
	struct trees trees;
	struct tally (*self)[NR_ROLES]; /* by function */
	struct tally all[NR_ROLES], overhead;
	double *total; /* by function */
};

static void tally_add(struct tally *tally, const struct profile_total *t)
{
	tally->weight += (double)t->weight;
	tally->squares += t->weight_squared;
	tally->samples += t->samples;
}

/* "cycles" is also "cycles:u" and "cpu_core/cycles/". */
static bool is_event(const char *name, const char *wanted)
{
	const char *slash = strchr(name, '/');
	size_t length;

	if (slash)
		name = slash + 1;
	length = strcspn(name, ":/");
	return length == strlen(wanted) && !strncmp(name, wanted, length);
}

static unsigned int roles_of(const struct profile_event *event)
{
	unsigned int roles = event->id == 0 ? 1u << LEADING : 0;

	for (enum role role = CYCLES; role < NR_ROLES; role++)
		if (event->name && is_event(event->name, counter_names[role]))
			roles |= 1u << role;
	return roles;
}

static void find_roles(struct work *w)
{
	w->roles = xcalloc(w->profile->nr_events + 1, sizeof(w->roles[0]));
	for (size_t i = 0; i < w->profile->nr_events; i++)
		w->roles[i] = roles_of(&w->profile->events[i]);
}

/* --- counters --- */

static bool has_value(const struct profile_event *event)
{
	return event->status == PROFILE_COUNTED || event->status == PROFILE_SCALED;
}

static void put_counter(struct cpu *cpu, struct cpu_counter counter)
{
	struct cpu_counter *row = &cpu->counter_storage[cpu->counters.nr];

	*row = counter;
	vec_push(&cpu->counters, row);
}

static void add_counter(struct cpu *cpu, const struct profile_event *event)
{
	const char *status = profile_status_name(event->status);
	const char *reason = event->reason ?: has_value(event) ? event->reason : status;

	put_counter(cpu, (struct cpu_counter){
				 .name = event->name,
				 .unit = event->unit,
				 .status = status,
				 .reason = reason,
				 .value = has_value(event) ? FIGURE(event->value)
							   : FIGURE_ABSENT(reason),
				 .coverage = has_value(event) ? FIGURE(event->coverage)
							      : FIGURE_ABSENT(reason),
			 });
}

/* The hardware counters are always listed, so that their absence is said. */
static void add_missing_counter(struct cpu *cpu, const char *name)
{
	const char *status = profile_status_name(PROFILE_NOT_COUNTED);
	const char *reason = cpu->reason ?: "not asked for";

	put_counter(cpu, (struct cpu_counter){
				 .name = name,
				 .unit = strcmp(name, "cycles") != 0 ? "" : name,
				 .status = status,
				 .reason = reason,
				 .value = FIGURE_ABSENT(reason),
				 .coverage = FIGURE_ABSENT(reason),
			 });
}

const struct cpu_counter *cpu_counter(const struct cpu *cpu, const char *name)
{
	for (size_t i = 0; i < cpu->counters.nr; i++) {
		const struct cpu_counter *counter = cpu->counters.at[i];

		if (is_event(counter->name, name))
			return counter;
	}
	return NULL;
}

static void list_counters(struct work *w)
{
	struct cpu *cpu = w->cpu;

	cpu->counter_storage =
		xcalloc(w->profile->nr_events + NR_ROLES, sizeof(cpu->counter_storage[0]));
	for (size_t i = 0; i < w->profile->nr_events; i++)
		if (w->profile->events[i].name)
			add_counter(cpu, &w->profile->events[i]);
	for (enum role role = CYCLES; role < NR_ROLES; role++)
		if (!cpu_counter(cpu, counter_names[role]))
			add_missing_counter(cpu, counter_names[role]);
}

/* --- rates --- */

static const char *why_no_counter(const struct cpu *cpu, enum role role)
{
	const struct cpu_counter *counter = cpu_counter(cpu, counter_names[role]);

	return counter->value.absent ? cpu->reason ?: counter->value.absent : NULL;
}

/* factor * above / below, where samples of both are there in number. */
static struct figure sampled_rate(const struct work *w, const struct tally *tallies,
				  enum role above, enum role below, double factor)
{
	const char *absent = why_no_counter(w->cpu, below) ?: why_no_counter(w->cpu, above);

	if (!absent && (!w->all[above].samples || !w->all[below].samples))
		absent = "not sampled";
	if (absent)
		return FIGURE_ABSENT(absent);
	if (tallies[above].samples < CPU_FEW_SAMPLES || tallies[below].samples < CPU_FEW_SAMPLES ||
	    tallies[below].weight <= 0)
		return FIGURE_ABSENT(CPU_TOO_FEW);
	return FIGURE(factor * tallies[above].weight / tallies[below].weight);
}

static struct figure counted_rate(const struct cpu *cpu, enum role above, enum role below,
				  double factor)
{
	const char *absent = why_no_counter(cpu, below) ?: why_no_counter(cpu, above);
	double divisor;

	if (absent)
		return FIGURE_ABSENT(absent);
	divisor = cpu_counter(cpu, counter_names[below])->value.value;
	if (divisor <= 0)
		return FIGURE_ABSENT("nothing was counted");
	return FIGURE(factor * cpu_counter(cpu, counter_names[above])->value.value / divisor);
}

/* Counters are of all processes; what was selected is known by its samples only. */
static void find_rates(struct work *w)
{
	struct cpu *cpu = w->cpu;

	if (w->selection->everything) {
		cpu->ipc = counted_rate(cpu, INSTRUCTIONS, CYCLES, 1);
		cpu->branch_mpki = counted_rate(cpu, BRANCH_MISSES, INSTRUCTIONS, 1000);
		cpu->cache_mpki = counted_rate(cpu, CACHE_MISSES, INSTRUCTIONS, 1000);
	} else {
		cpu->ipc = sampled_rate(w, w->all, INSTRUCTIONS, CYCLES, 1);
		cpu->branch_mpki = sampled_rate(w, w->all, BRANCH_MISSES, INSTRUCTIONS, 1000);
		cpu->cache_mpki = sampled_rate(w, w->all, CACHE_MISSES, INSTRUCTIONS, 1000);
	}
}

/* What a clock counted is cprof's time inside the program, too.  How much of it that is only samples of
 * time tell: its part of page faults, say, is another one. */
static void take_clock(struct work *w, const struct cpu_counter *clock)
{
	struct cpu *cpu = w->cpu;
	bool is_told = cpu->is_time && cpu->samples > 0;

	cpu->seconds = FIGURE(clock->value.value / 1e9 * (is_told ? 1 - cpu->overhead_share : 1));
	cpu->seconds_with_overhead = !is_told && w->profile->run.heap_tracked;
}

static void find_seconds(struct work *w)
{
	static const char *const clocks[] = { "task-clock", "cpu-clock" };

	w->cpu->seconds = FIGURE_ABSENT("no clock was counted");
	w->cpu->sampled_seconds = FIGURE_ABSENT("the event that was sampled is no clock");
	if (profile_unit_is_time(w->cpu->unit))
		w->cpu->seconds = w->cpu->sampled_seconds = FIGURE(w->all[LEADING].weight / 1e9);
	for (size_t i = 0; w->selection->everything && i < ARRAY_SIZE(clocks); i++) {
		const struct cpu_counter *clock = cpu_counter(w->cpu, clocks[i]);

		if (clock && !clock->value.absent && profile_unit_is_time(clock->unit)) {
			take_clock(w, clock);
			break;
		}
	}
}

/* --- samples --- */

static void add_leading(struct work *w, const struct profile_total *t)
{
	uint32_t process = w->profile->threads[t->thread].process;

	trees_add(&w->trees, t->stack, (double)t->weight);
	w->cpu->processes[process].samples += t->samples;
	w->cpu->processes[process].share += (double)t->weight;
	w->cpu->threads[t->thread].samples += t->samples;
	w->cpu->threads[t->thread].share += (double)t->weight;
	if (w->trees.truncated[t->stack])
		w->cpu->truncated += t->samples;
}

static void add_total(struct work *w, const struct profile_total *t)
{
	uint32_t leaf = w->profile->stacks[t->stack].address;
	struct tally *self = w->self[chains_leaf(w->chains, leaf)->function];
	unsigned int roles = w->roles[t->event], leading = 1u << LEADING;

	if (profile_is_overhead(w->profile, t->stack)) {
		if (roles & leading)
			tally_add(&w->overhead, t);
		return;
	}
	for (enum role role = LEADING; role < NR_ROLES; role++) {
		if (!(roles & 1u << role))
			continue;
		tally_add(&self[role], t);
		tally_add(&w->all[role], t);
	}
	if (roles & leading)
		add_leading(w, t);
}

/* Of weights. */
static void make_shares(const struct work *w, struct cpu_use *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		rows[i].sampled = w->cpu->sampled;
		rows[i].reason = w->cpu->sampled ? NULL : w->cpu->reason;
		if (w->all[LEADING].weight > 0)
			rows[i].share /= w->all[LEADING].weight;
	}
}

/* What was not followed has no thread, and no share rather than none of the whole. */
static void withhold_unfollowed(const struct work *w)
{
	const struct profile *profile = w->profile;

	if (!profile->run.no_inherit || !w->cpu->sampled)
		return;
	for (size_t i = 0; i < profile->nr_processes; i++) {
		w->cpu->processes[i].sampled = false;
		w->cpu->processes[i].reason = CPU_NOT_FOLLOWED;
	}
	for (size_t i = 0; i < profile->nr_threads; i++) {
		w->cpu->processes[profile->threads[i].process].sampled = true;
		w->cpu->processes[profile->threads[i].process].reason = NULL;
	}
}

/* The program itself is, also before its first thread is known. */
static bool is_any_followed(const struct work *w)
{
	for (size_t i = 0; i < w->profile->nr_processes; i++)
		if (w->selection->processes[i] && (!i || w->cpu->processes[i].sampled))
			return true;
	return w->selection->all_threads;
}

static void withhold_all(const struct work *w)
{
	struct cpu *cpu = w->cpu;

	if (!cpu->sampled || is_any_followed(w))
		return;
	cpu->sampled = false;
	cpu->reason = CPU_NOT_FOLLOWED;
	cpu->event = cpu->unit = cpu->substituted_for = NULL;
}

static void add_totals(struct work *w)
{
	for (size_t i = 0; i < w->selection->nr_totals; i++)
		if (w->selection->threads[w->selection->totals[i].thread])
			add_total(w, &w->selection->totals[i]);

	make_shares(w, w->cpu->processes, w->profile->nr_processes);
	make_shares(w, w->cpu->threads, w->profile->nr_threads);
	withhold_unfollowed(w);
	withhold_all(w);
	trees_sum(&w->trees);
	trees_functions(&w->trees, w->total);
}

/* --- functions --- */

static const char *first_reason(const struct cpu_function *f)
{
	return f->ipc.absent ?: f->branch_mpki.absent ?: f->cache_mpki.absent;
}

static void fill_function(const struct work *w, struct cpu_function *row, uint32_t id)
{
	const struct function *f = &w->chains->functions[id];
	const struct tally *self = w->self[id], *all = &w->all[LEADING];

	*row = (struct cpu_function){
		.name = f->name,
		.module = chains_module_name(w->chains, f->module),
		.file = f->file,
		.line = f->line,
		.self = self[LEADING].weight / all->weight,
		.total = fmin(1, w->total[id] / all->weight),
		.error = stats_share_error(self[LEADING].weight, self[LEADING].squares, all->weight,
					   all->squares),
		.samples = self[LEADING].samples,
		.self_weight = (uint64_t)self[LEADING].weight,
		.ipc = sampled_rate(w, self, INSTRUCTIONS, CYCLES, 1),
		.branch_mpki = sampled_rate(w, self, BRANCH_MISSES, INSTRUCTIONS, 1000),
		.cache_mpki = sampled_rate(w, self, CACHE_MISSES, INSTRUCTIONS, 1000),
		.unnamed = f->kind != FUNCTION_NAMED,
	};
	row->reason = first_reason(row);
}

static bool is_listed(const struct work *w, uint32_t id)
{
	const struct function *f = &w->chains->functions[id];

	if (f->kind == FUNCTION_MISSING)
		return w->self[id][LEADING].samples > 0;
	return !f->ours && w->total[id] > 0;
}

static int by_self(const void *a, const void *b)
{
	const struct cpu_function *f = *(const struct cpu_function *const *)a;
	const struct cpu_function *g = *(const struct cpu_function *const *)b;

	if (f->self != g->self)
		return f->self < g->self ? 1 : -1;
	if (f->total != g->total)
		return f->total < g->total ? 1 : -1;
	return strcmp(f->name, g->name);
}

/* Two shares differ if their difference is more than the error of it. */
static bool differ(const struct cpu_function *f, const struct cpu_function *g)
{
	return f->self - g->self > hypot(f->error, g->error);
}

static void rank(struct cpu *cpu)
{
	struct cpu_function *first = NULL; /* of those that are tied */

	for (size_t i = 0; i < cpu->functions.nr; i++) {
		struct cpu_function *f = (struct cpu_function *)cpu->functions.at[i];

		if (!first || differ(first, f))
			first = f;
		else
			f->tied = first->tied = true;
		f->rank = first == f ? (uint32_t)i + 1 : first->rank;
	}
}

static void write_ranks(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->functions.nr; i++) {
		struct cpu_function *f = (struct cpu_function *)cpu->functions.at[i];

		snprintf(f->rank_room, sizeof(f->rank_room), "%u%s", f->rank, f->tied ? "=" : " ");
		f->rank_text = f->samples ? f->rank_room : NULL;
	}
}

static void list_functions(struct work *w)
{
	struct cpu *cpu = w->cpu;

	cpu->function_storage = xcalloc(w->chains->nr_functions + 1, sizeof(struct cpu_function));
	for (uint32_t id = 0; id < w->chains->nr_functions; id++) {
		struct cpu_function *row = &cpu->function_storage[cpu->functions.nr];

		if (!is_listed(w, id))
			continue;
		fill_function(w, row, id);
		cpu->nr_sampled += row->samples > 0;
		if (row->unnamed) {
			cpu->unnamed_samples += row->samples;
			cpu->unnamed_share += row->self;
		}
		vec_push(&cpu->functions, row);
	}
	if (cpu->functions.nr)
		qsort(cpu->functions.at, cpu->functions.nr, sizeof(cpu->functions.at[0]), by_self);
	rank(cpu);
	write_ranks(cpu);
}

/* --- the whole --- */

static bool is_lost_samples(const struct profile_quality *row)
{
	return row->kind == PROFILE_LOST && row->detail &&
	       !strcmp(row->detail, PROFILE_LOST_SAMPLES);
}

static void describe(struct cpu *cpu, const struct profile *profile)
{
	const struct profile_event *leader = profile->nr_events ? &profile->events[0] : NULL;

	cpu->reason = profile->run.cpu_reason;
	cpu->user_only = profile->run.user_only;
	cpu->frequency_hz = cpu->period = FIGURE_ABSENT("not sampled so");
	for (size_t i = 0; i < profile->nr_quality; i++)
		if (is_lost_samples(&profile->quality[i]))
			cpu->lost += profile->quality[i].count;
	if (!profile->run.cpu_on || !leader) {
		cpu->reason = cpu->reason ?: "no samples were taken";
		return;
	}

	cpu->sampled = true;
	cpu->event = leader->name;
	cpu->unit = leader->unit;
	cpu->is_time = !leader->name || is_event(leader->name, counter_names[CYCLES]) ||
		       profile_unit_is_time(leader->unit);
	cpu->substituted_for = leader->substituted_for;
	cpu->reason = cpu->reason ?: leader->reason;
	if (leader->frequency_hz)
		cpu->frequency_hz = FIGURE(leader->frequency_hz);
	if (leader->period)
		cpu->period = FIGURE((double)leader->period);
}

static void measure(struct work *w)
{
	struct cpu *cpu = w->cpu;
	double everything = w->all[LEADING].weight + w->overhead.weight;
	double squares = w->all[LEADING].squares + w->overhead.squares;

	cpu->samples = w->all[LEADING].samples;
	cpu->functions.absent = cpu->sampled ? NULL : cpu->reason;
	cpu->overhead_samples = w->overhead.samples;
	cpu->overhead_share = everything > 0 ? w->overhead.weight / everything : 0;
	cpu->overhead_error =
		stats_share_error(w->overhead.weight, w->overhead.squares, everything, squares);
	find_rates(w);
	find_seconds(w);
	if (w->all[LEADING].weight > 0)
		list_functions(w);
}

void cpu_analyze(struct cpu *cpu, const struct profile *profile, const struct chains *chains,
		 const struct selection *selection)
{
	struct work w = {
		.cpu = cpu,
		.profile = profile,
		.chains = chains,
		.selection = selection,
		.self = xcalloc(chains->nr_functions + 1, sizeof(w.self[0])),
		.total = xcalloc(chains->nr_functions + 1, sizeof(w.total[0])),
	};

	*cpu = (struct cpu){
		.processes = xcalloc(profile->nr_processes + 1, sizeof(cpu->processes[0])),
		.threads = xcalloc(profile->nr_threads + 1, sizeof(cpu->threads[0])),
	};
	describe(cpu, profile);
	list_counters(&w);
	find_roles(&w);
	trees_init(&w.trees, chains);
	add_totals(&w);
	measure(&w);

	trees_release(&w.trees);
	free(w.roles);
	free(w.self);
	free(w.total);
}

void cpu_release(struct cpu *cpu)
{
	free(cpu->counters.at);
	free(cpu->counter_storage);
	free(cpu->processes);
	free(cpu->threads);
	free(cpu->functions.at);
	free(cpu->function_storage);
	*cpu = (struct cpu){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/job.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/reader.h"
#include "store/writer.h"
#include "symbolize/functions.h"
#include "symbolize/ledger.h"
#include "symbolize/means.h"
#include "symbolize/source.h"

#define BUDGET_NS UINT64_C(60000000000)

struct run {
	const struct job *job;
	struct profile *profile;
	struct writer *writer;
	struct functions functions;
	size_t nr_functions_put;
	struct chain chain;
	struct ledger ledger;
	struct means means;
	struct error no_servers;
	VEC(const struct profile_address *) addresses; /* code, by module and value */
};

static int by_module_and_value(const void *left, const void *right)
{
	const struct profile_address *a = *(const struct profile_address *const *)left;
	const struct profile_address *b = *(const struct profile_address *const *)right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->id < b->id ? -1 : 1;
}

static void sort_addresses(struct run *run)
{
	const struct profile *profile = run->profile;

	for (size_t i = 0; i < profile->nr_addresses; i++)
		if (profile->addresses[i].kind == PROFILE_ADDRESS_CODE)
			vec_push(&run->addresses, &profile->addresses[i]);
	if (run->addresses.nr)
		qsort(run->addresses.at, run->addresses.nr, sizeof(run->addresses.at[0]),
		      by_module_and_value);
}

/* The addresses of one module, among those that are sorted. */
struct group {
	const struct profile_module *module;
	const struct profile_address *const *at;
	size_t nr;
};

static bool next_group(const struct run *run, size_t *next, struct group *group)
{
	size_t start = *next, end = start;

	if (start == run->addresses.nr)
		return false;
	uint32_t module = run->addresses.at[start]->module;
	while (end < run->addresses.nr && run->addresses.at[end]->module == module)
		end++;
	*group = (struct group){
		.module = &run->profile->modules[module],
		.at = (const struct profile_address *const *)&run->addresses.at[start],
		.nr = end - start,
	};
	*next = end;
	return true;
}

static size_t count_groups(const struct run *run)
{
	struct group group;
	size_t next = 0, nr = 0;

	while (next_group(run, &next, &group))
		nr++;
	return nr;
}

static const struct job_limit *limit_of(const struct job *job, uint32_t module)
{
	for (size_t i = 0; i < job->nr_limits; i++)
		if (job->limits[i].module == module)
			return &job->limits[i];
	return NULL;
}

/* --- what all modules share ---------------------------------------------------------------- */

static void begin_fetching(void *context)
{
	struct run *run = context;

	budget_pause(&run->means.budget);
	run->job->watch.begin(run->job->watch.context);
}

static enum debuginfod_verdict watch_fetching(void *context, uint64_t got, uint64_t size)
{
	const struct debuginfod_watch *watch = &((struct run *)context)->job->watch;

	return watch->progress(watch->context, got, size);
}

static void end_fetching(void *context)
{
	struct run *run = context;

	run->job->watch.end(run->job->watch.context);
	budget_resume(&run->means.budget);
}

static uint64_t half_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void want_packages(struct packages *packages, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_modules; i++)
		if (profile->modules[i].path)
			packages_want(packages, profile->modules[i].path);
}

static void open_means(struct run *run)
{
	const struct symbolize_options *options = run->job->options;
	struct debuginfod_watch watch = { begin_fetching, watch_fetching, end_fetching, run };
	struct means *means = &run->means;

	means->options = options;
	want_packages(&means->packages, run->profile);
	if (options->debuginfod_urls)
		means->servers =
			debuginfod_open(options->debuginfod_urls, &watch, &run->no_servers);
	if (options->debuginfod_urls && !means->servers)
		means->no_servers = run->no_servers.message;
	budget_begin(&means->budget, options->budget_ns ?: BUDGET_NS,
		     options->budget_bytes ?: half_of_memory());
}

static void close_means(struct means *means)
{
	debuginfod_close(means->servers);
	packages_release(&means->packages);
}

/* --- one module ---------------------------------------------------------------------------- */

static struct source *open_source(struct run *run, const struct group *group)
{
	const struct job_limit *limit = limit_of(run->job, group->module->id);
	struct source_request request = {
		.profile = run->profile,
		.module = group->module,
		.addresses = group->at,
		.nr_addresses = group->nr,
		.means = &run->means,
		.no_dwarf = limit && limit->effort == EFFORT_SYMBOLS ? limit->reason : NULL,
		.functions = &run->functions,
	};

	if (limit && limit->effort == EFFORT_NONE)
		return source_without(&request, limit->reason);
	return source_open(&request);
}

static void put_new_functions(struct run *run)
{
	for (; run->nr_functions_put < run->functions.at.nr; run->nr_functions_put++)
		writer_put_function(run->writer, &run->functions.at.at[run->nr_functions_put]);
}

static void put_chain(struct run *run, uint32_t address)
{
	for (size_t i = 0; i < run->chain.at.nr; i++) {
		const struct place *place = &run->chain.at.at[i];
		struct profile_frame frame = {
			.address = address,
			.depth = (uint32_t)i,
			.function = place->function,
			.file = place->file,
			.line = place->line,
		};

		writer_put_frame(run->writer, &frame);
	}
	if (!run->functions.at.at[run->chain.at.at[0].function].has_name)
		ledger_note(&run->ledger, address, LEDGER_NO_NAME);
	if (run->chain.left_out)
		ledger_note(&run->ledger, address, LEDGER_LEFT_OUT);
}

static void name_group(struct run *run, const struct group *group, struct source *source)
{
	struct profile_module module = *group->module;

	for (size_t i = 0; i < group->nr; i++) {
		run->chain.at.nr = 0;
		run->chain.left_out = false;
		source->kind->resolve(source, group->at[i]->value, &run->chain);
		put_chain(run, group->at[i]->id);
	}
	source->kind->describe(source, &module);
	writer_put_module(run->writer, &module);
	ledger_end_module(&run->ledger, &module, run->writer);
}

/* --- names the profile had before ---------------------------------------------------------- */

static bool had_name(const struct profile *profile, uint32_t address)
{
	uint32_t first = profile->first_frame[address];

	return first < profile->first_frame[address + 1] &&
	       profile->functions[profile->frames[first].function].has_name;
}

static bool had_names(const struct run *run, const struct group *group)
{
	for (size_t i = 0; i < group->nr; i++)
		if (had_name(run->profile, group->at[i]->id))
			return true;
	return false;
}

static uint32_t add_former(struct run *run, const struct profile_function *former)
{
	struct function function = {
		.symbol = former->linkage_name,
		.name = former->name,
		.nameless = !former->has_name,
		.file = former->file,
		.line = former->line,
		.start = former->id, /* whatever told them apart, its id still does */
	};

	return functions_add(&run->functions, &function);
}

static void keep_chain(struct run *run, uint32_t address)
{
	const struct profile *profile = run->profile;

	run->chain.at.nr = 0;
	run->chain.left_out = false;
	for (uint32_t i = profile->first_frame[address]; i < profile->first_frame[address + 1]; i++)
		vec_push(&run->chain.at,
			 (struct place){
				 .function = add_former(
					 run, &profile->functions[profile->frames[i].function]),
				 .file = profile->frames[i].file,
				 .line = profile->frames[i].line,
			 });
	if (run->chain.at.nr)
		put_chain(run, address);
}

/* On another machine, or after the program was removed, its old names are the best there are. */
static void keep_group(struct run *run, const struct group *group)
{
	for (size_t i = 0; i < group->nr; i++)
		keep_chain(run, group->at[i]->id);
	ledger_end_module(&run->ledger, group->module, run->writer);
}

/* --- all of them --------------------------------------------------------------------------- */

static void do_group(struct run *run, const struct group *group)
{
	run->functions.module = group->module->id;
	struct source *source = open_source(run, group);

	if (!source->has_names && had_names(run, group))
		keep_group(run, group);
	else
		name_group(run, group, source);
	put_new_functions(run);
	source->kind->close(source);
}

static void do_groups(struct run *run)
{
	size_t next = 0, done = 0, total = count_groups(run);
	struct group group;

	while (next_group(run, &next, &group)) {
		run->job->begin_module(run->job->context, group.module, done++, total);
		do_group(run, &group);
	}
}

static int do_all(struct run *run, struct error *err)
{
	int ret = profile_open(&run->profile, run->job->path, err);

	if (!ret)
		ret = writer_open_existing(&run->writer, run->job->path, err);
	if (ret < 0)
		return ret;

	sort_addresses(run);
	open_means(run);
	ledger_init(&run->ledger, run->profile);
	writer_begin(run->writer);
	writer_clear_symbols(run->writer);
	do_groups(run);
	return writer_commit(run->writer, err);
}

int job_run(const struct job *job, struct error *err)
{
	struct run run = { .job = job, .functions.no_demangle = job->options->no_demangle };
	int ret = do_all(&run, err);

	writer_close(run.writer);
	close_means(&run.means);
	ledger_release(&run.ledger);
	functions_release(&run.functions);
	vec_free(&run.chain.at);
	vec_free(&run.addresses);
	profile_free(run.profile);
	return ret;
}

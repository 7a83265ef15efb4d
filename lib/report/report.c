/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/units.h"
#include "report/analyze/analysis.h"
#include "report/load/select.h"
#include "report/view/shape.h"
#include "report/view/view.h"
#include "store/header.h"
#include "store/reader.h"
#include "store/snapshot.h"

#define DEFAULT_WIDTH 80
#define NARROWEST 40
#define MOST_VIEWS 32

struct report {
	const struct profile *profile;
	struct profile *owned; /* NULL: it is the caller's */
};

/* Everything one print needs, made of the options. */
struct job {
	const struct view *view;
	struct selection selection;
	struct analysis analysis;
	struct shape shape;
	struct style style;
	regex_t function, module;
	bool has_function, has_module;
};

static const struct renderer *const renderers[REPORT_NR_FORMATS] = {
	[REPORT_TEXT] = &text_renderer,
	[REPORT_JSON] = &json_renderer,
	[REPORT_CSV] = &csv_renderer,
};

const char *const *report_view_names(void)
{
	static const char *names[MOST_VIEWS];

	for (size_t i = 0; i < MOST_VIEWS - 1 && views[i].name; i++)
		names[i] = views[i].name;
	return names;
}

bool report_is_profile(const char *path)
{
	return header_is_at(path);
}

int report_open(struct report **report, const char *path, struct error *err)
{
	struct profile *profile;
	int ret = profile_open(&profile, path, err);

	if (ret < 0)
		return ret;
	*report = report_new(profile);
	(*report)->owned = profile;
	return 0;
}

struct report *report_new(const struct profile *profile)
{
	struct report *report = xcalloc(1, sizeof(*report));

	report->profile = profile;
	return report;
}

void report_close(struct report *report)
{
	if (!report)
		return;
	profile_free(report->owned);
	free(report);
}

bool report_lacks_symbols(const struct report *report)
{
	return !report->profile->symbolized;
}

int report_copy(char **copy, const char *path, struct error *err)
{
	return snapshot_make(copy, path, err);
}

void report_remove_copy(char *copy)
{
	snapshot_remove(copy);
}

/* --- from options to a job --- */

static int find_view(struct job *job, const char *name, struct error *err)
{
	const char *meant;

	job->view = view_find(name ?: "summary");
	if (job->view)
		return 0;

	meant = suggest(name, report_view_names());
	error_set(err, ERR_USAGE, "'%s' is not a view", name);
	return meant ? error_hint(err, "did you mean '%s'?", meant) : ERR_USAGE;
}

static int compile(regex_t *regex, bool *compiled, const char *option, const char *text,
		   struct error *err)
{
	char why[256];
	int code;

	if (!text)
		return 0;
	code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (!code) {
		*compiled = true;
		return 0;
	}
	regerror(code, regex, why, sizeof(why));
	return error_set(err, ERR_USAGE, "%s: '%s': %s", option, text, why);
}

static size_t row_limit(const struct report_options *options)
{
	return options->limit == REPORT_ALL ? 0 : options->limit;
}

static int prepare_shape(struct job *job, const struct report_options *options, struct error *err)
{
	int ret = compile(&job->function, &job->has_function, "--function", options->function, err);

	if (ret >= 0)
		ret = compile(&job->module, &job->has_module, "--module", options->module, err);
	if (ret < 0)
		return ret;

	job->shape = (struct shape){
		.sort = options->sort,
		.min_share = options->min_share,
		.limit = row_limit(options),
		.function = job->has_function ? &job->function : NULL,
		.module = job->has_module ? &job->module : NULL,
	};
	return 0;
}

static void prepare_style(struct job *job, const struct report_options *options)
{
	size_t columns = options->columns ?: DEFAULT_WIDTH;

	job->style = (struct style){
		.width = columns < NARROWEST ? NARROWEST : columns,
		.color = options->color,
		.limit = options->limit,
		.sort = options->sort,
		.file = options->file,
	};
}

static int64_t microseconds(double s)
{
	return s < (double)(SPAN_END / 1000000) ? (int64_t)(s * 1e6) : SPAN_END;
}

static struct span span_of(const struct report_options *options)
{
	return (struct span){ microseconds(options->from_s), microseconds(options->to_s) };
}

static int check_span(const struct profile *profile, const struct span *span, struct error *err)
{
	int64_t end_us = profile->run.wall_us;

	if (end_us < 0 || !profile->run.complete || span->from_us <= end_us)
		return 0;
	return error_set(err, ERR_USAGE, "--time: the recording ends at %s",
			 units_seconds((double)end_us / 1e6).text);
}

static int analyze(struct job *job, const struct profile *profile,
		   const struct report_options *options, struct error *err)
{
	struct select_options select = {
		.comm = options->comm,
		.pid = options->pid,
		.tid = options->tid,
		.span = span_of(options),
	};
	int ret = check_span(profile, &select.span, err);

	if (ret >= 0)
		ret = selection_init(&job->selection, profile, &select, err);
	if (ret < 0)
		return ret;
	analysis_init(&job->analysis, profile, &job->selection,
		      &(struct analysis_options){
			      .no_inline = options->no_inline,
			      .process_sites = options->format == REPORT_JSON,
			      .samples = job->view == view_find("timeline"),
			      .callers = job->view == view_find("callers"),
			      .thread_starts = options->format == REPORT_JSON ||
					       job->view == view_find("threads"),
		      });
	return shape_apply(&job->shape, job->view, &job->analysis, err);
}

static void release_job(struct job *job)
{
	analysis_release(&job->analysis);
	selection_release(&job->selection);
	if (job->has_function)
		regfree(&job->function);
	if (job->has_module)
		regfree(&job->module);
}

static int check_format(const struct job *job, const struct report_options *options,
			struct error *err)
{
	if (!renderers[options->format]->one_table || !job->view->tables[1].fields)
		return 0;
	error_set(err, ERR_USAGE, "the view '%s' is not one table, as CSV is", job->view->name);
	return error_hint(err, "name one that is: cprof report functions --csv");
}

static void tell_absent(const struct job *job, const struct report_options *options)
{
	const struct rows *rows =
		(const void *)((const char *)&job->analysis + job->view->tables[0].rows);

	if (renderers[options->format]->one_table && rows->absent && options->on_absent)
		options->on_absent(job->view->name, rows->absent);
}

int report_print(const struct report *report, const struct report_options *options, FILE *out,
		 struct error *err)
{
	struct job job = { 0 };
	int ret = find_view(&job, options->view, err);

	if (ret >= 0)
		ret = check_format(&job, options, err);
	if (ret >= 0)
		ret = prepare_shape(&job, options, err);
	if (ret >= 0)
		ret = analyze(&job, report->profile, options, err);
	prepare_style(&job, options);
	if (ret >= 0) {
		if (options->on_begin)
			options->on_begin(options->context);
		renderers[options->format]->render(job.view, &job.analysis, &job.style, out);
		tell_absent(&job, options);
	}
	release_job(&job);
	return ret;
}

int report_print_brief(const struct report *report, const struct report_options *options, FILE *out,
		       struct error *err)
{
	struct report_options plain = {
		.columns = options->columns,
		.color = options->color,
		.file = options->file,
	};
	struct job job = { .view = &brief_view };
	int ret = analyze(&job, report->profile, &plain, err);

	prepare_style(&job, &plain);
	if (ret >= 0)
		text_renderer.render(job.view, &job.analysis, &job.style, out);
	release_job(&job);
	return ret;
}

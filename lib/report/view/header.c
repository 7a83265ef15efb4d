/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/signal_text.h"
#include "base/units.h"
#include "report/view/sections.h"

static void say_end(struct page *page, const struct analysis *a)
{
	int signal = (int)a->signal.value;

	if (!a->signal.absent)
		page_phrase(page, "killed by signal %d (%s)", signal, signal_text(signal).text);
	else if (!a->exit_status.absent)
		page_phrase(page, "exit %.0f", a->exit_status.value);
	else if (a->complete && a->end_known)
		page_phrase(page, "end not seen");
	if (!a->complete)
		page_phrase(page, "recording not finished");
}

/* Of the run, or of what was seen of a process that went on. */
static void say_duration(struct page *page, const struct analysis *a)
{
	bool went_on = a->complete && !a->end_known && a->exit_status.absent && a->signal.absent;

	if (!a->wall_s.absent)
		page_phrase(page, "%s%s", went_on ? "recorded for " : "",
			    units_seconds(a->wall_s.value).text);
	if (went_on)
		page_phrase(page, "then still running");
}

static void say_sampling(struct page *page, const struct cpu *cpu)
{
	if (!cpu->sampled) {
		page_phrase(page, "CPU not sampled");
		return;
	}
	if (!cpu->frequency_hz.absent)
		page_phrase(page, "%s %.0f Hz", cpu->event, cpu->frequency_hz.value);
	else if (!cpu->period.absent)
		page_phrase(page, "%s every %s", cpu->event,
			    units_count((uint64_t)cpu->period.value).text);
	else
		page_phrase(page, "%s", cpu->event);
	page_phrase(page, "%s sample%s, %s lost", units_count(cpu->samples).text,
		    cpu->samples == 1 ? "" : "s", units_count(cpu->lost).text);
}

static void say_how(struct page *page, const struct analysis *a)
{
	say_end(page, a);
	say_duration(page, a);
	if (a->nr_pids > 1)
		page_phrase(page, "%s processes", units_count(a->nr_pids).text);
	/* None is known yet where a recording has just begun. */
	if (a->nr_threads)
		page_phrase(page, "%s thread%s", units_count(a->nr_threads).text,
			    a->nr_threads == 1 ? "" : "s");
	say_sampling(page, &a->cpu);
}

/* The command, then how it ran: on one line if that fits. */
void section_header(struct page *page, const struct analysis *a)
{
	char *command = command_fit(a->command.at, a->command.nr, page->style.width);

	page_begin(page);
	page_tinted(page, TINT_BOLD, *command ? command : "(no command)");
	page_end(page);
	say_how(page, a);
	page_end(page);
	free(command);
}

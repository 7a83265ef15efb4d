/* SPDX-License-Identifier: MIT */
/*
 * terminal - standard output of a report: colour, width, characters, pager.
 *
 *	struct terminal terminal;
 *
 *	terminal_open(&terminal, options.color, true);
 *	report_print(rows, terminal.out, terminal.width, terminal.color);
 *	terminal_close(&terminal);
 *
 * Honours NO_COLOR, COLUMNS, PAGER, and the locale (LC_ALL, LC_CTYPE, LANG): where its charset is
 * not UTF-8, text for people is ASCII.  The pager runs only between us and a terminal; without
 * PAGER it is less, if there.  What cannot be written to standard output is reported when the
 * process ends (main.c), so nobody else has to look; a reader that goes away early (`| head`)
 * makes no message, only an exit status.
 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct terminal {
	FILE *out;
	unsigned int width; /* columns; 0: not limited (no terminal, no COLUMNS) */
	bool color;
	FILE *bytes; /* what out writes to; out itself, where nothing has to be changed */
	/* NULL: none.  It gets the text when that is there: it may turn out that it cannot be run. */
	const char *pager;
	char *text;
	size_t size;
};

/*
 * is_text: for people, through the pager, not JSON or CSV.  Never fails: without a pager the output
 * goes directly.  terminal stays where it is until it is closed.  SIGPIPE is ignored from here on.
 */
void terminal_open(struct terminal *terminal, enum color_mode color, bool is_text);
/* Shows it in the pager and waits for that; without it where it cannot be run. */
void terminal_close(struct terminal *terminal);

/* Whether what is written to file should be coloured. */
bool terminal_wants_color(FILE *file, enum color_mode color);
/* A stream for text that goes to file, or file itself, for filter_close(). */
FILE *terminal_text(FILE *file);
/* A line of text that may contain anything, as it can be shown.  Free it. */
char *terminal_clean(const char *line);
/* Columns of file as a terminal, or by COLUMNS; 0: neither. */
unsigned int terminal_width(FILE *file);

#endif

/* SPDX-License-Identifier: MIT */
#include "cmd/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/filter.h"

enum { COLUMNS_MAX = 10000 };

bool terminal_wants_color(FILE *file, enum color_mode color)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return isatty(fileno(file)) && term && strcmp(term, "dumb") != 0;
}

/* 0: COLUMNS says nothing that makes sense. */
static unsigned int columns_wanted(void)
{
	const char *columns = getenv("COLUMNS");
	char *end;
	long number = columns ? strtol(columns, &end, 10) : 0;

	return number > 0 && number <= COLUMNS_MAX && !*end ? (unsigned int)number : 0;
}

/* By the locale that main() has set. */
static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

FILE *terminal_text(FILE *file)
{
	return is_utf8() ? file : filter_open(file, text_ascii);
}

char *terminal_clean(const char *line)
{
	char *clean = text_clean(line), *ascii;

	if (is_utf8())
		return clean;
	ascii = text_ascii(clean);
	free(clean);
	return ascii;
}

unsigned int terminal_width(FILE *file)
{
	unsigned int columns = columns_wanted();
	struct winsize size;

	if (columns)
		return columns;
	if (!ioctl(fileno(file), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return isatty(fileno(file)) ? 80 : 0;
}

static bool can_run(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
		if (!access(file, X_OK))
			return true;
		path += length;
		path += *path == ':';
	}
	return false;
}

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return can_run("less") ? "less" : NULL;
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void run_pager(const char *command, const int *pipe_fds)
{
	dup2(pipe_fds[0], STDIN_FILENO);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	setenv("LESS", "FRX", 0);
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void start_pager(struct terminal *terminal)
{
	const char *command = pager_command();
	int fds[2];

	if (!command || pipe2(fds, 0) < 0)
		return;

	fflush(stdout);
	terminal->pager = fork();
	if (terminal->pager == 0)
		run_pager(command, fds);
	close(fds[0]);
	terminal->bytes = terminal->pager > 0 ? fdopen(fds[1], "w") : NULL;
	if (terminal->bytes)
		return;
	close(fds[1]);
	terminal->bytes = stdout;
	terminal->pager = 0;
}

void terminal_open(struct terminal *terminal, enum color_mode color, bool is_text)
{
	*terminal = (struct terminal){
		.bytes = stdout,
		.width = terminal_width(stdout),
		.color = terminal_wants_color(stdout, color),
	};
	signal(SIGPIPE, SIG_IGN);
	if (is_text && isatty(STDOUT_FILENO))
		start_pager(terminal);
	terminal->out = is_text ? terminal_text(terminal->bytes) : terminal->bytes;
}

static void wait_for_pager(struct terminal *terminal)
{
	signal(SIGINT, SIG_IGN); /* ^C is for the pager */
	while (waitpid(terminal->pager, NULL, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
}

void terminal_close(struct terminal *terminal)
{
	filter_close(terminal->out, terminal->bytes);
	if (!terminal->pager)
		return;
	fclose(terminal->bytes);
	wait_for_pager(terminal);
}

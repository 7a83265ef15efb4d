/* SPDX-License-Identifier: MIT */
#include "cmd/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool terminal_is_ascii(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool ascii = !locale || strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") != 0;

	if (locale)
		freelocale(locale);
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
	terminal->out = terminal->pager > 0 ? fdopen(fds[1], "w") : NULL;
	if (terminal->out)
		return;
	close(fds[1]);
	terminal->out = stdout;
	terminal->pager = 0;
}

void terminal_open(struct terminal *terminal, enum color_mode color, bool with_pager)
{
	*terminal = (struct terminal){
		.out = stdout,
		.width = terminal_width(stdout),
		.color = terminal_wants_color(stdout, color),
	};
	signal(SIGPIPE, SIG_IGN);
	if (with_pager && isatty(STDOUT_FILENO))
		start_pager(terminal);
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
	if (!terminal->pager)
		return;
	fclose(terminal->out);
	wait_for_pager(terminal);
}

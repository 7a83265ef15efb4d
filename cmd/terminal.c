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
/* What a shell ends with where it could not run a command. */
enum { SHELL_CANNOT_RUN = 126, SHELL_NOT_FOUND = 127 };

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
	_exit(SHELL_NOT_FOUND);
}

static bool wait_for_pager(pid_t pager)
{
	int status = 0;

	signal(SIGINT, SIG_IGN); /* ^C is for the pager */
	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	return !WIFEXITED(status) ||
	       (WEXITSTATUS(status) != SHELL_NOT_FOUND && WEXITSTATUS(status) != SHELL_CANNOT_RUN);
}

/* Who leaves the pager early has seen enough. */
static void write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t nr = write(fd, text, size);

		if (nr < 0 && errno != EINTR)
			return;
		text += nr > 0 ? nr : 0;
		size -= nr > 0 ? (size_t)nr : 0;
	}
}

/* False: the pager could not be run. */
static bool show_in_pager(const char *command, const char *text, size_t size)
{
	int fds[2];
	pid_t pager;

	if (pipe2(fds, 0) < 0)
		return false;

	fflush(stdout);
	pager = fork();
	if (pager == 0)
		run_pager(command, fds);
	close(fds[0]);
	if (pager > 0)
		write_all(fds[1], text, size);
	close(fds[1]);
	return pager > 0 && wait_for_pager(pager);
}

void terminal_open(struct terminal *terminal, enum color_mode color, bool is_text)
{
	*terminal = (struct terminal){
		.width = terminal_width(stdout),
		.color = terminal_wants_color(stdout, color),
	};
	signal(SIGPIPE, SIG_IGN);
	if (is_text && isatty(STDOUT_FILENO))
		terminal->pager = pager_command();
	if (terminal->pager)
		terminal->bytes = open_memstream(&terminal->text, &terminal->size);
	terminal->bytes = terminal->bytes ?: stdout;
	terminal->out = is_text ? terminal_text(terminal->bytes) : terminal->bytes;
}

void terminal_close(struct terminal *terminal)
{
	filter_close(terminal->out, terminal->bytes);
	if (terminal->bytes == stdout)
		return;
	fclose(terminal->bytes);
	if (!show_in_pager(terminal->pager, terminal->text, terminal->size))
		fwrite(terminal->text, 1, terminal->size, stdout);
	free(terminal->text);
}

/* SPDX-License-Identifier: MIT */
#include "record/target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/commit_signal.h"
#include "base/log.h"

static void raise_file_limit(const struct rlimit *files)
{
	struct rlimit raised = { .rlim_cur = files->rlim_max, .rlim_max = files->rlim_max };

	setrlimit(RLIMIT_NOFILE, &raised);
}

void launch_remember(struct launch_inheritance *inheritance)
{
	sigprocmask(SIG_SETMASK, NULL, &inheritance->mask);
	sigaction(SIGCHLD, NULL, &inheritance->on_child);
	sigaction(SIGPIPE, NULL, &inheritance->on_pipe);
	sigaction(SIGXFSZ, NULL, &inheritance->on_file_size);
	getrlimit(RLIMIT_NOFILE, &inheritance->files);
	raise_file_limit(&inheritance->files);
}

void launch_restore_signals(const struct launch_inheritance *inheritance)
{
	sigaction(SIGXFSZ, &inheritance->on_file_size, NULL);
	sigaction(SIGPIPE, &inheritance->on_pipe, NULL);
	sigaction(SIGCHLD, &inheritance->on_child, NULL);
	sigprocmask(SIG_SETMASK, &inheritance->mask, NULL);
}

void launch_restore(const struct launch_inheritance *inheritance)
{
	setrlimit(RLIMIT_NOFILE, &inheritance->files);
	commit_signal_restore();
	launch_restore_signals(inheritance);
}

/* --- which file it is -------------------------------------------------------------------------*/

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The errno of executing this path, as far as it shows without doing so; 0: none. */
static int check_path(const char *path)
{
	if (access(path, F_OK) < 0)
		return errno;
	return is_directory(path) || access(path, X_OK) < 0 ? EACCES : 0;
}

/* As execvp() looks: the first that can be executed; what cannot only counts if there is none. */
static char *find_in_folders(const char *program, int *error)
{
	const char *path = getenv("PATH");
	char *folders = xstrdup(path ? path : "/bin:/usr/bin"), *rest = folders, *folder;
	char *found = NULL;

	*error = ENOENT;
	while (!found && (folder = strsep(&rest, ":"))) {
		char *file = xasprintf("%s/%s", *folder ? folder : ".", program);
		int why = check_path(file);

		if (!why || why == EACCES)
			*error = why;
		if (!why)
			found = file;
		else
			free(file);
	}
	free(folders);
	return found;
}

/* NULL: *error says why it cannot be executed. */
static char *find_program(const char *program, int *error)
{
	*error = *program ? 0 : ENOENT;
	if (!*error && strchr(program, '/'))
		*error = check_path(program);
	else if (!*error)
		return find_in_folders(program, error);
	return *error ? NULL : xstrdup(program);
}

char *launch_find_elf(const char *program)
{
	static const char magic[] = { 0x7f, 'E', 'L', 'F' };
	char start[sizeof(magic)] = "";
	int error;
	char *path = find_program(program, &error);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	bool is_elf = fd >= 0 && read(fd, start, sizeof(start)) == sizeof(start) &&
		      !memcmp(start, magic, sizeof(magic));

	if (fd >= 0)
		close(fd);
	if (is_elf)
		return path;
	free(path);
	return NULL;
}

/* --- starting it ------------------------------------------------------------------------------*/

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* execvpe() would have the shell interpret an ELF file of another kind of CPU.  The errno. */
static int execute(const struct launch_config *config, const char *elf)
{
	char *const *environment = config->environment ? config->environment : environ;

	if (elf)
		execve(elf, config->arguments, environment);
	else
		execvpe(config->arguments[0], config->arguments, environment);
	return errno;
}

/* In the child.  Between fork and exec of a process that may have threads: no allocation here. */
static _Noreturn void become_program(const struct launch_config *config, const char *elf,
				     int release, int report)
{
	int error;
	char go;

	/* Nothing comes if the recorder died or changed its mind. */
	if (TEMP_FAILURE_RETRY(read(release, &go, 1)) != 1)
		_exit(LAUNCH_STATUS_OURS);

	launch_restore(config->inheritance);
	error = execute(config, elf);
	if (TEMP_FAILURE_RETRY(write(report, &error, sizeof(error))) < 0)
		_exit(LAUNCH_STATUS_OURS);
	_exit(LAUNCH_STATUS_CANNOT_EXECUTE);
}

void launch_init(struct launch *launch, const char *program)
{
	*launch = (struct launch){ .pid = -1,
				   .release_fd = -1,
				   .error_fd = -1,
				   .program = program,
				   .status = LAUNCH_STATUS_OURS };
}

int launch_fork(struct launch *launch, const struct launch_config *config, struct error *err)
{
	int release[2] = { -1, -1 }, report[2] = { -1, -1 };
	char *elf = launch_find_elf(config->arguments[0]);

	launch_init(launch, config->arguments[0]);
	if (pipe2(release, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0) {
		error_errno(err, errno, "make a pipe");
		goto out;
	}
	launch->pid = fork();
	if (launch->pid < 0) {
		error_errno(err, errno, "start a process for %s", launch->program);
		goto out;
	}
	if (!launch->pid) {
		close(release[1]);
		close(report[0]);
		become_program(config, elf, release[0], report[1]);
	}
	log_debug(LOG_TARGET, "%s: pid %d", launch->program, (int)launch->pid);
	launch->release_fd = release[1];
	launch->error_fd = report[0];
	release[1] = report[0] = -1;
out:
	free(elf);
	close_end(&release[0]);
	close_end(&release[1]);
	close_end(&report[0]);
	close_end(&report[1]);
	return launch->pid < 0 ? err ? err->code : ERR_INTERNAL : 0;
}

/* The words for an exec that failed; env and timeout return the same statuses. */
static int explain(struct launch *launch, int error, struct error *err)
{
	const char *program = launch->program;
	bool is_path = strchr(program, '/');

	launch->status = error == ENOENT ? LAUNCH_STATUS_NOT_FOUND : LAUNCH_STATUS_CANNOT_EXECUTE;

	if (error == ENOENT && !is_path) {
		error_set(err, -error, "%s: command not found", program);
		if (!access(program, X_OK))
			return error_hint(err, "it is not in $PATH; here it is ./%s", program);
		return error_hint(err, "no folder of $PATH has it");
	}
	if (error == ENOENT && !access(program, F_OK)) {
		error_errno(err, error, "%s cannot be run", program);
		return error_hint(err, "the file is there, but the interpreter or loader that it "
				       "names is not: see `head -1` or `readelf -l`");
	}
	if (is_path && is_directory(program))
		return error_set(err, -error, "%s is a directory, not a program", program);

	error_errno(err, error, "run %s", program);
	if (error == ENOEXEC)
		return error_hint(err, "it is damaged, or for another kind of CPU than this kernel "
				       "runs: see `readelf -h`");
	if (error == EACCES && is_path && !access(program, F_OK))
		return error_hint(err,
				  "it is not executable for you: chmod +x %s, or check the "
				  "mount options",
				  program);
	return -error;
}

int launch_check(struct launch *launch, const char *program, struct error *err)
{
	int error;

	free(find_program(program, &error));
	launch_init(launch, program);
	return error ? explain(launch, error, err) : 0;
}

int launch_exec(struct launch *launch, struct error *err)
{
	int error = 0;
	ssize_t nr = TEMP_FAILURE_RETRY(write(launch->release_fd, "", 1));

	close_end(&launch->release_fd);
	/* The end of the file: exec closed the other end.  Or the child was killed before it got
	 * that far, which waitpid() tells. */
	if (nr == 1)
		nr = TEMP_FAILURE_RETRY(read(launch->error_fd, &error, sizeof(error)));
	close_end(&launch->error_fd);
	if (nr != sizeof(error))
		return 0;

	waitpid(launch->pid, NULL, 0);
	return explain(launch, error, err);
}

void launch_cancel(struct launch *launch)
{
	if (launch->release_fd < 0)
		return;
	close_end(&launch->release_fd);
	close_end(&launch->error_fd);
	waitpid(launch->pid, NULL, 0);
}

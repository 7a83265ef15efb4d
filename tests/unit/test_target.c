/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/target/environment.h"
#include "record/target/launch.h"

static struct environment env;

static void end(void)
{
	environment_release(&env);
}

TestSuite(environment, .fini = end);

Test(environment, sets_and_replaces)
{
	char *from[] = { (char *)"A=1", (char *)"AB=2", NULL };

	environment_copy(&env, from);
	environment_set(&env, "A", "3");
	environment_set(&env, "C", "4");
	cr_assert(eq(str, env.at[0], (char *)"A=3"));
	cr_assert(eq(str, env.at[1], (char *)"AB=2"));
	cr_assert(eq(str, env.at[2], (char *)"C=4"));
	cr_assert(zero(ptr, env.at[3]));
}

Test(environment, puts_ours_first_and_keeps_theirs)
{
	char *from[] = { (char *)"LD_PRELOAD=/lib/theirs.so", (char *)"EMPTY=", NULL };

	environment_copy(&env, from);
	environment_prepend(&env, "LD_PRELOAD", "/ours.so", ':');
	environment_prepend(&env, "EMPTY", "/ours.so", ':');
	environment_prepend(&env, "NEW", "/ours.so", ':');
	cr_assert(eq(str, env.at[0], (char *)"LD_PRELOAD=/ours.so:/lib/theirs.so"));
	cr_assert(eq(str, env.at[1], (char *)"EMPTY=/ours.so"));
	cr_assert(eq(str, env.at[2], (char *)"NEW=/ours.so"));
	cr_assert(zero(ptr, (void *)environment_get(&env, "ABSENT")));
}

static int run(const char *const *arguments, struct launch *launch, struct error *err)
{
	struct launch_inheritance inheritance;
	struct launch_config config = { .arguments = (char *const *)arguments,
					.inheritance = &inheritance };
	int status = 0, ret;

	launch_remember(&inheritance);
	cr_assert(eq(int, launch_fork(launch, &config, err), 0));
	ret = launch_exec(launch, err);
	if (ret < 0)
		return ret;
	cr_assert(eq(int, waitpid(launch->pid, &status, 0), (int)launch->pid));
	return WEXITSTATUS(status);
}

Test(launch, runs_the_program_with_its_arguments)
{
	struct error err = ERROR_INIT;
	struct launch launch;

	cr_assert(eq(int, run((const char *[]){ "sh", "-c", "exit 7", NULL }, &launch, &err), 7));
}

static void expect_failure(const char *program, int status, const char *message)
{
	struct error err = ERROR_INIT;
	struct launch launch;

	cr_assert(lt(int, run((const char *[]){ program, NULL }, &launch, &err), 0));
	cr_expect(eq(int, launch.status, status), "%s", program);
	cr_expect(strstr(err.message, message) != NULL, "%s: %s", program, err.message);
	cr_assert(eq(int, waitpid(-1, NULL, 0), -1), "the child has been waited for");
}

Test(launch, tells_not_found_from_not_executable)
{
	expect_failure("no-such-program-anywhere", 127, "command not found");
	expect_failure("/no/such/program", 127, "No such file");
	expect_failure("/etc", 126, "/etc is a directory");
	expect_failure("/etc/passwd", 126, "Permission denied");
}

Test(launch, a_script_without_an_interpreter_line_is_run_by_the_shell)
{
	char path[] = "/tmp/cprof-test-XXXXXX";
	int fd = mkstemp(path);
	struct error err = ERROR_INIT;
	struct launch launch;

	cr_assert(eq(int, (int)write(fd, "exit 9\n", 7), 7));
	fchmod(fd, 0700);
	close(fd);
	cr_expect(eq(int, run((const char *[]){ path, NULL }, &launch, &err), 9));
	unlink(path);
}

Test(launch, a_cancelled_program_never_runs)
{
	struct launch_inheritance inheritance;
	const char *const arguments[] = { "sh", "-c", "echo ran >&2", NULL };
	struct launch_config config = { .arguments = (char *const *)arguments,
					.inheritance = &inheritance };
	struct error err = ERROR_INIT;
	struct launch launch;

	launch_remember(&inheritance);
	cr_assert(eq(int, launch_fork(&launch, &config, &err), 0));
	launch_cancel(&launch);
	cr_assert(eq(int, waitpid(-1, NULL, 0), -1));
	cr_assert(eq(int, errno, ECHILD));
}

/* What the program sees is asked from the program. */
static void expect_from_shell(const struct launch_inheritance *inheritance, const char *script)
{
	const char *const arguments[] = { "sh", "-c", script, NULL };
	struct launch_config config = { .arguments = (char *const *)arguments,
					.inheritance = inheritance };
	struct error err = ERROR_INIT;
	struct launch launch;
	int status;

	cr_assert(eq(int, launch_fork(&launch, &config, &err), 0));
	cr_assert(eq(int, launch_exec(&launch, &err), 0));
	cr_assert(eq(int, waitpid(launch.pid, &status, 0), (int)launch.pid));
	cr_expect(eq(int, WEXITSTATUS(status), 0), "%s", script);
}

Test(launch, the_program_does_not_see_our_signals_and_limits)
{
	struct launch_inheritance inheritance;
	struct rlimit limit;
	sigset_t mask;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 123;
	setrlimit(RLIMIT_NOFILE, &limit);
	launch_remember(&inheritance);

	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);

	expect_from_shell(&inheritance, "test $(ulimit -n) = 123");
	expect_from_shell(&inheritance, "grep -q '^SigBlk:.0*$' /proc/self/status");
	/* SIGPIPE is bit 12. */
	expect_from_shell(&inheritance,
			  "grep -q '^SigIgn:.*[02468ace][0-9a-f]\\{3\\}$' /proc/self/status");
}

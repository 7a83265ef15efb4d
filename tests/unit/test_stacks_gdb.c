/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/proc_maps.h"
#include "record/stacks/stacks.h"

/*
 * Programs are stopped at random; gdb says what their stacks are.  It takes a second for that, so
 * that there are few stops; CPROF_GDB_STOPS in the environment says how many.
 */

enum {
	STOPS = 2,
	STACK_MAX = 4 << 20,
	FRAMES_MAX = 4096,
};

static struct modules modules;
static struct space space;
static struct stacks *stacks;
static struct stack stack;
static pid_t pid;

static void map_program(void)
{
	struct proc_maps maps;
	struct proc_mapping mapping;

	space_clear(&space);
	cr_assert(eq(int, proc_maps_open(&maps, pid), 0));
	while (proc_maps_next(&maps, &mapping)) {
		if (!mapping.executable)
			continue;
		struct module_request request = { .path = *mapping.path ? mapping.path : "//anon",
						  .pid = pid,
						  .start = mapping.start,
						  .end = mapping.end,
						  .device_major = mapping.device_major,
						  .device_minor = mapping.device_minor,
						  .inode = mapping.inode };

		space_map(&space, mapping.start, mapping.end, mapping.pgoff,
			  module_get(&modules, &request));
	}
	proc_maps_close(&maps);
}

/* --- the program ------------------------------------------------------------------------------ */

static void start(const char *const *arguments)
{
	pid = fork();
	if (pid)
		return;
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execv(arguments[0], (char *const *)arguments);
	_exit(127);
}

static struct stack_registers registers(void)
{
	struct user_regs_struct r;

	cr_assert(eq(int, (int)ptrace(PTRACE_GETREGS, pid, NULL, &r), 0));
	return (struct stack_registers){
		.pc = r.rip,
		.sp = r.rsp,
		.fp = r.rbp,
		.general = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9,
			     r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 },
		.has_general = true,
	};
}

static void walk(void)
{
	static uint8_t bytes[STACK_MAX];
	struct stack_registers at = registers();
	struct iovec to = { bytes, STACK_MAX }, from = { (void *)at.sp, STACK_MAX };
	ssize_t nr = process_vm_readv(pid, &to, 1, &from, 1, 0);

	cr_assert(gt(int, (int)nr, 0));
	stacks_walk(
		stacks, &space,
		&(struct stack_sample){ .registers = &at, .bytes = bytes, .nr_bytes = (size_t)nr },
		&stack);
}

/* Leaves it stopped, so that gdb finds it where we did. */
static void stop_and_walk(void)
{
	int status;

	kill(pid, SIGSTOP);
	cr_assert(eq(int, waitpid(pid, &status, WUNTRACED), pid));
	cr_assert(ne(int, WIFSTOPPED(status), 0), "it ended");
	cr_assert(eq(int, (int)ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0));
	cr_assert(eq(int, (int)ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0));
	cr_assert(eq(int, waitpid(pid, &status, __WALL), pid));
	map_program();
	walk();
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* --- what gdb says ------------------------------------------------------------------------------
 */

static uint64_t gdb_pcs[FRAMES_MAX];
static size_t nr_gdb;

/* "#1  0x00007ffff7c2a1ca in main () at ..."; a frame that was inlined has no address. */
static void ask_gdb(void)
{
	char *command = xasprintf("gdb -q -nx -batch -iex 'set debuginfod enabled off' "
				  "-iex 'set debug-file-directory /nowhere' "
				  "-iex 'set auto-load off' -ex 'set backtrace past-main on' "
				  "-ex 'set backtrace past-entry on' -ex 'thread 1' "
				  "-ex 'bt -frame-arguments none' -p %d 2>/dev/null",
				  (int)pid);
	FILE *gdb = popen(command, "r");
	char line[4096];
	unsigned int number;

	nr_gdb = 0;
	while (fgets(line, sizeof(line), gdb) && nr_gdb < FRAMES_MAX)
		if (sscanf(line, "#%u 0x%" SCNx64, &number, &gdb_pcs[nr_gdb]) == 2 && number > 0)
			nr_gdb++;
	pclose(gdb);
	free(command);
}

/* Up to the first frame that has no CFI: from there on gdb guesses by the code. */
static size_t nr_comparable(void)
{
	size_t nr = 1;

	while (nr < stack.nr && stack.frames[nr].origin == STACK_BY_CFI)
		nr++;
	return nr;
}

static void expect_same_stack(void)
{
	size_t nr = nr_comparable();

	cr_expect(gt(sz, nr, 1));
	for (size_t i = 1; i < nr; i++)
		cr_assert(eq(u64, stack.frames[i].pc, gdb_pcs[i - 1]), "frame %zu of %zu, %zu", i,
			  stack.nr, nr_gdb + 1);
	if (nr == stack.nr)
		cr_expect(eq(sz, nr_gdb + 1, stack.nr));
}

static void compare_at_stops(const char *const *arguments)
{
	const char *wanted = getenv("CPROF_GDB_STOPS");
	int stops = wanted ? atoi(wanted) : STOPS;

	if (system("command -v gdb >/dev/null"))
		cr_skip_test("there is no gdb");
	if (access(arguments[0], X_OK))
		cr_skip_test("%s is not here", arguments[0]);
	stacks = stacks_new();
	start(arguments);
	for (int i = 0; i < stops; i++) {
		kill(pid, SIGCONT);
		usleep(300000 + (unsigned int)(random() % 100000));
		stop_and_walk();
		ask_gdb();
		if (!nr_gdb)
			cr_skip_test("gdb may not attach here");
		expect_same_stack();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	stacks_free(stacks);
	space_release(&space);
	modules_release(&modules);
}

Test(stacks_gdb, equals_gdb_in_python3)
{
	static const char *const arguments[] = {
		"/usr/bin/python3", "-c",
		"import json, re\n"
		"def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
		"while True:\n"
		"  sorted([fib(15)] * 9, key=lambda n: fib(3))\n"
		"  json.loads(json.dumps([{'a': list(range(200))}] * 50))\n"
		"  re.sub('(a+b)*', 'c', 'aab' * 3000)\n",
		NULL
	};

	compare_at_stops(arguments);
}

Test(stacks_gdb, equals_gdb_in_redis_server)
{
	char socket[64];
	const char *const arguments[] = { "/usr/bin/redis-server", "--port", "0", "--hz", "500",
					  "--unixsocket",	   socket,   NULL };

	snprintf(socket, sizeof(socket), "/tmp/cprof-redis-%d", (int)getpid());
	compare_at_stops(arguments);
	unlink(socket);
}

Test(stacks_gdb, equals_gdb_in_a_compiler)
{
	static char path[] = "/tmp/cprof-gdb-XXXXXX.c";
	int fd = mkstemps(path, 2);
	FILE *file = fdopen(fd, "w");
	static const char *const arguments[] = { "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
						 "-quiet",
						 "-O2",
						 path,
						 "-o",
						 "/dev/null",
						 NULL };

	for (int i = 0; i < 3000; i++)
		fprintf(file,
			"int f%d(int *v, int n) { int s = %d; for (int k = 0; k < n; k++) { v[k] = "
			"v[k] "
			"* %d ^ s; s += v[k] %% %d; switch (s & 3) { case 1: s++; break; case 2: s "
			"*= "
			"3; } } return s; }\n",
			i, i, i + 3, i + 7);
	fclose(file);
	compare_at_stops(arguments);
	unlink(path);
}

#endif

/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
 * Programs are stopped at random; gdb says what their stacks are.  It takes half a second for that,
 * so that there are few stops; CPROF_GDB_STOPS in the environment says how many.
 */

enum {
	STOPS = 3,
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

/* One gdb for all stops: it reads symbols only once. */
static pid_t gdb;
static FILE *to_gdb, *from_gdb;

static void start_gdb(void)
{
	int in[2], out[2];

	cr_assert(zero(int, pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC)));
	gdb = fork();
	if (!gdb) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(open("/dev/null", O_WRONLY), 2);
		execlp("gdb", "gdb", "-q", "-nx", "-iex", "set debuginfod enabled off", "-iex",
		       "set debug-file-directory /nowhere", "-iex", "set auto-load off", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to_gdb = fdopen(in[1], "w");
	from_gdb = fdopen(out[0], "r");
	fputs("set confirm off\nset pagination off\nset width 0\nset prompt\n"
	      "set backtrace past-main on\nset backtrace past-entry on\n",
	      to_gdb);
}

static void end_gdb(void)
{
	fputs("quit\n", to_gdb);
	fclose(to_gdb);
	waitpid(gdb, NULL, 0);
	fclose(from_gdb);
}

/* As `bt` does, without what was inlined, of which it shows some with and some without an address. */
static const char show_frames[] =
	"python exec(\"frame = gdb.newest_frame()\\nwhile frame:\\n"
	"  if frame.type() != gdb.INLINE_FRAME: print('pc', hex(frame.pc()))\\n"
	"  frame = frame.older()\")\n";

/* Of the callers. */
static void ask_gdb(void)
{
	char line[4096];
	uint64_t pc;
	size_t nr = 0;

	fprintf(to_gdb, "attach %d\nthread 1\n%sdetach\npython print('that was all')\n", (int)pid,
		show_frames);
	fflush(to_gdb);
	while (fgets(line, sizeof(line), from_gdb) && !strstr(line, "that was all"))
		if (sscanf(line, "pc 0x%" SCNx64, &pc) == 1 && nr < FRAMES_MAX && nr++)
			gdb_pcs[nr - 2] = pc;
	nr_gdb = nr ? nr - 1 : 0;
}

/* Up to the first frame that has no CFI: from there on gdb guesses by the code. */
static size_t nr_comparable(void)
{
	size_t nr = 1;

	while (nr < stack.nr && stack.frames[nr].origin == STACK_BY_CFI)
		nr++;
	return nr;
}

static int nr_compared; /* stops */

static void expect_same_stack(void)
{
	size_t nr = nr_comparable();

	nr_compared += nr > 1;
	for (size_t i = 1; i < nr; i++)
		cr_assert(eq(u64, stack.frames[i].pc, gdb_pcs[i - 1]), "frame %zu of %zu, %zu", i,
			  stack.nr, nr_gdb + 1);
	if (stack.end == UNWIND_END_ROOT && nr == stack.nr)
		cr_expect(eq(sz, nr_gdb + 1, stack.nr));
	if (!unwind_end_is_root(stack.end))
		fprintf(stderr, "%zu frames of %zu: %s, %s at %#" PRIx64 "\n", stack.nr, nr_gdb + 1,
			unwind_end_text(stack.end),
			stack.end_module ? module_name(stack.end_module) : "nowhere",
			stack.frames[stack.nr - 1].address);
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
	start_gdb();
	start(arguments);
	for (int i = 0; i < stops; i++) {
		kill(pid, SIGCONT);
		usleep((i ? 0 : 300000) + (unsigned int)(random() % 100000));
		stop_and_walk();
		ask_gdb();
		if (!nr_gdb)
			cr_skip_test("gdb may not attach here");
		expect_same_stack();
	}
	fprintf(stderr, "%s: %d of %d stops have frames to compare\n", arguments[0], nr_compared,
		stops);
	cr_expect(stops < 100 || nr_compared * 2 >= stops);
	end_gdb();
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

Test(stacks_gdb, equals_gdb_in_node_up_to_compiled_javascript)
{
	static const char *const arguments[] = {
		"/usr/bin/node", "-e",
		"while (true) { JSON.parse(JSON.stringify(Array.from({ length: 3000 }, (_, i) => "
		"({ a: i, b: 'x' + i })))); 'aab'.repeat(1000).replace(/(a+b)*/g, 'c') }",
		NULL
	};

	compare_at_stops(arguments);
}

/* Beside this program. */
Test(stacks_gdb, equals_gdb_in_a_rust_program)
{
	char self[PATH_MAX] = "", *path;
	ssize_t nr = readlink("/proc/self/exe", self, sizeof(self) - 1);

	cr_assert(gt(int, (int)nr, 0));
	path = xasprintf("%.*s/programs/rust_words", (int)(strrchr(self, '/') - self), self);
	compare_at_stops((const char *const[]){ path, "1000000000000", NULL });
	free(path);
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

/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)

#include <alloca.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/stacks/stacks.h"

/*
 * Every single instruction of a piece of code is a sample.  A child runs the code under ptrace, one
 * instruction at a time; the truth is a shadow stack of the return addresses that its calls pushed
 * and have not popped yet.
 */

enum {
	SHADOW_MAX = 256,
	STEPS_MAX = 400000,
	STACK_MAX = 1 << 16,
	/* The return address, uc_flags, uc_link, uc_stack, then 16 registers. */
	SIGNAL_PC = 8 + 8 + 8 + 24 + 16 * 8,
};

struct shadow {
	uint64_t at, pc; /* where the return address is, and which */
};

struct stepper {
	pid_t pid;
	struct user_regs_struct regs;
	struct modules modules;
	struct space space;
	struct stacks *stacks;
	struct stack stack;
	uint8_t bytes[STACK_MAX];
	size_t nr_bytes;

	struct shadow shadow[SHADOW_MAX]; /* outermost first */
	size_t nr_shadow;
	uint64_t stack_end;
	size_t steps, wrong, unsupported;
};

/* Instead of a place on the stack. */
#define IN_REGISTER (UINT64_MAX - 1)

static struct stepper stepper;

/* --- the space of the child -------------------------------------------------------------- */

static void map_line(const char *line)
{
	unsigned long long start, end, pgoff, inode;
	char permissions[8], path[4096] = "//anon";

	if (sscanf(line, "%llx-%llx %7s %llx %*x:%*x %llu %4095[^\n]", &start, &end, permissions,
		   &pgoff, &inode, path) < 5)
		return;
	if (!strcmp(path, "[stack]"))
		stepper.stack_end = end;
	if (!strchr(permissions, 'x'))
		return;
	space_map(&stepper.space, start, end, pgoff,
		  module_get(&stepper.modules, &(struct module_request){ .path = path,
									 .pid = stepper.pid,
									 .start = start,
									 .end = end,
									 .inode = inode }));
}

static void read_maps(void)
{
	char *path = xasprintf("/proc/%d/maps", (int)stepper.pid);
	FILE *maps = fopen(path, "r");
	char line[5000];

	space_clear(&stepper.space);
	while (fgets(line, sizeof(line), maps))
		map_line(line);
	fclose(maps);
	free(path);
}

/* --- one step --------------------------------------------------------------------------------- */

static void read_registers(void)
{
	cr_assert(eq(int, (int)ptrace(PTRACE_GETREGS, stepper.pid, NULL, &stepper.regs), 0));
	if (!space_find(&stepper.space, stepper.regs.rip))
		read_maps(); /* after dlopen() */
}

static void read_stack(void)
{
	uint64_t sp = stepper.regs.rsp, size = stepper.stack_end - sp;
	struct iovec to = { stepper.bytes, size < STACK_MAX ? size : STACK_MAX };
	struct iovec from = { (void *)sp, to.iov_len };
	ssize_t got = process_vm_readv(stepper.pid, &to, 1, &from, 1, 0);

	cr_assert(gt(int, (int)got, 0));
	stepper.nr_bytes = (size_t)got;
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word = 0;

	if (address - stepper.regs.rsp + 8 <= stepper.nr_bytes)
		memcpy(&word, stepper.bytes + (address - stepper.regs.rsp), 8);
	return word;
}

static void push_shadow(uint64_t at, uint64_t pc)
{
	cr_assert(lt(sz, stepper.nr_shadow, SHADOW_MAX));
	stepper.shadow[stepper.nr_shadow++] = (struct shadow){ at, pc };
}

static bool is_next(uint64_t old_pc, uint64_t pc)
{
	return pc > old_pc && pc <= old_pc + 8;
}

/* The innermost return address was popped into a register, or pushed again: vfork() does. */
static bool moved_return_address(uint64_t old_sp, uint64_t sp, uint64_t top)
{
	struct shadow *last = &stepper.shadow[stepper.nr_shadow - 1];

	if (sp == old_sp + 8 && last->at == old_sp)
		last->at = IN_REGISTER;
	else if (sp == old_sp - 8 && last->at == IN_REGISTER && top == last->pc)
		last->at = sp;
	else
		return false;
	return true;
}

/* Did the kernel put a signal frame below the red zone?  It holds the pc to go back to. */
static bool is_signal_frame(uint64_t old_pc, uint64_t old_sp)
{
	uint64_t sp = stepper.regs.rsp;

	return sp < old_sp && old_sp - sp > 500 && word_at(sp + SIGNAL_PC) - old_pc <= 8;
}

/* What the last instruction did to the stack of return addresses. */
static void follow(uint64_t old_pc, uint64_t old_sp)
{
	uint64_t pc = stepper.regs.rip, sp = stepper.regs.rsp, top = word_at(sp);

	if (is_next(old_pc, pc) && moved_return_address(old_sp, sp, top))
		return;
	while (stepper.nr_shadow && stepper.shadow[stepper.nr_shadow - 1].at < sp)
		stepper.nr_shadow--;
	if (sp == old_sp - 8 && is_next(old_pc, top) && pc != top)
		push_shadow(sp, top); /* a call */
	if (is_signal_frame(old_pc, old_sp)) {
		push_shadow(sp + SIGNAL_PC, word_at(sp + SIGNAL_PC));
		push_shadow(sp, top);
	}
}

static struct stack_registers registers(void)
{
	const struct user_regs_struct *r = &stepper.regs;

	return (struct stack_registers){
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		.general = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			     r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.has_general = true,
	};
}

static void walk(void)
{
	struct stack_registers regs = registers();

	stacks_walk(stepper.stacks, &stepper.space,
		    &(struct stack_sample){ .registers = &regs,
					    .bytes = stepper.bytes,
					    .nr_bytes = stepper.nr_bytes },
		    &stepper.stack);
}

static bool is_right(void)
{
	const struct stack *stack = &stepper.stack;

	if (stack->end != UNWIND_END_ROOT || stack->nr != stepper.nr_shadow + 1)
		return false;
	for (size_t i = 1; i < stack->nr; i++)
		if (stack->frames[i].pc != stepper.shadow[stepper.nr_shadow - i].pc)
			return false;
	return true;
}

static void complain(void)
{
	const struct stack *stack = &stepper.stack;
	const struct stack_frame *leaf = &stack->frames[0];

	if (stack->end == UNWIND_END_UNSUPPORTED) {
		stepper.unsupported++;
		return;
	}
	if (stepper.wrong++ > 5)
		return;
	cr_log_error("at %s+%#lx: %zu frames, expected %zu; %s (%d)",
		     leaf->module ? module_name(leaf->module) : "?", (unsigned long)leaf->address,
		     stack->nr, stepper.nr_shadow + 1, unwind_end_text(stack->end),
		     (int)stack->unsupported);
}

static bool single_step(void)
{
	int status;

	cr_assert(eq(int, (int)ptrace(PTRACE_SINGLESTEP, stepper.pid, NULL, NULL), 0));
	cr_assert(eq(int, waitpid(stepper.pid, &status, 0), stepper.pid));
	while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP) { /* pass the signal on */
		ptrace(PTRACE_SINGLESTEP, stepper.pid, NULL, WSTOPSIG(status));
		waitpid(stepper.pid, &status, 0);
	}
	return WIFSTOPPED(status);
}

/* --- running a piece of code --------------------------------------------------------------------
 */

/* The frames below the code are what a walk finds there: those of callers, tested elsewhere. */
static void start_shadow(void)
{
	const struct stack *stack = &stepper.stack;

	walk();
	cr_assert(eq(int, (int)stack->end, UNWIND_END_ROOT));
	for (size_t i = stack->nr - 1; i > 0; i--)
		push_shadow(UINT64_MAX, stack->frames[i].pc);
}

/* Between two stops of the child. */
static void step_through(void)
{
	read_registers();
	read_stack();
	start_shadow();
	for (;;) {
		uint64_t old_pc = stepper.regs.rip, old_sp = stepper.regs.rsp;

		if (!single_step())
			break;
		read_registers();
		read_stack();
		follow(old_pc, old_sp);
		walk();
		if (!is_right())
			complain();
		cr_assert(lt(sz, ++stepper.steps, STEPS_MAX));
	}
}

static void (*volatile code_to_run)(void);

__attribute__((noinline, noreturn)) static void run_child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	__asm__ volatile("int3");
	code_to_run();
	_exit(0);
}

/* Of the steps, unsupported_max may end with a form of CFI that is not evaluated. */
static void step(void (*code)(void), size_t steps_min, size_t unsupported_max)
{
	int status;

	code_to_run = code;
	stepper.stacks = stacks_new();
	stepper.pid = fork();
	if (!stepper.pid)
		run_child();
	cr_assert(eq(int, waitpid(stepper.pid, &status, 0), stepper.pid));
	if (!WIFSTOPPED(status))
		cr_skip_test("ptrace is not allowed here");
	read_maps();
	step_through();
	cr_log_info("%zu instructions, %zu rows evaluated", stepper.steps,
		    (size_t)stacks_figures(stepper.stacks).evaluated);
	cr_expect(eq(sz, stepper.wrong, 0));
	cr_expect(le(sz, stepper.unsupported, unsupported_max));
	cr_expect(ge(sz, stepper.steps, steps_min));
	stacks_free(stepper.stacks);
	space_release(&stepper.space);
	modules_release(&stepper.modules);
}

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noinline, noclone, optimize("O2", "omit-frame-pointer")))
#endif

static volatile int sink;

/* --- what is stepped through
 * ----------------------------------------------------------------------- */

OPAQUE static int leaf(int x)
{
	sink = x;
	return x + sink;
}

/* r10 holds the CFA while the frame is made, memory below rbp afterwards. */
OPAQUE static int realigned(int x, int a, int b, int c, int d, int e, int on_the_stack)
{
	_Alignas(64) volatile char buffer[256];
	volatile char *more = alloca((size_t)(x + 100));

	buffer[x] = more[0] = (char)on_the_stack;
	return leaf(buffer[x]) + a + b + c + d + e + leaf(more[0]) + on_the_stack;
}

static void call_realigned(void)
{
	sink = realigned(3, 4, 5, 6, 7, 8, 9);
}

Test(stacks_step, a_realigned_frame)
{
	step(call_realigned, 50, 0);
}

/* These are called nowhere else: the first call goes through the PLT and ld.so. */
static void call_lazily(void)
{
	char text[64] = "first";

	sink = strverscmp("a10", "a9");
	strfry(text);
	sink += (int)strcspn(text, "t");
}

Test(stacks_step, the_lazy_binding_of_functions)
{
	step(call_lazily, 1000, 0);
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - *(const int *)b;
}

static void call_libc(void)
{
	int values[] = { 5, 3, 9, 1 };
	char text[100];
	void *block = malloc(100);

	qsort(values, 4, sizeof(values[0]), compare);
	snprintf(text, sizeof(text), "%d %.3f %s", values[0], 1.5, "x");
	block = realloc(block, 1 << 20);
	memset(block, 1, 5000);
	sink = (int)strlen(text);
	free(block);
}

Test(stacks_step, callbacks_and_formatting_and_allocation_in_libc)
{
	step(call_libc, 2000, 0);
}

static void on_signal(int signal)
{
	leaf(signal);
}

static void call_raise(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sink = 1;
}

Test(stacks_step, a_signal_handler_and_the_way_back)
{
	step(call_raise, 100, 0);
}

static jmp_buf back;

OPAQUE static void jump(int x)
{
	leaf(x);
	longjmp(back, 1);
}

static void call_longjmp(void)
{
	if (!setjmp(back))
		jump(3);
	leaf(4);
}

Test(stacks_step, setjmp_and_all_but_the_end_of_longjmp)
{
	/* Once it has loaded what setjmp() saved, its caller is not where a call put it. */
	step(call_longjmp, 50, 10);
}

/* vfork() keeps its return address in rdi. */
static void call_vfork(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

Test(stacks_step, vfork)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("ASan's own vfork() has no CFI and takes its return address off the stack");
#endif
	step(call_vfork, 30, 0);
}

static void call_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	sink = (int)time.tv_nsec;
}

Test(stacks_step, the_vdso)
{
	step(call_clock, 30, 0);
}

/* Assembly that keeps the CFA in rax, in rsi, or in a slot of the stack. */
static struct {
	void (*sha256)(void *state, const void *block);
	void (*set_key)(const void *bytes, int bits, void *key);
	void (*encrypt)(const void *in, void *out, const void *key);
} crypto;

static void call_crypto(void)
{
	static uint8_t state[512], block[128], key[512];

	crypto.sha256(state, block);
	crypto.set_key(block, 128, key);
	crypto.encrypt(block, block, key);
}

Test(stacks_step, assembly_in_libcrypto)
{
	void *library = dlopen("libcrypto.so.3", RTLD_NOW);

	if (!library)
		cr_skip_test("no libcrypto.so.3");
	*(void **)&crypto.sha256 = dlsym(library, "SHA256_Transform");
	*(void **)&crypto.set_key = dlsym(library, "AES_set_encrypt_key");
	*(void **)&crypto.encrypt = dlsym(library, "AES_encrypt");
	step(call_crypto, 2000, 0);
}

#endif

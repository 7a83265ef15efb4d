/* SPDX-License-Identifier: MIT */
#include "shim/filter.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "base/alloc.h"
#include "shim/filter_always.h"

#define TESTED __NR_getpgid
#define HEAD 3
#define BODY 40
#define TAIL 3
#define ALL (HEAD + BODY + TAIL)

static uint32_t any(uint32_t below)
{
	return (uint32_t)random() % below;
}

/* Words near each other, so that comparisons go either way. */
static uint32_t any_word(void)
{
	static const uint32_t words[] = { 0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff };

	return any(2) ? words[any(ARRAY_SIZE(words))] : (uint32_t)random() << any(17);
}

/* Not the address of the call, which is another one here. */
static uint32_t any_place(void)
{
	uint32_t place = any(sizeof(struct seccomp_data) / 4 - 2) * 4;

	return place < offsetof(struct seccomp_data, instruction_pointer) ? place : place + 8;
}

static struct sock_filter any_load(void)
{
	switch (any(5)) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, any_word());
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, any_word());
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0);
	default:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, any_place());
	}
}

/* The first four words are stored to before they are loaded, which the kernel insists on. */
static struct sock_filter any_move(void)
{
	static const uint16_t codes[] = { BPF_ST,
					  BPF_STX,
					  BPF_LD | BPF_MEM,
					  BPF_LDX | BPF_MEM,
					  BPF_MISC | BPF_TAX,
					  BPF_MISC | BPF_TXA };

	return (struct sock_filter)BPF_STMT(codes[any(ARRAY_SIZE(codes))], any(4));
}

static struct sock_filter any_sum(void)
{
	static const uint16_t operations[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,
					       BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	uint16_t operation = operations[any(ARRAY_SIZE(operations))];
	bool is_shift = operation == BPF_LSH || operation == BPF_RSH;
	uint32_t k = is_shift ? any(32) : any_word();

	if (operation == BPF_NEG)
		return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0);
	/* By X: the kernel ends there if that is 0, with a death that would be seen. */
	if (operation != BPF_DIV && any(2))
		return (struct sock_filter)BPF_STMT(BPF_ALU | operation | BPF_X, 0);
	return (struct sock_filter)BPF_STMT(BPF_ALU | operation | BPF_K, k ? k : 1);
}

static struct sock_filter any_jump(uint32_t room)
{
	static const uint16_t conditions[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	uint16_t condition = conditions[any(ARRAY_SIZE(conditions))];

	if (!any(6))
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, any(room));
	return (struct sock_filter)BPF_JUMP(BPF_JMP | condition | (any(2) ? BPF_K : BPF_X),
					    any_word(), (uint8_t)any(room), (uint8_t)any(room));
}

/* What any program does to the tested call, told by the error that it makes of it. */
static void make(struct sock_filter *code)
{
	struct sock_filter *c = code;

	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TESTED, 1, 0);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (uint32_t i = 0; i < 4; i++)
		*c++ = (struct sock_filter)BPF_STMT(BPF_ST, i);
	while (c < code + HEAD + BODY) {
		uint32_t left = (uint32_t)(code + HEAD + BODY - c);

		switch (any(4)) {
		case 0:
			*c++ = any_load();
			break;
		case 1:
			*c++ = any_move();
			break;
		case 2:
			*c++ = any_sum();
			break;
		default:
			*c++ = any_jump(left < 8 ? left : 8);
			break;
		}
	}
	*c++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff);
	*c++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
}

static long call(const uint64_t argument[FILTER_ARGUMENTS])
{
	return arch_syscall(TESTED, (long)argument[0], (long)argument[1], (long)argument[2],
			    (long)argument[3], (long)argument[4], (long)argument[5]);
}

/* In a child, which has the filter then. */
static void ask_kernel(long *result, struct sock_fprog *program,
		       const uint64_t argument[FILTER_ARGUMENTS])
{
	*result = 1;
	if (!fork()) {
		if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program))
			*result = call(argument);
		_exit(0);
	}
	wait(NULL);
}

Test(shim_filter, comes_to_what_the_kernel_comes_to)
{
	long *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sock_filter code[ALL];
	struct sock_fprog program = { ALL, code };
	unsigned int nr_different = 0;
	uint32_t last = 0;

	for (unsigned int seed = 1; seed <= 500; seed++) {
		uint64_t argument[FILTER_ARGUMENTS];

		srandom(seed);
		make(code);
		for (int i = 0; i < FILTER_ARGUMENTS; i++)
			argument[i] = (uint64_t)any_word() << 32 | any_word();
		ask_kernel(result, &program, argument);
		if (*result == 1)
			cr_skip_test("no filter can be set here");

		uint32_t action = filter_run(&program, TESTED, argument);

		cr_expect(eq(u32, action & SECCOMP_RET_ACTION, SECCOMP_RET_ERRNO));
		cr_expect(eq(long, -(long)(action & SECCOMP_RET_DATA), *result), "seed %u", seed);
		cr_expect(eq(u32, filter_run(&program, __NR_futex, argument), SECCOMP_RET_ALLOW));
		nr_different += action != last;
		last = action;
	}
	cr_expect(gt(uint, nr_different, 200));
}

static struct sock_filter only_futex[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_futex, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_filter not_on_seven[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG),
};

/* It is run before the kernel has looked at it. */
Test(shim_filter, that_divides_by_a_constant_0_ends_the_program)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static const uint64_t zero[FILTER_ARGUMENTS];
	uint32_t action = filter_run(&(struct sock_fprog){ 2, code }, __NR_futex, zero);

	cr_expect(eq(u32, action, SECCOMP_RET_KILL));
}

Test(shim_filter, lets_through_what_all_filters_do)
{
	static const uint64_t seven[FILTER_ARGUMENTS] = { 7 }, one[FILTER_ARGUMENTS] = { 1 };

	cr_expect(not(filter_is_on));
	cr_expect(filter_allows(__NR_mmap, seven));
	cr_expect(filter_add(&(struct sock_fprog){ ARRAY_SIZE(not_on_seven), not_on_seven }));
	cr_expect(filter_is_on);
	cr_expect(filter_allows(__NR_mmap, one));
	cr_expect(not(filter_allows(__NR_futex, seven)));
	cr_expect(filter_add(&(struct sock_fprog){ ARRAY_SIZE(only_futex), only_futex }));
	cr_expect(filter_allows(__NR_futex, one));
	cr_expect(not(filter_allows(__NR_mmap, one)));
}

Test(shim_filter, takes_no_notice_of_what_the_kernel_would_not_take)
{
	static const uint64_t zero[FILTER_ARGUMENTS];

	cr_expect(filter_add((const struct sock_fprog *)8));
	cr_expect(filter_add(&(struct sock_fprog){ 0, only_futex }));
	cr_expect(filter_add(&(struct sock_fprog){ 4097, only_futex }));
	cr_expect(filter_add(&(struct sock_fprog){ 4, (struct sock_filter *)8 }));
	cr_expect(not(filter_is_on));
	cr_expect(filter_allows(__NR_mmap, zero));
}

/* --- whatever the arguments are ---------------------------------------------------------------*/

static bool always(const struct sock_filter *code, size_t nr, long number)
{
	return filter_always_allows(
		&(struct sock_fprog){ (unsigned short)nr, (struct sock_filter *)code }, number);
}

Test(shim_filter, always_allows_what_no_argument_is_looked_at_for)
{
	cr_expect(always(only_futex, ARRAY_SIZE(only_futex), __NR_futex));
	cr_expect(not(always(only_futex, ARRAY_SIZE(only_futex), __NR_mmap)));
	cr_expect(not(always(not_on_seven, ARRAY_SIZE(not_on_seven), __NR_futex)));
}

Test(shim_filter, looks_at_the_arguments_of_one_call_only)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 40, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	cr_expect(not(always(code, ARRAY_SIZE(code), __NR_socket)));
	cr_expect(always(code, ARRAY_SIZE(code), __NR_connect));
}

/* What jumps out of it, or ends with nothing said, is none that the kernel takes. */
Test(shim_filter, always_allows_nothing_where_a_program_is_none)
{
	static const struct sock_filter far[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 255),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static const struct sock_filter farther[] = {
		BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static const struct sock_filter endless[] = { BPF_STMT(BPF_LD | BPF_IMM, 0) };

	cr_expect(not(always(far, ARRAY_SIZE(far), __NR_futex)));
	cr_expect(not(always(farther, ARRAY_SIZE(farther), __NR_futex)));
	cr_expect(not(always(endless, ARRAY_SIZE(endless), __NR_futex)));
}

/* Ends of the made programs say what is tested: any error, or nothing. */
static void make_plain(struct sock_filter *code)
{
	make(code);
	for (int i = HEAD + 4; i < HEAD + BODY; i++)
		if (!any(6))
			code[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							       any(8) ? SECCOMP_RET_ALLOW
								      : SECCOMP_RET_KILL_PROCESS);
	code[ALL - 3] = code[ALL - 2] = code[ALL - 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

Test(shim_filter, what_it_always_allows_no_arguments_are_refused_for)
{
	struct sock_filter code[ALL];
	struct sock_fprog program = { ALL, code };
	unsigned int nr_always = 0;

	for (unsigned int seed = 1; seed <= 3000; seed++) {
		srandom(seed);
		make_plain(code);
		if (!filter_always_allows(&program, TESTED))
			continue;
		nr_always++;
		for (int n = 0; n < 50; n++) {
			uint64_t argument[FILTER_ARGUMENTS];

			for (int i = 0; i < FILTER_ARGUMENTS; i++)
				argument[i] = (uint64_t)any_word() << 32 | any_word();
			cr_expect(filter_lets_through(filter_run(&program, TESTED, argument)),
				  "seed %u", seed);
		}
	}
	cr_expect(gt(uint, nr_always, 100));
	cr_expect(lt(uint, nr_always, 2900));
}

/* --- over an exec -----------------------------------------------------------------------------*/

Test(shim_filter, what_is_inherited_lets_through_only_what_is_known_to_be)
{
	static const uint64_t zero[FILTER_ARGUMENTS];

	filter_inherit((struct filters){ 3, filter_bit(__NR_mmap) | filter_bit(__NR_munmap) |
						    filter_bit(__NR_futex) });
	cr_expect(filter_is_on);
	cr_expect(filter_allows(__NR_mmap, zero));
	cr_expect(not(filter_allows(__NR_openat, zero)));
	cr_expect(not(filter_allows(TESTED, zero)));
	cr_expect(not(filter_suffices(filter_known().calls)));
	cr_expect(filter_add(&(struct sock_fprog){ ARRAY_SIZE(only_futex), only_futex }));
	cr_expect(eq(u32, filter_known().nr, 4));
	cr_expect(eq(u64, filter_known().calls, filter_bit(__NR_futex)));
}

Test(shim_filter, none_is_inherited_where_all_is_let_through)
{
	filter_inherit((struct filters){ 1, FILTERS_ALL_CALLS });
	cr_expect(not(filter_is_on));
	cr_expect(filter_suffices(filter_known().calls));
}

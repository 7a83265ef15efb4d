/* SPDX-License-Identifier: MIT */
#include "shim/filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/filter_always.h"
#include "shim/sys.h"

#ifndef SECCOMP_RET_ACTION_FULL
#define SECCOMP_RET_ACTION_FULL 0xffff0000U
#endif
#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000U
#endif

#define PAGE 4096

/* As the kernel has it. */
#define MOST_INSTRUCTIONS 4096
#define MOST_FILTERS 32

struct kept {
	struct sock_fprog program;
	struct sock_filter code[];
};

/* The accumulator, the index and the memory of a program. */
struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
	struct seccomp_data data;
};

/* All that sys.h makes, those first that a session cannot do without. */
static const short calls[] = {
	__NR_openat, __NR_read,	      __NR_close,	   __NR_lseek,	       __NR_readlinkat,
	__NR_mmap,   __NR_munmap,     __NR_mremap,	   __NR_madvise,       __NR_futex,
	__NR_getpid, __NR_getppid,    __NR_gettid,	   __NR_clock_gettime,
#define NEEDED_CALLS 14
	__NR_kill,   __NR_tgkill,     __NR_rt_sigprocmask, __NR_getcwd,	       __NR_geteuid,
	__NR_socket, __NR_setsockopt, __NR_getsockopt,	   __NR_connect,       __NR_recvmsg,
};
#define NR_CALLS (sizeof(calls) / sizeof(*calls))

bool filter_is_on;
static _Atomic(struct kept *) filters[MOST_FILTERS];
static _Atomic unsigned int nr_filters;

static uint64_t inherited_calls = FILTERS_ALL_CALLS;
static _Atomic uint32_t nr_known;
static _Atomic uint64_t calls_known = FILTERS_ALL_CALLS;

static bool is_readable(const void *start, size_t bytes)
{
	uintptr_t at = (uintptr_t)start, end = at + bytes;

	while (at < end && sys_readable((const void *)at))
		at = (at / PAGE + 1) * PAGE;
	return at >= end;
}

static bool would_be_taken(const struct sock_fprog *program)
{
	return is_readable(program, sizeof(*program)) && program->len &&
	       program->len <= MOST_INSTRUCTIONS &&
	       is_readable(program->filter, program->len * sizeof(*program->filter));
}

static void note(const struct sock_fprog *program)
{
	uint64_t allowed = 0;

	for (unsigned int i = 0; i < NR_CALLS; i++)
		if (filter_always_allows(program, calls[i]))
			allowed |= UINT64_C(1) << i;
	atomic_fetch_and(&calls_known, allowed);
	atomic_fetch_add(&nr_known, 1);
}

bool filter_add(const struct sock_fprog *program)
{
	if (!would_be_taken(program))
		return true;

	size_t bytes = program->len * sizeof(*program->filter);
	struct kept *kept = sys_mmap_private(sizeof(*kept) + bytes);
	unsigned int i;

	if (sys_failed(kept))
		return false;
	memcpy(kept->code, program->filter, bytes);
	kept->program = (struct sock_fprog){ program->len, kept->code };
	i = atomic_fetch_add(&nr_filters, 1);
	if (i >= MOST_FILTERS)
		return false;
	note(&kept->program);
	atomic_store(&filters[i], kept);
	filter_is_on = true;
	return true;
}

/* --- what is handed on ------------------------------------------------------------------------*/

uint64_t filter_bit(long number)
{
	for (unsigned int i = 0; i < NR_CALLS; i++)
		if (calls[i] == number)
			return UINT64_C(1) << i;
	return 0;
}

bool filter_suffices(uint64_t allowed)
{
	const uint64_t needed = (UINT64_C(1) << NEEDED_CALLS) - 1;

	return (allowed & needed) == needed;
}

void filter_inherit(struct filters known)
{
	inherited_calls = known.calls;
	calls_known = known.calls;
	nr_known = known.nr;
	filter_is_on = known.calls != FILTERS_ALL_CALLS;
}

/* Whoever comes between the two gets a number that does not fit, and is on the safe side. */
struct filters filter_known(void)
{
	uint32_t nr = atomic_load(&nr_known);

	return (struct filters){ nr, atomic_load(&calls_known) };
}

/* --- running ----------------------------------------------------------------------------------*/

static uint32_t load(const struct machine *m, const struct sock_filter *i)
{
	uint32_t word = 0;

	switch (BPF_MODE(i->code)) {
	case BPF_ABS:
		if (i->k <= sizeof(m->data) - sizeof(word))
			memcpy(&word, (const char *)&m->data + i->k, sizeof(word));
		return word;
	case BPF_LEN:
		return sizeof(m->data);
	case BPF_MEM:
		return i->k < BPF_MEMWORDS ? m->memory[i->k] : 0;
	default: /* BPF_IMM */
		return i->k;
	}
}

static uint32_t compute(uint32_t a, uint16_t operation, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	default: /* BPF_NEG */
		return -a;
	}
}

static uint32_t operand(const struct machine *m, const struct sock_filter *i)
{
	return BPF_SRC(i->code) == BPF_X ? m->x : i->k;
}

/* That ends the program.  (One with a constant 0 is none that the kernel takes.) */
static bool divides_by_zero(const struct machine *m, const struct sock_filter *i)
{
	return BPF_CLASS(i->code) == BPF_ALU && BPF_OP(i->code) == BPF_DIV && !operand(m, i);
}

bool filter_is_taken(uint32_t a, uint16_t condition, uint32_t b)
{
	switch (condition) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default: /* BPF_JSET */
		return a & b;
	}
}

static void store(struct machine *m, uint32_t at, uint32_t word)
{
	if (at < BPF_MEMWORDS)
		m->memory[at] = word;
}

/* All but jumps and the end. */
static void step(struct machine *m, const struct sock_filter *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		m->a = load(m, i);
		break;
	case BPF_LDX:
		m->x = load(m, i);
		break;
	case BPF_ST:
		store(m, i->k, m->a);
		break;
	case BPF_STX:
		store(m, i->k, m->x);
		break;
	case BPF_ALU:
		m->a = compute(m->a, BPF_OP(i->code), operand(m, i));
		break;
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		break;
	}
}

static uint32_t distance(const struct machine *m, const struct sock_filter *i)
{
	if (BPF_OP(i->code) == BPF_JA)
		return i->k;
	return filter_is_taken(m->a, BPF_OP(i->code), operand(m, i)) ? i->jt : i->jf;
}

uint32_t filter_run(const struct sock_fprog *program, long number,
		    const uint64_t argument[FILTER_ARGUMENTS])
{
	struct machine m = { .data = { .nr = (int)number,
				       .arch = FILTER_ARCH,
				       .instruction_pointer = (uintptr_t)&filter_run } };

	memcpy(m.data.args, argument, sizeof(m.data.args));
	for (uint64_t pc = 0; pc < program->len; pc++) {
		const struct sock_filter *i = &program->filter[pc];

		if (BPF_CLASS(i->code) == BPF_RET)
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		if (divides_by_zero(&m, i))
			break;
		if (BPF_CLASS(i->code) == BPF_JMP)
			pc += distance(&m, i);
		else
			step(&m, i);
	}
	return SECCOMP_RET_KILL;
}

bool filter_lets_through(uint32_t result)
{
	uint32_t action = result & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static bool allows(const struct kept *kept, long number, const uint64_t argument[FILTER_ARGUMENTS])
{
	return filter_lets_through(filter_run(&kept->program, number, argument));
}

bool filter_allows(long number, const uint64_t argument[FILTER_ARGUMENTS])
{
	unsigned int nr = atomic_load(&nr_filters);

	if (inherited_calls != FILTERS_ALL_CALLS && !(inherited_calls & filter_bit(number)))
		return false;
	for (unsigned int i = 0; i < nr && i < MOST_FILTERS; i++) {
		const struct kept *kept = atomic_load(&filters[i]);

		if (kept && !allows(kept, number, argument))
			return false;
	}
	return true;
}

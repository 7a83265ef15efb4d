/* SPDX-License-Identifier: MIT */
#include "samplers.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "object/proc_maps.h"
#include "record/stacks/stacks.h"
#include "stack.h"

/* --- the sample ------------------------------------------------------------------------------- */

static const int context_of_dwarf[16] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15 };

/* What can be read of the stack, which may be less. */
NOINLINE void sample_take(struct sample *sample)
{
	ucontext_t context;

	getcontext(&context);
	for (int i = 0; i < 16; i++)
		sample->registers[i] = (uint64_t)context.uc_mcontext.gregs[context_of_dwarf[i]];
	sample->pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];

	struct iovec to = { sample->bytes, SAMPLE_BYTES };
	struct iovec from = { (void *)(uintptr_t)sample->registers[ARCH_DWARF_SP], SAMPLE_BYTES };
	ssize_t nr = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	sample->nr_bytes = nr > 0 ? (size_t)nr : 0;
}

/* --- the recorder ----------------------------------------------------------------------------- */

static struct modules modules;
static struct space space;

void samplers_init(void)
{
	struct proc_maps maps;
	struct proc_mapping mapping;

	if (proc_maps_open(&maps, getpid()) < 0)
		abort();
	while (proc_maps_next(&maps, &mapping)) {
		struct module_request request = { .path = *mapping.path ? mapping.path : "//anon",
						  .pid = getpid(),
						  .start = mapping.start,
						  .end = mapping.end,
						  .device_major = mapping.device_major,
						  .device_minor = mapping.device_minor,
						  .inode = mapping.inode };

		if (mapping.executable)
			space_map(&space, mapping.start, mapping.end, mapping.pgoff,
				  module_get(&modules, &request));
	}
	proc_maps_close(&maps);
}

static void *recorder_new(void)
{
	return stacks_new();
}

static size_t recorder_walk(void *state, const struct sample *sample)
{
	static struct stack stack;
	struct stack_registers registers = { .pc = sample->pc,
					     .sp = sample->registers[ARCH_DWARF_SP],
					     .fp = sample->registers[ARCH_DWARF_FP],
					     .has_general = true };
	struct stack_sample taken = { .registers = &registers,
				      .bytes = sample->bytes,
				      .nr_bytes = sample->nr_bytes,
				      .thread = 1 };

	memcpy(registers.general, sample->registers, sizeof(registers.general));
	stacks_walk(state, &space, &taken, &stack);
	return unwind_end_is_root(stack.end) ? stack.nr : 0;
}

static void recorder_free(void *state)
{
	stacks_free(state);
}

/* --- libdwfl, as perf uses it ----------------------------------------------------------------- */

struct dwfl_state {
	Dwfl *dwfl;
	const struct sample *sample;
	size_t nr;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return getpid();
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *arg)
{
	const struct sample *sample = ((struct dwfl_state *)arg)->sample;
	uint64_t offset = address - sample->registers[ARCH_DWARF_SP];

	(void)dwfl;
	if (offset > sample->nr_bytes || sample->nr_bytes - offset < sizeof(*word))
		return false;
	memcpy(word, sample->bytes + offset, sizeof(*word));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct sample *sample = ((struct dwfl_state *)arg)->sample;

	dwfl_thread_state_register_pc(thread, sample->pc);
	return dwfl_thread_state_registers(thread, 0, 16, sample->registers);
}

static int count_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;
	bool is_activation;

	if (!dwfl_frame_pc(frame, &pc, &is_activation))
		return DWARF_CB_ABORT;
	((struct dwfl_state *)arg)->nr++;
	return DWARF_CB_OK;
}

static void *dwfl_new(void)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo };
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	struct dwfl_state *state = calloc(1, sizeof(*state));

	state->dwfl = dwfl_begin(&callbacks);
	if (!state->dwfl || dwfl_linux_proc_report(state->dwfl, getpid()) ||
	    dwfl_report_end(state->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(state->dwfl, NULL, getpid(), &thread_callbacks, state))
		abort();
	return state;
}

static size_t dwfl_walk(void *arg, const struct sample *sample)
{
	struct dwfl_state *state = arg;

	state->sample = sample;
	state->nr = 0;
	dwfl_getthread_frames(state->dwfl, getpid(), count_frame, state);
	return state->nr;
}

static void dwfl_free(void *arg)
{
	struct dwfl_state *state = arg;

	dwfl_end(state->dwfl);
	free(state);
}

const struct sampler samplers[SAMPLERS_NR] = {
	{ "cprof, in the recorder", recorder_new, recorder_walk, recorder_free },
	{ "libdwfl", dwfl_new, dwfl_walk, dwfl_free },
};

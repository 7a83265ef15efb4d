/* SPDX-License-Identifier: MIT */
#include "symbolize/budget.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/proc_file.h"
#include "base/units.h"

static uint64_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Of all that is writable and not shared. */
static uint64_t data_bytes(void)
{
	return proc_field("/proc/self/status", "VmData:") * 1024;
}

static void limit_process(uint64_t bytes)
{
	uint64_t limit = data_bytes() - mallinfo2().fordblks + 3 * bytes;
	struct rlimit now;

	if (bytes > UINT64_MAX / 4 || getrlimit(RLIMIT_DATA, &now) < 0 || now.rlim_max < limit)
		return;
	now.rlim_cur = limit;
	setrlimit(RLIMIT_DATA, &now);
}

void budget_begin(struct budget *budget, uint64_t time_ns, uint64_t bytes)
{
	*budget = (struct budget){
		.time_ns = time_ns,
		.deadline_ns = clock_now_ns() + time_ns,
		.bytes = bytes,
		.start_bytes = allocated_bytes(),
	};
	limit_process(bytes);
}

bool budget_is_spent(struct budget *budget)
{
	if (*budget->spent)
		return true;
	if (clock_now_ns() >= budget->deadline_ns)
		snprintf(budget->spent, sizeof(budget->spent), "%s are spent (--symbol-budget)",
			 units_time((int64_t)budget->time_ns).text);
	else if (allocated_bytes() + budget->mapped_bytes > budget->start_bytes + budget->bytes)
		snprintf(budget->spent, sizeof(budget->spent),
			 "%s of memory are spent (--symbol-budget)",
			 units_size(budget->bytes).text);
	return *budget->spent;
}

void budget_pause(struct budget *budget)
{
	budget->paused_ns = clock_now_ns();
}

void budget_resume(struct budget *budget)
{
	budget->deadline_ns += clock_now_ns() - budget->paused_ns;
}

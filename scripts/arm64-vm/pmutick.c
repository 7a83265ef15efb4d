/* SPDX-License-Identifier: MIT */
/*
 * pmutick PERIOD: keeps one sampling cycles event on every CPU, which nobody reads.
 *
 * QEMU's emulated PMU notices that an event counter has overflown one count too late, at the next
 * exception.  The cycle counter's own interrupt is exact and makes it look at all of them.  Run in
 * the background while sampling anything but cycles.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000,
		.pinned = 1,
	};

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0) {
			fprintf(stderr, "pmutick: CPU %d: %s\n", cpu, strerror(errno));
			return 1;
		}
	}
	for (;;)
		pause();
}

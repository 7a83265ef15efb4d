/* SPDX-License-Identifier: MIT */
#include "stat/usage.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "base/vec.h"

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

void usage_of_program(struct usage *usage, const struct rusage *rusage)
{
	*usage = (struct usage){
		.user_s = seconds(&rusage->ru_utime),
		.system_s = seconds(&rusage->ru_stime),
		.minor_faults = (double)rusage->ru_minflt,
		.major_faults = (double)rusage->ru_majflt,
		.switches = (double)(rusage->ru_nvcsw + rusage->ru_nivcsw),
		.max_rss_bytes = (double)rusage->ru_maxrss * 1024,
	};
}

/* With those of the children that it has waited for. */
static bool add_stat(struct usage *usage, const char *text)
{
	const char *end = strrchr(text, ')'); /* of the name, which may contain anything */
	unsigned long minor[2], major[2], user, system;
	long child_user, child_system;
	double ticks = (double)sysconf(_SC_CLK_TCK);

	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %lu %lu %lu %lu %lu %ld %ld",
			   &minor[0], &minor[1], &major[0], &major[1], &user, &system, &child_user,
			   &child_system) != 8)
		return false;
	usage->minor_faults += (double)minor[0] + (double)minor[1];
	usage->major_faults += (double)major[0] + (double)major[1];
	usage->user_s += ((double)user + (double)child_user) / ticks;
	usage->system_s += ((double)system + (double)child_system) / ticks;
	return true;
}

/* A process that ends loses its memory before it is gone. */
static bool add_peak(struct usage *usage, pid_t pid)
{
	char path[64];
	double bytes;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	bytes = (double)proc_field(path, "VmHWM:") * 1024;
	usage->max_rss_bytes = fmax(usage->max_rss_bytes, bytes);
	return bytes > 0;
}

static bool add_process(struct usage *usage, const struct attach_process *process)
{
	struct pollfd end = { process->fd, POLLIN, 0 };
	char text[4096];

	return proc_text(process->pid, "stat", text, sizeof(text)) && add_stat(usage, text) &&
	       add_peak(usage, process->pid) && poll(&end, 1, 0) == 0;
}

bool usage_read(struct usage *usage, const struct attach *attach)
{
	*usage = (struct usage){ .switches = NAN, .is_from_proc = true };
	vec_each(attach, process)
	{
		if (!add_process(usage, process))
			return false;
	}
	return true;
}

void usage_subtract(struct usage *usage, const struct usage *before)
{
	usage->user_s -= before->user_s;
	usage->system_s -= before->system_s;
	usage->minor_faults -= before->minor_faults;
	usage->major_faults -= before->major_faults;
	usage->switches -= before->switches;
}

/* SPDX-License-Identifier: MIT */
#include "record/events/access.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/proc_file.h"

/* "cpu", "cpu_core", "armv8_pmuv3_0", "armv8_cortex_a53"; not "software", "breakpoint", ... */
static bool find_pmu(void)
{
	DIR *dir = opendir("/sys/bus/event_source/devices");
	const struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = !strcmp(entry->d_name, "cpu") || !strncmp(entry->d_name, "cpu_", 4) ||
			!strncmp(entry->d_name, "armv", 4);
	if (dir)
		closedir(dir);
	return found;
}

void access_read(struct access *access)
{
	int rate = proc_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	*access = (struct access){
		.paranoid = proc_number("/proc/sys/kernel/perf_event_paranoid", ACCESS_UNKNOWN),
		.seccomp = proc_field("/proc/self/status", "Seccomp:") > 0,
		.has_pmu = find_pmu(),
		.max_rate = rate > 0 ? (uint32_t)rate : 0,
	};
}

static int explain_paranoid(const struct access *access, struct error *err)
{
	error_set(err, ERR_REFUSED,
		  "perf is for privileged users only here (kernel.perf_event_paranoid is %d)",
		  access->paranoid);
	return error_hint(err, "as root: sysctl kernel.perf_event_paranoid=2, or: setcap "
			       "cap_perfmon+ep on cprof (Linux 5.8 and later)");
}

static int explain_kernel(const struct access *access, const struct event_type *type,
			  struct error *err)
{
	error_set(err, ERR_REFUSED,
		  "'%s' is of the kernel, which perf shows to privileged users only "
		  "(kernel.perf_event_paranoid is %d)",
		  type->name, access->paranoid);
	return error_hint(err, "as root: sysctl kernel.perf_event_paranoid=1, or: setcap "
			       "cap_perfmon+ep on cprof");
}

static int explain_permission(const struct access *access, int errno_value,
			      const struct event_type *type, struct error *err)
{
	if (errno_value == EACCES && access->paranoid >= 3)
		return explain_paranoid(access, err);
	if (errno_value == EACCES && type->exclude_user)
		return explain_kernel(access, type, err);
	if (access->seccomp && errno_value != EACCES) {
		error_set(err, ERR_REFUSED,
			  "a system call filter (seccomp) refuses perf_event_open, as Docker's "
			  "default one does");
		return error_hint(err, "start the container with --cap-add=PERFMON, or with a "
				       "seccomp profile that allows perf_event_open");
	}
	if (errno_value == ENOSYS)
		return error_set(err, ERR_UNSUPPORTED, "this kernel is built without perf events");

	error_errno(err, errno_value, "perf_event_open is refused");
	error_hint(err, "a security module of this machine or a sandbox forbids it; dmesg and the "
			"audit log (ausearch -m avc) may say which one, and what allows it");
	return error_recode(err, ERR_REFUSED);
}

static int explain_missing(const struct access *access, const struct event_type *type,
			   struct error *err)
{
	if (event_type_is_stops(type))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s is not of perf: it is sampled alone (-e %s)", type->name,
				 type->name);
	if (event_type_is_software(type))
		return error_set(err, ERR_UNSUPPORTED, "this kernel has no event '%s'", type->name);
	if (!access->has_pmu)
		return error_set(err, ERR_UNSUPPORTED,
				 "no hardware PMU (perf offers no '%s' here, as in most VMs)",
				 type->name);
	return error_set(err, ERR_UNSUPPORTED, "the PMU of this CPU offers no '%s'", type->name);
}

int access_explain(const struct access *access, int errno_value, const struct event_type *type,
		   struct error *err)
{
	switch (errno_value) {
	case EACCES:
	case EPERM:
	case ENOSYS:
		return explain_permission(access, errno_value, type, err);
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return explain_missing(access, type, err);
	case EINVAL:
		return error_set(
			err, ERR_UNSUPPORTED, "'%s' cannot be sampled here%s", type->name,
			event_type_is_software(type) ? "" : ", or not together with the others");
	case EBUSY:
		return error_set(err, ERR_UNSUPPORTED,
				 "another program has the counters for itself");
	case EMFILE:
	case ENFILE:
		error_set(err, ERR_REFUSED, "too few file descriptors for an event on every CPU");
		return error_hint(err, "raise the limit: ulimit -n 4096");
	default:
		error_errno(err, errno_value, "open event '%s'", type->name);
		return error_recode(err, ERR_UNSUPPORTED);
	}
}

bool access_is_about_event(int errno_value)
{
	switch (errno_value) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
	case EINVAL:
	case EBUSY:
	case ENOSPC:
		return true;
	default:
		return false;
	}
}

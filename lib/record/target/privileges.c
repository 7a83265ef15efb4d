/* SPDX-License-Identifier: MIT */
#include "record/target/privileges.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

void privileges_give_up(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (!getauxval(AT_SECURE) || !geteuid())
		return;
	if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		log_debug(LOG_TARGET, "capabilities of the file could not be given up");
}

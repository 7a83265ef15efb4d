/* SPDX-License-Identifier: MIT */
#include "base/commit_signal.h"

#include <signal.h>
#include <stdbool.h>

static struct sigaction former;
static bool is_ignored;

void commit_signal_ignore(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (!is_ignored)
		sigaction(SIGUSR1, &ignore, &former);
	is_ignored = true;
}

void commit_signal_restore(void)
{
	if (is_ignored)
		sigaction(SIGUSR1, &former, NULL);
	is_ignored = false;
}

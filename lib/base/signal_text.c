/* SPDX-License-Identifier: MIT */
#include "base/signal_text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct signal_text signal_text(int number)
{
	const char *name = sigabbrev_np(number);
	struct signal_text signal;

	if (name)
		snprintf(signal.text, sizeof(signal.text), "SIG%s", name);
	else if (number >= SIGRTMIN && number <= SIGRTMAX)
		snprintf(signal.text, sizeof(signal.text), "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(signal.text, sizeof(signal.text), "signal %d", number);
	return signal;
}

/* SPDX-License-Identifier: MIT */
/*
 * terminal_modes - how the terminal is set, to set it so again.
 *
 *	terminal_modes_remember(&modes);
 *	... a program dies of a signal ...
 *	terminal_modes_restore(&modes);
 *
 * A shell does this when its job dies of a signal.  Started by us it dies behind our back: all that
 * the shell sees is our exit.
 */
#ifndef RECORD_TARGET_TERMINAL_MODES_H
#define RECORD_TARGET_TERMINAL_MODES_H

#include <termios.h>

struct terminal_modes {
	int fd; /* of our standard streams, not ours to close; -1: none is a terminal */
	struct termios modes;
};

void terminal_modes_remember(struct terminal_modes *modes);
/* Does nothing in the background. */
void terminal_modes_restore(const struct terminal_modes *modes);

#endif

/* SPDX-License-Identifier: MIT */
#include "record/target/terminal_modes.h"

#include <unistd.h>

void terminal_modes_remember(struct terminal_modes *modes)
{
	modes->fd = -1;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && modes->fd < 0; fd++)
		if (!tcgetattr(fd, &modes->modes))
			modes->fd = fd;
}

void terminal_modes_restore(const struct terminal_modes *modes)
{
	if (modes->fd >= 0 && tcgetpgrp(modes->fd) == getpgrp())
		tcsetattr(modes->fd, TCSADRAIN, &modes->modes);
}

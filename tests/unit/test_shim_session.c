/* SPDX-License-Identifier: MIT */
#include "shim/session.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "record/heap/door.h"
#include "shim_file.h"

/* As in another PID namespace, with a /proc of its own, in which somebody has that pid. */
Test(shim_session, asks_at_the_door_where_the_path_leads_to_another_file)
{
	struct shim_file file;
	int other = memfd_create("another", MFD_CLOEXEC);
	char *path = xasprintf("/proc/self/fd/%d", other);
	struct door *door;

	shim_file_make(&file, 8);
	door = door_open(path, file.fd);
	cr_assert(ne(ptr, door, NULL));
	session_open(path);
	cr_expect(eq(i32, file.control->owner[0], getpid()));
	cr_expect(eq(i32, file.head->pid, getpid()));
	door_close(door);
	free(path);
}

/* SPDX-License-Identifier: MIT */
#include "record/heap/door.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "shim/door.h"
#include "shim/wire.h"

#define NOBODY 65534

static char *path;
static int file;
static struct door *door;

static void open_it(void)
{
	file = memfd_create("door test", MFD_CLOEXEC);
	path = xasprintf("/proc/%d/fd/%d", (int)getpid(), file);
	door = door_open(path, file);
	cr_assert(ne(ptr, door, NULL));
}

static void close_it(void)
{
	door_close(door);
	close(file);
	free(path);
}

TestSuite(heap_door, .init = open_it, .fini = close_it);

static bool is_the_file(int fd)
{
	struct stat here, there;

	return !fstat(file, &here) && !fstat(fd, &there) && here.st_ino == there.st_ino &&
	       here.st_dev == there.st_dev;
}

Test(heap_door, gives_the_file_and_who_one_is)
{
	int32_t pid = 0;
	long fd = door_ask(path, &pid);

	cr_assert(ge(long, fd, 0));
	cr_expect(is_the_file((int)fd));
	cr_expect(eq(int, fcntl((int)fd, F_GETFD), FD_CLOEXEC));
	cr_expect(eq(i32, pid, getpid()));
	close((int)fd);
}

static int status_of(bool (*does)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(does() ? 0 : 1);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool child_is_told_its_pid(void)
{
	int32_t pid = 0;

	return door_ask(path, &pid) >= 0 && pid == getpid();
}

Test(heap_door, answers_one_after_the_other)
{
	for (int i = 0; i < 300; i++)
		cr_assert(zero(int, status_of(child_is_told_its_pid)));
}

static bool gets_it_as_nobody(void)
{
	int32_t pid = 0;

	return !setuid(NOBODY) && door_ask(path, &pid) >= 0 && pid == getpid();
}

/* Its parent has ended: it is a stranger's child now. */
static bool stranger_gets_it(void)
{
	int answer[2];
	char got = 0;

	if (pipe(answer))
		return false;
	if (!fork()) {
		pid_t parent = getpid();

		if (!fork()) {
			while (getppid() == parent)
				usleep(1000);
			got = gets_it_as_nobody() ? 'y' : 'n';
			_exit(write(answer[1], &got, 1) != 1);
		}
		_exit(0);
	}
	return read(answer[0], &got, 1) == 1 && got == 'y';
}

/* A program that root records may give up to be that. */
Test(heap_door, is_open_to_what_root_started_and_closed_to_other_users)
{
	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	cr_expect(zero(int, status_of(gets_it_as_nobody)));
	cr_expect(not(stranger_gets_it()));
}

/* Whoever has the name of a path that no recorder has. */
static int listen_as(const char *name_path)
{
	struct sockaddr_un name;
	uint32_t length = wire_door_name(&name, name_path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert(zero(int, bind(fd, (struct sockaddr *)&name, length)));
	cr_assert(zero(int, listen(fd, 1)));
	return fd;
}

/* What the recorder would say, to anybody. */
static void answer(int visitor)
{
	int32_t pid = 1;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
	sendmsg(visitor, &message, MSG_NOSIGNAL);
}

/* A process of this user that answers once, at the door of this path; it ends with *tell. */
static pid_t start_other(const char *other_path, uid_t user, int *tell)
{
	int ends[2], ready[2];
	char byte;
	pid_t pid;

	cr_assert(zero(int, pipe(ends) || pipe(ready)));
	pid = fork();
	if (!pid) {
		int socket = user == geteuid() || !setuid(user) ? listen_as(other_path) : -1;

		close(ends[1]);
		if (write(ready[1], "", 1) == 1)
			answer(accept(socket, NULL, NULL));
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	close(ready[1]);
	cr_assert(eq(int, (int)read(ready[0], &byte, 1), 1));
	*tell = ends[1];
	return pid;
}

static long ask_other(uid_t user)
{
	int tell;
	int32_t pid = 0;
	pid_t other = start_other("/proc/1/fd/other", user, &tell);
	long fd = door_ask("/proc/1/fd/other", &pid);

	close(tell);
	waitpid(other, NULL, 0);
	return fd;
}

Test(heap_door, of_another_user_is_not_believed)
{
	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	cr_expect(ge(long, ask_other(0), 0));
	cr_expect(lt(long, ask_other(NOBODY), 0));
}

static void be_interrupted(int signal)
{
	(void)signal;
}

Test(heap_door, where_nobody_answers_is_left_whatever_signals_come)
{
	const struct itimerval often = { { .tv_usec = 100000 }, { .tv_usec = 100000 } };
	const struct sigaction action = { .sa_handler = be_interrupted };
	int32_t pid;

	listen_as("/proc/1/fd/nobody");
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	cr_expect(lt(long, door_ask("/proc/1/fd/nobody", &pid), 0));
}

static struct rlimit descriptors;

static bool child_with_descriptors(void)
{
	setrlimit(RLIMIT_NOFILE, &descriptors);
	return child_is_told_its_pid();
}

Test(heap_door, outlives_a_shortage_of_descriptors)
{
	struct rlimit none;

	getrlimit(RLIMIT_NOFILE, &descriptors);
	none = (struct rlimit){ 0, descriptors.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	status_of(child_with_descriptors); /* The door may have one for this visitor already. */
	setrlimit(RLIMIT_NOFILE, &descriptors);
	cr_expect(zero(int, status_of(child_with_descriptors)));
}

Test(heap_door, is_there_once)
{
	int32_t pid;

	cr_expect(eq(ptr, door_open(path, file), NULL));
	door_close(door);
	door = NULL;
	cr_expect(lt(long, door_ask(path, &pid), 0));
	cr_expect(lt(long, door_ask("", &pid), 0));
}

Test(heap_door, of_a_path_that_is_too_long_is_not_there)
{
	char long_path[200] = "";
	int32_t pid;

	memset(long_path, 'x', sizeof(long_path) - 1);
	cr_expect(lt(long, door_ask(long_path, &pid), 0));
	cr_expect(eq(ptr, door_open(long_path, file), NULL));
}

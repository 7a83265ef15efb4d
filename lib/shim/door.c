/* SPDX-License-Identifier: MIT */
#include "shim/door.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "shim/sys.h"
#include "shim/wire.h"

/* A recorder that is stopped does not stop us. */
#define PATIENCE_S 1

struct letter {
	int32_t pid;
	struct msghdr message;
	struct iovec part;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
};

static void set_patience(int fd)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	sys_set_socket(fd, SO_SNDTIMEO, &patience, sizeof(patience));
	sys_set_socket(fd, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* After a signal a call waits as long again. */
static bool is_to_repeat(long result, uint64_t end_ns)
{
	return result == -SYS_EINTR && sys_monotonic_ns() < end_ns;
}

/* Anybody may have taken the name before the recorder, or after it; root may do with us what it likes
 * anyway: the program may have given up to be that. */
static bool is_trusted(int fd)
{
	struct ucred who = { 0 };
	uint32_t size = sizeof(who);

	return !sys_get_socket(fd, SO_PEERCRED, &who, &size) &&
	       (who.uid == sys_geteuid() || !who.uid);
}

static bool knock(int fd, const char *path, uint64_t end_ns)
{
	struct sockaddr_un name;
	uint32_t length = wire_door_name(&name, path);
	long error;

	if (!length)
		return false;
	do
		error = sys_connect(fd, &name, length);
	while (is_to_repeat(error, end_ns));
	return !error && is_trusted(fd);
}

/* The descriptor, or negative. */
static long receive(int fd, int32_t *pid, uint64_t end_ns)
{
	struct letter letter = { 0 };
	long got;

	letter.part = (struct iovec){ &letter.pid, sizeof(letter.pid) };
	letter.message.msg_iov = &letter.part;
	letter.message.msg_iovlen = 1;
	letter.message.msg_control = &letter.control;
	letter.message.msg_controllen = sizeof(letter.control);
	do
		got = sys_recvmsg(fd, &letter.message, MSG_CMSG_CLOEXEC);
	while (is_to_repeat(got, end_ns));
	if (got != sizeof(letter.pid) || letter.message.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    letter.control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	*pid = letter.pid;

	int file;

	memcpy(&file, CMSG_DATA(&letter.control.header), sizeof(file));
	return file;
}

long door_ask(const char *path, int32_t *pid)
{
	const uint64_t end_ns = sys_monotonic_ns() + PATIENCE_S * UINT64_C(1000000000);
	long fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC), file = -1;

	if (fd < 0)
		return fd;
	set_patience((int)fd);
	if (knock((int)fd, path, end_ns))
		file = receive((int)fd, pid, end_ns);
	sys_close((int)fd);
	return file;
}

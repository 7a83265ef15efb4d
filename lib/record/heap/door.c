/* SPDX-License-Identifier: MIT */
#include "record/heap/door.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/proc_file.h"
#include "base/thread.h"
#include "shim/wire.h"

#define VISITORS_MAX 128 /* that wait at the same time */
#define SHORTAGE_US 10000

struct door {
	int socket;
	int fd; /* what is handed out */
	pthread_t thread;
	_Atomic bool closing;
};

static void hand_out(int visitor, int fd, int32_t pid)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(visitor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Of ours, so that it is the program or was started by it. */
static bool is_descendant(pid_t pid)
{
	char path[32];

	while (pid > 1 && pid != getpid()) {
		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		pid = (pid_t)proc_field(path, "PPid:");
	}
	return pid == getpid();
}

/* A program that root recorded may be another user's by now. */
static bool is_welcome(const struct ucred *who)
{
	return who->pid > 0 && (who->uid == geteuid() || (!geteuid() && is_descendant(who->pid)));
}

static void receive(const struct door *door, int visitor)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(visitor, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return;
	if (is_welcome(&who))
		hand_out(visitor, door->fd, who.pid);
}

static void *attend(void *argument)
{
	struct door *door = argument;

	while (!atomic_load(&door->closing)) {
		int visitor = accept4(door->socket, NULL, NULL, SOCK_CLOEXEC);

		if (visitor >= 0) {
			receive(door, visitor);
			close(visitor);
		} else if (!atomic_load(&door->closing)) {
			usleep(SHORTAGE_US); /* of descriptors, or of memory: that passes */
		}
	}
	return NULL;
}

/* Negative: errno says why. */
static int listen_at(const char *path)
{
	struct sockaddr_un name;
	uint32_t length = wire_door_name(&name, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	if (length && !bind(fd, (struct sockaddr *)&name, length) && !listen(fd, VISITORS_MAX))
		return fd;
	close(fd);
	return -1;
}

struct door *door_open(const char *path, int fd)
{
	struct door *door = xcalloc(1, sizeof(*door));

	door->fd = fd;
	door->socket = listen_at(path);
	if (door->socket >= 0 && thread_start(&door->thread, "cprof-door", attend, door, NULL) >= 0)
		return door;
	log_debug(LOG_HEAP, "no door: errno %d", errno);
	if (door->socket >= 0)
		close(door->socket);
	free(door);
	return NULL;
}

void door_close(struct door *door)
{
	if (!door)
		return;
	atomic_store(&door->closing, true);
	shutdown(door->socket, SHUT_RDWR);
	pthread_join(door->thread, NULL);
	close(door->socket);
	free(door);
}

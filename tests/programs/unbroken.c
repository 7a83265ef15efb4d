// SPDX-License-Identifier: MIT
/*
 * unbroken [MS]: for so long (1000) each of some threads computes for a moment and then waits for
 * a moment by one system call of those that signal(7) says fail with EINTR after a stop, or that
 * have to be taken up again.  Prints the name of each and how often it was broken off, or came back
 * too early.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_US = 300, BURN_US = 200 };

static const struct timespec moment = { 0, WAIT_US * 1000 };
static const struct timeval moment_tv = { 0, WAIT_US };
static long long until_ns;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Each returns -1 and errno when it was broken off; ETIMEDOUT and the like are what is expected. */
static int wait_epoll(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, 1);
}

static int wait_sleep(int fd)
{
	(void)fd;
	return nanosleep(&moment, NULL);
}

static int wait_poll(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = 0 };

	return ppoll(&poll_fd, 1, &moment, NULL);
}

static int wait_select(int fd)
{
	struct timeval time = moment_tv;

	(void)fd;
	return select(0, NULL, NULL, NULL, &time);
}

static int wait_signal(int fd)
{
	sigset_t set;

	(void)fd;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	return sigtimedwait(&set, NULL, &moment);
}

static int wait_semaphore(int id)
{
	struct sembuf down = { 0, -1, 0 };

	return semtimedop(id, &down, 1, &moment);
}

static int wait_receive(int fd)
{
	char byte;

	return (int)recv(fd, &byte, 1, 0);
}

static int wait_read(int fd)
{
	char byte;

	return (int)read(fd, &byte, 1);
}

/* A socket that gives up after a moment. */
static int socket_with_timeout(void)
{
	int fds[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &moment_tv, sizeof(moment_tv));
	return fds[0];
}

static struct wait {
	const char *name;
	int (*wait)(int fd);
	int fd;
	long broken, early, all;
} waits[] = {
	{ "epoll_wait", wait_epoll },	 { "nanosleep", wait_sleep },
	{ "ppoll", wait_poll },		 { "select", wait_select },
	{ "sigtimedwait", wait_signal }, { "semtimedop", wait_semaphore },
	{ "recv", wait_receive },	 { "read", wait_read },
};

static void burn(void)
{
	long long start = now_ns();

	while (now_ns() - start < BURN_US * 1000)
		;
}

static void *go_on(void *context)
{
	struct wait *wait = context;

	while (now_ns() < until_ns) {
		long long start;

		burn();
		start = now_ns();
		if (wait->wait(wait->fd) < 0 && errno == EINTR)
			wait->broken++;
		else if (now_ns() - start < WAIT_US * 1000)
			wait->early++;
		wait->all++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	enum { NR = sizeof(waits) / sizeof(waits[0]) };
	pthread_t threads[NR];
	int broken = 0, id = semget(IPC_PRIVATE, 1, 0600);

	until_ns = now_ns() + (argc > 1 ? atoll(argv[1]) : 1000) * 1000000;
	waits[0].fd = epoll_create1(0);
	waits[2].fd = -1;
	waits[5].fd = id;
	waits[6].fd = socket_with_timeout();
	waits[7].fd = socket_with_timeout();
	for (int i = 0; i < NR; i++)
		pthread_create(&threads[i], NULL, go_on, &waits[i]);
	for (int i = 0; i < NR; i++) {
		pthread_join(threads[i], NULL);
		printf("%s: %ld of %ld broken off, %ld early\n", waits[i].name, waits[i].broken,
		       waits[i].all, waits[i].early);
		broken += waits[i].broken || waits[i].early;
	}
	semctl(id, 0, IPC_RMID);
	return !!broken;
}

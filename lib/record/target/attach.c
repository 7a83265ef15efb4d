/* SPDX-License-Identifier: MIT */
#include "record/target/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "base/proc_file.h"
#include "base/vec.h"

#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD of the kernel's sched.h */

/* What /proc says of a process. */
struct state {
	pid_t pid; /* of the process that the thread belongs to */
	char name[sizeof(((struct attach_process *)0)->name)];
	char letter;
	unsigned int flags;
	uid_t uid;
};

/* The name may contain anything, parentheses too. */
static bool parse_stat(struct state *state, char *text)
{
	char *name = strchr(text, '('), *end = strrchr(text, ')');

	if (!name || !end)
		return false;
	*end = '\0';
	snprintf(state->name, sizeof(state->name), "%s", name + 1);
	return sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", &state->letter, &state->flags) == 2;
}

static bool read_state(struct state *state, pid_t pid)
{
	char text[4096], path[32];
	const char *tgid;
	struct stat st;

	*state = (struct state){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0 || !proc_text(pid, "stat", text, sizeof(text)) ||
	    !parse_stat(state, text))
		return false;
	state->uid = st.st_uid;
	if (proc_text(pid, "status", text, sizeof(text)) && (tgid = strstr(text, "\nTgid:")))
		sscanf(tgid, "\nTgid: %d", &state->pid);
	return true;
}

static int refuse(const struct state *state, struct error *err)
{
	if (!geteuid()) {
		error_set(err, ERR_REFUSED, "process %d (%s) is shielded, from root too",
			  (int)state->pid, state->name);
		return error_hint(err, "a container without CAP_SYS_PTRACE or a security module "
				       "does so: run cprof outside of it");
	}
	if (state->uid != geteuid()) {
		error_set(err, ERR_REFUSED, "process %d (%s) belongs to uid %u, you are uid %u",
			  (int)state->pid, state->name, (unsigned int)state->uid,
			  (unsigned int)geteuid());
		return error_hint(err, "perf and ptrace let users look at their own processes "
				       "only: run cprof as root or as that user");
	}
	error_set(err, ERR_REFUSED,
		  "process %d (%s) is yours, but shielded: it is set-uid, has capabilities or "
		  "asked for it (PR_SET_DUMPABLE)",
		  (int)state->pid, state->name);
	return error_hint(err, "perf and ptrace let only root look at such a process");
}

/* perf asks the kernel for the same right as who opens this file does. */
static int check_right(const struct state *state, pid_t thread, struct error *err)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return refuse(state, err);
	if (fd < 0)
		return error_errno(err, errno, "read %s", path);
	close(fd);
	return 0;
}

static bool is_alive(const struct state *state)
{
	return state->letter != 'Z' && state->letter != 'X';
}

/* 0: none. */
static pid_t find_living_thread(pid_t pid)
{
	struct attach_threads threads = { 0 };
	struct state state;
	pid_t found = 0;

	attach_threads(pid, &threads);
	for (size_t i = 0; i < threads.nr && !found; i++)
		if (read_state(&state, threads.at[i]) && is_alive(&state))
			found = threads.at[i];
	vec_free(&threads);
	return found;
}

static int no_process(pid_t pid, struct error *err)
{
	error_set(err, -ESRCH, "there is no process %d", (int)pid);
	return error_hint(err, "`pgrep -a NAME` shows the pids of a program");
}

static bool has_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

/* Of the process that the pidfd is of: another may have had its pid before it was opened. */
static int check(struct attach_process *process, struct error *err)
{
	struct state state;

	if (!read_state(&state, process->pid))
		return no_process(process->pid, err);
	if (state.flags & KERNEL_THREAD) {
		error_set(err, ERR_UNSUPPORTED, "%d (%s) is a thread of the kernel, not a program",
			  (int)state.pid, state.name);
		return error_hint(err, "`perf record -a` can sample the kernel's own threads");
	}
	process->thread = find_living_thread(process->pid);
	if (!process->thread || has_ended(process->fd))
		return error_set(err, -ESRCH, "process %d (%s) has ended already", (int)state.pid,
				 state.name);
	return check_right(&state, process->thread, err);
}

static bool is_there(const struct attach *attach, pid_t pid)
{
	vec_each(attach, process) if (process->pid == pid) return true;
	return false;
}

static int add(struct attach *attach, pid_t pid, struct error *err)
{
	struct attach_process process;
	struct state state;
	int ret;

	if (!read_state(&state, pid))
		return no_process(pid, err);
	if (is_there(attach, state.pid))
		return 0;
	process = (struct attach_process){
		.pid = state.pid,
		.fd = (int)syscall(SYS_pidfd_open, state.pid, 0),
	};
	memcpy(process.name, state.name, sizeof(process.name));
	if (process.fd < 0 && errno == ESRCH)
		return no_process(pid, err);
	if (process.fd < 0)
		return error_errno(err, errno, "watch process %d", (int)state.pid);
	ret = check(&process, err);
	if (ret < 0)
		close(process.fd);
	else
		vec_push(attach, process);
	return ret;
}

int attach_open(struct attach *attach, const pid_t *pids, size_t nr, struct error *err)
{
	int ret = 0;

	*attach = (struct attach){ 0 };
	for (size_t i = 0; i < nr && ret >= 0; i++)
		ret = add(attach, pids[i], err);
	if (ret < 0)
		attach_close(attach);
	return ret;
}

void attach_close(struct attach *attach)
{
	vec_each(attach, process) close(process->fd);
	vec_free(attach);
}

void attach_threads(pid_t pid, struct attach_threads *threads)
{
	char path[64];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			vec_push(threads, (pid_t)atoi(entry->d_name));
	if (folder)
		closedir(folder);
}

void attach_all_threads(const struct attach *attach, struct attach_threads *threads)
{
	vec_each(attach, process) attach_threads(process->pid, threads);
}

bool attach_are_all(const struct attach *attach, const struct attach_threads *threads)
{
	struct attach_threads now = { 0 };
	struct map set = { 0 };
	bool same;

	vec_each(threads, tid) map_set(&set, (uint64_t)*tid, 1);
	attach_all_threads(attach, &now);
	same = now.nr == threads->nr;
	vec_each(&now, tid) same &= map_find(&set, (uint64_t)*tid) != NULL;
	map_release(&set);
	vec_free(&now);
	return same;
}
